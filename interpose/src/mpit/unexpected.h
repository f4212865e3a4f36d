// Late receives. MPITRACE_WATCH_UNEXPECTED=N counts the receives that are posted
// while more than N messages wait in the MPI's queue of unexpected messages, if a
// performance variable has the length of that queue. Such a receive is counted in a
// row of its own (MT_DIR_LATE) with the receive's call, call site, communicator and
// peer.
//
// Calls cost nothing more while this is off: the functions here replace the MPI's own
// functions in the table that the wrappers call through.
//
// Whether a receive is late depends on its communicator's queue at the moment of the
// call. If one Startall posts several receives, each is counted as late. Mrecv and
// Imrecv post no receive: their message left the queue when it was matched.
#ifndef MT_UNEXPECTED_H
#define MT_UNEXPECTED_H

#include "base/base.h"

// Starts counting. Called once the MPI's variables are known.
void mt_unexpected_open(void);

#endif
