// Windows: a window's peers are ranks of its group, which is the group of the
// communicator that it was made on.
#ifndef MT_WIN_H
#define MT_WIN_H

#include "comm.h"

mt_comm *mt_win_find(mt_thread *t, MPI_Win win) MT_APART;

// The same for a handle that may be bad: NULL unless it was met before.
mt_comm *mt_win_known(mt_thread *t, MPI_Win win);

// The communicator that stands for a valid window's group. Never NULL.
MT_INLINE mt_comm *mt_win_of(mt_thread *t, MPI_Win win)
{
    mt_comm_hit *hit = mt_comm_place(t->wins, MT_WIN_CACHE, MT_KEY(win));
    if (mt_likely(mt_holds(&hit->key, MT_KEY(win))))
        return hit->comm;
    return mt_win_find(t, win);
}

void mt_win_made(mt_thread *t, MPI_Comm comm, MPI_Win win);

// The handle is about to be freed, and was freed (or not, if win is not null).
mt_comm *mt_win_leaving(MPI_Win win);
void mt_win_left(MPI_Win win, mt_comm *c);

#endif
