#include "base/lock.h"

#include <signal.h>

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

void mt_lock(pthread_mutex_t *lock)
{
    mt_protect();
    pthread_mutex_lock(lock);
}

void mt_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    mt_unprotect();
}

bool mt_protected(void)
{
    return depth != 0;
}
