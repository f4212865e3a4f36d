// Writes what is known of a call's arguments into the thread's current call
// (current_call.h), before the call is passed on.
#ifndef MT_ARGUMENTS_H
#define MT_ARGUMENTS_H

#include "record/current_call.h"
#include "objects/comm.h"
#include "calls/volume.h"

// One function for each policy of the calls that are not on the quick path: see
// interpose/gen.
void mt_current_call_send(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int tag);
void mt_current_call_recv(const mt_span *s, MPI_Comm comm, int source, int64_t count, MPI_Datatype type, int tag);
void mt_current_call_sendrecv(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                              int source, int tag);
void mt_current_call_coll(const mt_span *s, MPI_Comm comm, mt_volume volume);
void mt_current_call_rma(const mt_span *s, MPI_Win win, int target, unsigned direction, int64_t count,
                         MPI_Datatype type);
void mt_current_call_win(const mt_span *s, MPI_Win win, int rank);
void mt_current_call_io(const mt_span *s, unsigned direction, int64_t count, MPI_Datatype type);

// A call on a communicator that moves no data itself, with a rank or MT_NO_RANK.
void mt_current_call_peer(const mt_span *s, MPI_Comm comm, int peer);
void mt_current_call_probe(const mt_span *s, MPI_Comm comm, int peer, int tag);

// The same for a communicator that is known, or NULL; and a receive from it.
void mt_current_call_comm(const mt_span *s, const mt_comm *c, int32_t peer);
void mt_current_call_received(const mt_span *s, const mt_comm *c, int32_t peer, int64_t count, MPI_Datatype type);

// Sets the number of requests that the call was given, or in other calls the tag.
void mt_current_call_count(const mt_span *s, int count);

// MPI_Abort: sets its error code, and its communicator if that is MPI_COMM_WORLD or is in
// the cache of the thread (which may be NULL).
void mt_current_call_abort(mt_thread *t, mt_current_call *line, MPI_Comm comm, int errorcode);

#endif
