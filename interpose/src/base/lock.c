#include "base/lock.h"

#include <pthread.h>
#include <stdint.h>
#ifdef MT_CHECK_LOCKS
#include <stdio.h>
#include <stdlib.h>
#endif

// Disables cancellation before it increments the depth. A signal handler that runs in
// between finds cancellation disabled, and leaves it disabled.
void mt_protect(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (mt_lock_depth == 0)
        mt_lock_state_before = state;
    mt_lock_depth = mt_lock_depth + 1;
}

void mt_unprotect(void)
{
    int state = mt_lock_state_before;
    mt_lock_depth = mt_lock_depth - 1;
    if (mt_lock_depth == 0)
        pthread_setcancelstate(state, NULL);
}

// The mutexes. Those of the dynamic linker's locks and of the requests are elsewhere,
// so their entries here are unused.
static struct {
    pthread_mutex_t mutex;
} __attribute__((aligned(64))) locks[] = {[0 ... MT_LOCKS_COUNT - 1] = {PTHREAD_MUTEX_INITIALIZER}};

#ifdef MT_CHECK_LOCKS
#define MT_LOCK_TRAITS(name, rank, what) {#name, rank},
static const struct {
    const char *name;
    int rank;
} traits[] = {MT_LOCKS(MT_LOCK_TRAITS)};
#undef MT_LOCK_TRAITS

static _Thread_local uint32_t held __attribute__((tls_model("initial-exec"))); // one bit for each mt_lock_id
_Static_assert(MT_LOCKS_COUNT <= 32, "`held` has one bit for each lock");

void mt_lock_acquired(mt_lock_id id)
{
    for (unsigned i = 0; i < MT_LOCKS_COUNT; i++)
        if ((held >> i & 1) && traits[i].rank >= traits[id].rank) {
            dprintf(2, "mpitrace: lock %s (rank %d) is taken while %s (rank %d) is held\n", traits[id].name,
                    traits[id].rank, traits[i].name, traits[i].rank);
            abort();
        }
    held |= 1u << id;
}

void mt_lock_released(mt_lock_id id)
{
    held &= ~(1u << id);
}
#endif

void mt_lock(mt_lock_id id)
{
    mt_protect();
    mt_lock_acquired(id);
    pthread_mutex_lock(&locks[id].mutex);
}

void mt_unlock(mt_lock_id id)
{
    pthread_mutex_unlock(&locks[id].mutex);
    mt_lock_released(id);
    mt_unprotect();
}

bool mt_protected(void)
{
    return mt_lock_depth != 0;
}
