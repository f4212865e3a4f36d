// The world, whose ranks name all peers: MPI_COMM_WORLD while the world model is open, else
// the process set mpi://WORLD of an open session.
#ifndef MT_WORLD_H
#define MT_WORLD_H

#include "base/base.h"
#include "base/resolve.h"

// MPI_COMM_WORLD can be used from mt_world_open to mt_world_close.
void mt_world_open(void);
void mt_world_close(void);

// Passes the world ranks of the first n members of a group to `take`, in order and at most
// 512 at a time. Returns false if they cannot be translated, or if `take` returns false.
typedef bool (*mt_world_taker)(void *argument, int first, int n, const int world_ranks[]);
bool mt_world_translate(MPI_Group group, int n, mt_world_taker take, void *argument);

#if MT_HAVE_Session_init
// mt_world_session_opened adds a session that was opened, and returns false without memory.
// mt_world_session_closing removes one that is about to be closed, and returns false if it
// is not known.
bool mt_world_session_opened(MPI_Session session);
bool mt_world_session_closing(MPI_Session session);
#endif

#endif
