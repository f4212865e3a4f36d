// Windows: a window's peers are ranks of its group, which is the group of the
// communicator that it was made on.
#ifndef MT_WIN_H
#define MT_WIN_H

#include "base/resolve.h"
#include "objects/comm.h"

// The same as in comm.h for windows, by whose group they are known.
typedef void mt_hook_win_made(MPI_Win win, mt_comm *c);
typedef void mt_hook_win_leaving(MPI_Win win);
MT_HOOK(win_made);
MT_HOOK(win_leaving);

const mt_win_hit *mt_win_find(mt_thread *t, MPI_Win win) MT_APART;

// The same for a handle that may be bad: NULL unless it was met before.
mt_comm *mt_win_known(mt_thread *t, MPI_Win win);

// Forgets all handles; threads do so in mt_comm_forget_all.
void mt_win_forget_all(void);

MT_INLINE mt_win_hit *mt_win_place(mt_thread *t, uint64_t key)
{
    return &t->wins[(key ^ key >> 7) % MT_WIN_CACHE];
}

// What is known of a valid window. Its communicator, which stands for its group, is
// never NULL. It is the thread's until the thread asks for another window.
MT_INLINE const mt_win_hit *mt_win_of(mt_thread *t, MPI_Win win)
{
    mt_win_hit *hit = mt_win_place(t, MT_KEY(win));
    if (mt_likely(mt_holds(&hit->key, MT_KEY(win))))
        return hit;
    return mt_win_find(t, win);
}

// Returns the number that the new window gets.
uint32_t mt_win_made(mt_thread *t, MPI_Comm comm, MPI_Win win);

// The handle is about to be freed, and was freed (or not, if win is not null).
mt_comm *mt_win_leaving(MPI_Win win, uint32_t *number);
void mt_win_left(MPI_Win win, mt_comm *c, uint32_t number);

// The tag of an event of a call on a window, and a detail of the call.
MT_INLINE uint32_t mt_win_tag(uint32_t number, uint32_t detail)
{
    return number * MT_WINDOW_DETAILS + detail;
}

// The number of a group by its members, which are written down for readers; 0 where
// there are too many groups, or no room.
uint32_t mt_win_group(MPI_Group group);

#endif
