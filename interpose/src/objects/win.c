#include "objects/win.h"

#include "base/lock.h"
#include "base/resolve.h"
#include "file/recording.h"
#include "record/thread.h"
#include "objects/group.h"
#include "objects/handles.h"

#include <stdlib.h>
#include <string.h>

// Incremented before a handle is forgotten. A thread does not keep the result of a look-up
// that began earlier.
static _Atomic uint64_t epoch;

// Under MT_LOCK_WIN, as all below.
static mt_handles handles; // window -> the communicator of its group
static mt_handles numbers; // window -> its number, stored as a pointer

// Returns the communicator for the group of a window whose creation was not seen.
static mt_comm *add_unseen(MPI_Win win)
{
    MPI_Group group;
    if (mt_mpi.Win_get_group(win, &group) != MPI_SUCCESS) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return mt_comm_none();
    }
    mt_comm *c = mt_comm_of_group(group);
    mt_mpi.Group_free(&group);
    return c;
}

static void uncache_in(void *handle, mt_thread *t)
{
    uint64_t key = *(uint64_t *)handle;
    mt_win_cached *hit = mt_win_cache_slot(t, key);
    if (atomic_load(&hit->key) == key)
        atomic_store(&hit->key, 0);
}

// Removes a handle from the caches of all threads: see comm.c.
static void uncache(MPI_Win win)
{
    uint64_t key = MT_KEY(win);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(uncache_in, &key);
}

void mt_win_forget_all(void)
{
    mt_lock(MT_LOCK_WIN);
    mt_handles_clear(&handles);
    mt_handles_clear(&numbers);
    mt_unlock(MT_LOCK_WIN);
    atomic_fetch_add(&epoch, 1);
}

static uint32_t number_of(uint64_t key)
{
    return (uint32_t)(uintptr_t)mt_handles_get(&numbers, key);
}

static void add_window(uint64_t key, mt_comm *c, uint32_t number)
{
    mt_handles_put(&handles, key, c);
    if (number)
        mt_handles_put(&numbers, key, (void *)(uintptr_t)number);
    else
        mt_handles_remove(&numbers, key);
}

const mt_win_cached *mt_win_find(mt_thread *t, MPI_Win win)
{
    uint64_t key = MT_KEY(win), before = atomic_load(&epoch);
    mt_lock(MT_LOCK_WIN);
    mt_comm *c = mt_handles_get(&handles, key);
    if (!c) {
        c = add_unseen(win);
        mt_handles_put(&handles, key, c);
    }
    uint32_t number = number_of(key);
    mt_unlock(MT_LOCK_WIN);
    mt_win_cached *hit = mt_win_cache_slot(t, key);
    hit->comm = c;
    hit->number = number;
    atomic_store(&hit->key, key);
    if (atomic_load(&epoch) != before)
        uncache_in(&key, t);
    return hit;
}

mt_comm *mt_win_known(mt_thread *t, MPI_Win win)
{
    uint64_t key = MT_KEY(win);
    mt_win_cached *hit = mt_win_cache_slot(t, key);
    if (mt_likely(mt_holds(&hit->key, key)))
        return hit->comm;
    mt_lock(MT_LOCK_WIN);
    mt_comm *c = mt_handles_get(&handles, key);
    mt_unlock(MT_LOCK_WIN);
    return c;
}

uint32_t mt_win_created(mt_thread *t, MPI_Comm comm, MPI_Win win)
{
    static uint32_t made;
    mt_comm *c = mt_comm_of(t, comm);
    mt_lock(MT_LOCK_WIN);
    if (!mt_handles_reserve(&handles))
        mt_count_lost(&mt_process.header->lost_comms, 1);
    uint32_t number = made < MT_MAX_WINDOWS ? ++made : 0;
    add_window(MT_KEY(win), c, number);
    uncache(win);
    MT_CALL_HOOK(win_created, win, c);
    mt_unlock(MT_LOCK_WIN);
    return number;
}

mt_comm *mt_win_freeing(MPI_Win win, uint32_t *number)
{
    mt_lock(MT_LOCK_WIN);
    mt_comm *c = mt_handles_get(&handles, MT_KEY(win));
    *number = number_of(MT_KEY(win));
    mt_handles_remove(&handles, MT_KEY(win));
    mt_handles_remove(&numbers, MT_KEY(win));
    uncache(win);
    MT_CALL_HOOK(win_freeing, win);
    mt_unlock(MT_LOCK_WIN);
    return c;
}

void mt_win_freed(MPI_Win win, mt_comm *c, uint32_t number)
{
    if (!c || win == mt_const.win_null)
        return;
    mt_lock(MT_LOCK_WIN);
    add_window(MT_KEY(win), c, number);
    MT_CALL_HOOK(win_created, win, c);
    mt_unlock(MT_LOCK_WIN);
}

// Ids of the groups passed to calls on windows; the index + 1 is the number of a group.
// Programs have few such groups, so that a linear search suffices. The number has to fit
// into an event's tag next to the number of the window.
static uint64_t (*groups)[2];
static uint32_t group_count;

static bool write_group(const mt_comm *members, uint32_t number)
{
    mt_l_group *r = mt_recording_begin(sizeof *r + (uint64_t)members->size * sizeof(int32_t));
    if (!r)
        return false;
    r->index = number;
    r->count = (uint32_t)members->size;
    for (int i = 0; i < members->size; i++)
        ((int32_t *)(r + 1))[i] = members->members ? members->members[i] : members->base + i * members->stride;
    mt_recording_commit(r, MT_RECORD_GROUP);
    return true;
}

static uint32_t number_group(const mt_comm *members)
{
    uint64_t name[2];
    mt_group_id(name, members, (uint64_t[2]){7, 7}, 0, 0);
    for (uint32_t i = 0; i < group_count; i++)
        if (memcmp(groups[i], name, sizeof name) == 0)
            return i + 1;
    if (!groups)
        groups = malloc(MT_WINDOW_DETAILS * sizeof *groups);
    if (!groups || group_count + 1 >= MT_WINDOW_DETAILS || !write_group(members, group_count + 1))
        return 0;
    memcpy(groups[group_count], name, sizeof name);
    return ++group_count;
}

uint32_t mt_win_group(MPI_Group group)
{
    mt_comm members = {.stride = 1};
    uint32_t number = 0;
    if (!mt_group_describe_group(&members, group))
        return 0;
    mt_lock(MT_LOCK_WIN);
    number = number_group(&members);
    mt_unlock(MT_LOCK_WIN);
    free(members.members);
    return number;
}
