#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#ifdef MT_CHECK_LOCKS
#include <stdio.h>
#include <stdlib.h>
#endif

// How many times the thread has entered protected code, and whether it could be
// cancelled before. A signal handler may use both at any instruction.
static _Thread_local volatile sig_atomic_t depth __attribute__((tls_model("initial-exec")));
static _Thread_local volatile int state_before __attribute__((tls_model("initial-exec")));

// The state is set before the depth: a handler in between finds it disabled, and
// leaves it so.
void mt_protect(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (depth == 0)
        state_before = state;
    depth = depth + 1;
}

void mt_unprotect(void)
{
    int state = state_before;
    depth = depth - 1;
    if (depth == 0)
        pthread_setcancelstate(state, NULL);
}

// Those of the dynamic linker, and of the requests, are elsewhere: theirs are not used.
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

static _Thread_local uint32_t held __attribute__((tls_model("initial-exec"))); // by id
_Static_assert(MT_LOCKS_COUNT <= 32, "a bit for each lock");

void mt_lock_taken(mt_lock_id id)
{
    for (unsigned i = 0; i < MT_LOCKS_COUNT; i++)
        if ((held >> i & 1) && traits[i].rank >= traits[id].rank) {
            dprintf(2, "mpitrace: lock %s (rank %d) is taken while %s (rank %d) is held\n", traits[id].name,
                    traits[id].rank, traits[i].name, traits[i].rank);
            abort();
        }
    held |= 1u << id;
}

void mt_lock_given_back(mt_lock_id id)
{
    held &= ~(1u << id);
}
#endif

void mt_lock(mt_lock_id id)
{
    mt_protect();
    mt_lock_taken(id);
    pthread_mutex_lock(&locks[id].mutex);
}

void mt_unlock(mt_lock_id id)
{
    pthread_mutex_unlock(&locks[id].mutex);
    mt_lock_given_back(id);
    mt_unprotect();
}

bool mt_protected(void)
{
    return depth != 0;
}
