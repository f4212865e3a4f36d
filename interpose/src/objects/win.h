// Windows. A window's peers are ranks of its group, which is the group of the communicator
// that it was created on.
#ifndef MT_WIN_H
#define MT_WIN_H

#include "base/resolve.h"
#include "objects/comm.h"

// Hooks as in comm.h, for windows. `c` is the communicator whose group is the window's.
typedef void mt_hook_win_created(MPI_Win win, mt_comm *c);
typedef void mt_hook_win_freeing(MPI_Win win);
MT_HOOK(win_created);
MT_HOOK(win_freeing);

const mt_win_cached *mt_win_find(mt_thread *t, MPI_Win win) MT_NOINLINE;

// Returns the communicator of a window for a handle that may be invalid, or NULL if the
// handle is not known yet.
mt_comm *mt_win_known(mt_thread *t, MPI_Win win);

// Forgets all handles. mt_comm_forget_all clears the threads' caches.
void mt_win_forget_all(void);

MT_INLINE mt_win_cached *mt_win_cache_slot(mt_thread *t, uint64_t key)
{
    return &t->wins[(key ^ key >> 7) % MT_WIN_CACHE];
}

// Returns what is known of a valid window. Its communicator, which stands for its group, is
// never NULL. The result is valid until the thread looks up another window.
MT_INLINE const mt_win_cached *mt_win_of(mt_thread *t, MPI_Win win)
{
    mt_win_cached *hit = mt_win_cache_slot(t, MT_KEY(win));
    if (mt_likely(mt_holds(&hit->key, MT_KEY(win))))
        return hit;
    return mt_win_find(t, win);
}

// Adds a new window and returns its number in this process, or 0 if there are too many.
uint32_t mt_win_created(mt_thread *t, MPI_Comm comm, MPI_Win win);

// mt_win_freeing forgets a handle that is about to be freed, and returns its communicator
// (or NULL) and number. mt_win_freed follows the call that frees it: `win` is MPI_WIN_NULL
// if that succeeded, else the handle, which is then added again.
mt_comm *mt_win_freeing(MPI_Win win, uint32_t *number);
void mt_win_freed(MPI_Win win, mt_comm *c, uint32_t number);

// Returns the tag of an event: the number of the window, and a detail of the call on it.
MT_INLINE uint32_t mt_win_tag(uint32_t number, uint32_t detail)
{
    return number * MT_WINDOW_DETAILS + detail;
}

// Returns the number of a group, which depends on its members only. Writes a new group to
// the recording. Returns 0 if there are too many groups, or no room.
uint32_t mt_win_group(MPI_Group group);

#endif
