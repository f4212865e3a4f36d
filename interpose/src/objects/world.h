// Who the world is, by which every peer is named: MPI_COMM_WORLD while the world
// model is open; else the process set mpi://WORLD of a session that is open.
#ifndef MT_WORLD_H
#define MT_WORLD_H

#include "base/base.h"
#include "base/resolve.h"

// MPI_COMM_WORLD can be used from here on, and no longer.
void mt_world_open(void);
void mt_world_close(void);

// Gives `take` the world ranks of the first n of a group, some hundreds at a
// time and in order; false if nobody can tell, or `take` said so.
typedef bool (*mt_world_taker)(void *argument, int first, int n, const int world_ranks[]);
bool mt_world_translate(MPI_Group group, int n, mt_world_taker take, void *argument);

#if MT_HAVE_Session_init
// A session was opened; it is being closed. False if it is not known.
bool mt_world_session(MPI_Session session);
bool mt_world_session_leaving(MPI_Session session);
#endif

#endif
