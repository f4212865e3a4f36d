#define _GNU_SOURCE
#include "record/thread.h"

#include "base/clock.h"
#include "base/job.h"
#include "base/lock.h"
#include "file/recording.h"
#include "record/current_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_key_t exit_key; // made once, by the first thread
static bool has_key;
// Under MT_LOCK_THREADS.
static mt_thread *free_threads, *all_threads;
static uint32_t count;
static bool had_main_thread;
// Initialized MPI, and has not ended. Written under MT_LOCK_THREADS.
static mt_thread *_Atomic main_thread;

// Reads what a thread has used so far. What it uses from now on will be added to its
// record.
static void begin_use(mt_thread *t)
{
    if (!mt_usage_of_thread(t->id, &t->before))
        t->record->flags |= MT_THREAD_USE_UNKNOWN;
}

// Adds what a thread used since then to its record.
static void add_use(mt_thread *t)
{
    mt_thread_use before = t->before;
    begin_use(t);
    if (t->record->flags & MT_THREAD_USE_UNKNOWN)
        return;
    mt_write(&t->record->cpu_time, t->record->cpu_time + (t->before.cpu - before.cpu));
    mt_write(&t->record->run_delay, t->record->run_delay + (t->before.delay - before.delay));
}

// Leaves the table of a thread that ends to the next that starts.
static void release_thread(void *thread)
{
    mt_thread *t = thread;
    MT_EACH_HOOK(thread_ends);
    if (mt_on())
        mt_current_call_forget(t, t); // it may have ended in the middle of a call
    mt_thread_set_self(NULL);
    MT_CALL_HOOK(thread_ended, t);
    mt_lock(MT_LOCK_THREADS);
    if (mt_on())
        add_use(t);
    t->id = 0;
    if (t == main_thread && mt_on()) {
        t->record->flags &= ~(uint32_t)MT_THREAD_MAIN;
        main_thread = NULL;
    }
    t->next = free_threads;
    free_threads = t;
    mt_unlock(MT_LOCK_THREADS);
}

// Begins the lifetime of a thread that makes its first call. If the process is killed
// between the two stores, the sum of lifetimes includes the time in which no thread had the
// record.
static void begin_lifetime(mt_thread *t)
{
    uint64_t last = t->open->last;
    t->began = mt_ticks();
    mt_write(&t->open->last, t->began);
    mt_write(&t->record->first, t->record->first + (t->began - last));
    t->id = syscall(SYS_gettid);
    begin_use(t);
}

void mt_thread_initialized_mpi(mt_thread *t)
{
    mt_lock(MT_LOCK_THREADS);
    if (!had_main_thread) {
        had_main_thread = true;
        main_thread = t;
        uint64_t begin = mt_process.header->init_end.ticks;
        mt_write(&t->record->first, t->record->first + (begin - t->began));
        mt_write(&t->open->last, begin);
        t->record->flags |= MT_THREAD_MAIN;
        begin_use(t);
    }
    mt_unlock(MT_LOCK_THREADS);
}

// Takes no lock, because a signal handler that finalizes MPI may have interrupted code under
// one. If the main thread ends at the same time, its lifetime may be too long or too short.
void mt_thread_finalizes_mpi(void)
{
    mt_thread *t = main_thread;
    const mt_l_header *h = mt_process.header;
    if (t && mt_read(&t->open->last) <= h->init_end.ticks)
        mt_write(&t->record->first, t->record->first + (h->finalize_start.ticks - h->init_end.ticks));
}

// Writes the thread's record to the log, and in it a cache line for the call that the
// thread is in.
static bool write_record(mt_thread *t)
{
    mt_l_thread *r = mt_recording_begin(sizeof *r + 2 * sizeof(mt_current_call) - _Alignof(mt_l_thread));
    if (!r)
        return false;
    t->record = r;
    uintptr_t line = sizeof(mt_current_call);
    t->open = (mt_current_call *)(((uintptr_t)(r + 1) + line - 1) & ~(line - 1));
    r->index = t->index;
    r->open = mt_recording_offset(t->open);
    begin_lifetime(t);
    mt_recording_commit(r, MT_RECORD_THREAD);
    return true;
}

static mt_thread *make_thread(void)
{
    mt_thread *t = aligned_alloc(_Alignof(mt_thread), sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    t->index = count;
    t->random = 2463534242u + count;
    if (write_record(t) && MT_CALL_HOOK(thread_made, t)) {
        count++;
        t->sibling = all_threads;
        return all_threads = t;
    }
    free(t);
    return NULL;
}

mt_thread *mt_thread_attach(void)
{
    static _Atomic bool failed;
    if (atomic_load_explicit(&failed, memory_order_relaxed))
        return NULL; // permanently, because each call would try again
    int saved = errno;
    mt_lock(MT_LOCK_THREADS);
    if (!has_key)
        has_key = pthread_key_create(&exit_key, release_thread) == 0;
    mt_thread *t = free_threads;
    if (t) {
        free_threads = t->next;
        begin_lifetime(t);
        MT_CALL_HOOK(thread_started, t);
    } else {
        t = make_thread();
    }
    if (!t) {
        atomic_store(&failed, true);
        mt_log("the recording of rank %d has no room for another thread: its calls are not recorded",
               mt_job_rank_for_messages());
    }
    mt_unlock(MT_LOCK_THREADS);
    if (t && has_key)
        pthread_setspecific(exit_key, t);
    mt_thread_set_self(t);
    errno = saved;
    return t;
}

void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument)
{
    mt_lock(MT_LOCK_THREADS);
    for (mt_thread *t = all_threads; t; t = t->sibling)
        visit(argument, t);
    mt_unlock(MT_LOCK_THREADS);
}

static void add_live(void *unused, mt_thread *t)
{
    (void)unused;
    if (t->id)
        add_use(t);
}

void mt_thread_use_close(void)
{
    int saved = errno;
    mt_thread_each(add_live, NULL);
    mt_usage_count_threads();
    errno = saved;
}

// The search for the thread with the largest index below `limit` that is in a call.
typedef struct mt_search {
    uint64_t limit;
    mt_thread *found;
} mt_search;

static void consider(void *argument, mt_thread *t)
{
    mt_search *s = argument;
    bool in_call = t->open->call != 0 || t->outers > 0;
    if (in_call && t->index < s->limit && (!s->found || t->index > s->found->index))
        s->found = t;
}

// A new row takes locks that must not be taken under that of the list of threads.
void mt_thread_leave_calls(void)
{
    mt_search s = {UINT64_MAX, NULL};
    do {
        s.found = NULL;
        mt_thread_each(consider, &s);
        if (s.found && mt_self) {
            mt_current_call_forget(s.found, mt_self);
            s.limit = s.found->index;
        }
    } while (s.found && mt_self);
}
