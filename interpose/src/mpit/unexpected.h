// Late receives: MPITRACE_WATCH_UNEXPECTED=N counts those that are posted while
// more than N messages wait in the MPI's queue of unexpected ones, where a
// performance variable tells how long that is. Each is counted in a row of its own
// (MT_DIR_LATE) under the receive's call, call site, communicator and peer.
//
// Nothing is added to a call where this is off: what watches takes the place of the
// MPI's own functions in the table that the wrappers call through.
//
// A receive is late by the queue of its communicator at the moment of the call: of
// those that one Startall posts, each is. Mrecv and Imrecv post nothing: the message
// left the queue when it was matched.
#ifndef MT_UNEXPECTED_H
#define MT_UNEXPECTED_H

#include "base/base.h"

// Once it is known which variables the MPI has.
void mt_unexpected_open(void);

#endif
