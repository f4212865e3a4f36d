#include "win.h"

#include "handles.h"
#include "pvars.h"
#include "resolve.h"
#include "thread.h"

#include <pthread.h>

// Grows before a handle is forgotten: what was found before is not kept.
static _Atomic uint64_t epoch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mt_handles handles;

// A window whose making was not seen.
static mt_comm *meet(MPI_Win win)
{
    MPI_Group group;
    if (mt_pmpi.Win_get_group(win, &group) != MPI_SUCCESS) {
        mt_lost(&mt_header->lost_comms, 1);
        return mt_comm_lost();
    }
    mt_comm *c = mt_comm_of_group(group);
    mt_pmpi.Group_free(&group);
    return c;
}

static void forget_in(void *handle, mt_thread *t)
{
    uint64_t key = *(uint64_t *)handle;
    mt_comm_hit *hit = mt_comm_place(t->wins, MT_WIN_CACHE, key);
    if (atomic_load(&hit->key) == key)
        atomic_store(&hit->key, 0);
}

// As for communicators: see comm.c.
static void forget(MPI_Win win)
{
    uint64_t key = MT_KEY(win);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(forget_in, &key);
}

mt_comm *mt_win_find(mt_thread *t, MPI_Win win)
{
    uint64_t key = MT_KEY(win), before = atomic_load(&epoch);
    pthread_mutex_lock(&lock);
    mt_comm *c = mt_handles_get(&handles, key);
    if (!c) {
        c = meet(win);
        mt_handles_put(&handles, key, c);
    }
    pthread_mutex_unlock(&lock);
    mt_comm_hit *hit = mt_comm_place(t->wins, MT_WIN_CACHE, key);
    hit->comm = c;
    atomic_store(&hit->key, key);
    if (atomic_load(&epoch) != before)
        forget_in(&key, t);
    return c;
}

mt_comm *mt_win_known(mt_thread *t, MPI_Win win)
{
    uint64_t key = MT_KEY(win);
    mt_comm_hit *hit = mt_comm_place(t->wins, MT_WIN_CACHE, key);
    if (mt_likely(mt_holds(&hit->key, key)))
        return hit->comm;
    pthread_mutex_lock(&lock);
    mt_comm *c = mt_handles_get(&handles, key);
    pthread_mutex_unlock(&lock);
    return c;
}

void mt_win_made(mt_thread *t, MPI_Comm comm, MPI_Win win)
{
    mt_comm *c = mt_comm_of(t, comm);
    pthread_mutex_lock(&lock);
    if (!mt_handles_room(&handles))
        mt_lost(&mt_header->lost_comms, 1);
    mt_handles_put(&handles, MT_KEY(win), c);
    forget(win);
    mt_pvars_win_made(win, c);
    pthread_mutex_unlock(&lock);
}

mt_comm *mt_win_leaving(MPI_Win win)
{
    pthread_mutex_lock(&lock);
    mt_comm *c = mt_handles_get(&handles, MT_KEY(win));
    mt_handles_drop(&handles, MT_KEY(win));
    forget(win);
    mt_pvars_win_leaving(win);
    pthread_mutex_unlock(&lock);
    return c;
}

void mt_win_left(MPI_Win win, mt_comm *c)
{
    if (!c || win == mt_const.win_null)
        return;
    pthread_mutex_lock(&lock);
    mt_handles_put(&handles, MT_KEY(win), c);
    mt_pvars_win_made(win, c);
    pthread_mutex_unlock(&lock);
}
