#include "thread.h"

#include "fortran.h"
#include "recording.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Thread_local mt_thread *mt_self __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t at_exit;
static bool has_key;
static mt_thread *ended, *all;
static uint32_t count;

// A thread that ends leaves its table to the next that starts.
static void give_back(void *thread)
{
    mt_thread *t = thread;
    mt_fortran_missed();
    mt_self = NULL;
    pthread_mutex_lock(&lock);
    t->next = ended;
    ended = t;
    pthread_mutex_unlock(&lock);
}

static mt_thread *make_thread(void)
{
    mt_thread *t = aligned_alloc(_Alignof(mt_thread), sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    t->index = count;
    t->random = 2463534242u + count;
    if (mt_header->timing == MT_TIMING_SAMPLED && !(t->paces = calloc(MT_PACES, sizeof *t->paces))) {
        free(t);
        return NULL;
    }
    t->record = mt_log_begin(sizeof *t->record);
    if (t->record) {
        t->record->index = count;
        t->last = &t->record->last;
        mt_log_commit(t->record, MT_RECORD_THREAD);
        if (mt_table_open(t)) {
            count++;
            t->sibling = all;
            return all = t;
        }
    }
    free(t->paces);
    free(t);
    return NULL;
}

mt_thread *mt_thread_attach(void)
{
    static _Atomic bool failed;
    if (atomic_load_explicit(&failed, memory_order_relaxed))
        return NULL; // for good: what there is no room for now comes with each call
    int saved = errno;
    pthread_mutex_lock(&lock);
    if (!has_key)
        has_key = pthread_key_create(&at_exit, give_back) == 0;
    mt_thread *t = ended;
    if (t)
        ended = t->next;
    else
        t = make_thread();
    if (!t) {
        atomic_store(&failed, true);
        mt_say("no room for another thread's table (rank %d): its calls are not recorded", mt_world_rank);
    }
    pthread_mutex_unlock(&lock);
    if (t && has_key)
        pthread_setspecific(at_exit, t);
    mt_self = t;
    errno = saved;
    return t;
}

void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument)
{
    pthread_mutex_lock(&lock);
    for (mt_thread *t = all; t; t = t->sibling)
        visit(argument, t);
    pthread_mutex_unlock(&lock);
}
