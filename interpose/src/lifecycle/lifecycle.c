#define _GNU_SOURCE
#include "lifecycle/lifecycle.h"

#include "base/job.h"
#include "base/lock.h"
#include "base/procfs.h"
#include "base/resolve.h"
#include "base/settings.h"
#include "file/events.h"
#include "file/recording.h"
#include "file/settings_log.h"
#include "record/current_call.h"
#include "record/modules.h"
#include "record/sample.h"
#include "record/slice.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/usage.h"
#include "objects/comm.h"
#include "objects/request.h"
#include "objects/status.h"
#include "objects/types.h"
#include "objects/win.h"
#include "objects/world.h"
#include "calls/call.h"
#include "calls/direct.h"
#include "calls/fortran.h"
#include "mpit/cvars.h"
#include "mpit/eager.h"
#include "mpit/mpit.h"
#include "mpit/prof.h"
#include "mpit/pvar_table.h"
#include "mpit/pvars.h"
#include "mpit/tool.h"
#include "mpit/unexpected.h"
#include "lifecycle/physical.h"
#include "lifecycle/placement.h"
#include "lifecycle/state.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MT_TOOL_VERSION
#define MT_TOOL_VERSION "development"
#endif

static void set_state(mt_state state)
{
    atomic_store_explicit(&mt_process.state, state, memory_order_release);
    mt_flag_set(MT_FLAG_CLOSED, state != MT_ON);
}

// Runs in a forked child. Stops recording, because the recording is the parent's:
// neither the child's calls nor its exit belong in it.
static void forked(void)
{
    mt_process.forked = true;
    set_state(MT_OFF);
    mt_lifecycle.recording_ended = false;
    mt_thread_set_self(NULL);
}

static void log_file(uint32_t key, const char *path)
{
    char buffer[1 << 16];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, buffer, sizeof buffer);
    close(fd);
    if (n > 0)
        mt_recording_string(key, buffer, (uint64_t)n);
}

static void describe_process(void)
{
    char text[4096];
    memset(text, 0, sizeof text);
    if (gethostname(text, sizeof text - 1) == 0)
        mt_recording_string(MT_STRING_HOST, text, strlen(text));
    mt_job_name(text, sizeof text);
    mt_recording_string(MT_STRING_JOB, text, strlen(text));
    mt_recording_string(MT_STRING_TOOL, MT_TOOL_VERSION, strlen(MT_TOOL_VERSION));
    if (*mt_intercepted())
        mt_recording_string(MT_STRING_INTERCEPTED, mt_intercepted(), strlen(mt_intercepted()));
    if (mt_recording_alone())
        mt_recording_string(MT_STRING_ALONE, mt_recording_alone(), strlen(mt_recording_alone()));
    log_file(MT_STRING_COMMAND, "/proc/self/cmdline");
    ssize_t n = readlink("/proc/self/exe", text, sizeof text);
    if (n > 0)
        mt_recording_string(MT_STRING_PROGRAM, text, (uint64_t)n);
    if (mt_procfs_read("/proc/sys/kernel/random/boot_id", text, sizeof text) > 0)
        mt_recording_string(MT_STRING_BOOT, text, strcspn(text, "\n"));
}

// Makes the recording. Until this call the library has done nothing. `late` is true
// if MPI is initialized already. Returns false if nothing can be recorded.
static bool create_recording(uint64_t site, bool late)
{
    if (!mt_resolve(site))
        return false;
    mt_clock_open();
    if (pthread_atfork(NULL, NULL, forked) != 0) { // without it, a forked child would write to the recording
        mt_log("nothing is recorded: no memory");
        return false;
    }
    if (!mt_recording_open())
        return false;
    mt_physical_name();
    mt_settings_log();
    mt_sample_open();
    mt_trace_open();
    describe_process();
    mt_slice_open();
    mt_cvars_open(site, late);
    mt_pvars_prepare(site);
    return true;
}

static void read_variables(void)
{
    if (mt_pvars_open())
        mt_unexpected_open();
}

// Records what is known once the first model of MPI is initialized, and starts
// recording calls.
static void start_recording_calls(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1];
    int n = 0;
    memset(version, 0, sizeof version);
    if (mt_pmpi.Get_library_version(version, &n) != MPI_SUCCESS || n <= 0)
        snprintf(version, sizeof version, "%s", mt_mpi_family());
    mt_recording_string(MT_STRING_LIBRARY, version, strnlen(version, sizeof version));
    mt_status_open();
    mt_modules_scan();
    mt_stack_open();
    read_variables();
    mt_placement_log();
    mt_usage_open();
    mt_process.header->init_end = mt_clock_read_all();
    mt_slice_open_intervals();
    mt_cvars_ready();
    mt_eager_log();
    set_state(MT_ON);
    mt_direct_log(); // names that were noted before
}

// Called when a model of MPI, the world model or a session, was initialized.
static void model_opened(void)
{
    mt_physical_name_children();
    if (++mt_lifecycle.open_models == 1)
        mt_types_open();
    if (mt_process.state != MT_ON)
        start_recording_calls();
    read_variables(); // again, if they were closed with the last model
}

static void world_opened(void)
{
    int level = MPI_THREAD_SINGLE;
    if (mt_pmpi.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE)
        mt_requests_enable_threads();
    mt_process.serialized = level == MPI_THREAD_SERIALIZED;
    mt_world_open();
    mt_comm_open();
    model_opened();
}

// Looks up the functions of an MPI that is loaded after the recorded one was
// unloaded. mt_leave_init then continues the recording, if it had ended. Returns
// false if it is a different MPI.
static bool resolve_again(uint64_t site)
{
    set_state(MT_OFF);
    return mt_resolve(site);
}

// The calling thread gets its table here, so that the recording shows the call while
// MPI initializes.
mt_span mt_enter_init(unsigned call, uint64_t site, uint64_t frame)
{
    int saved = errno;
    mt_span s = {.site = site, .frame = frame, .call = (uint16_t)call};
    if (mt_lies_in(&mt_calls.fortran_bindings, site))
        mt_fortran_take(call, &s.site);
    mt_lock(MT_LOCK_LIFECYCLE);
    if (mt_process.state == MT_NOT_STARTED && mt_process.header)
        resolve_again(site);
    else if (mt_process.state == MT_NOT_STARTED)
        set_state(create_recording(site, false) ? MT_STARTING : MT_OFF);
    if ((mt_process.state == MT_STARTING || mt_on()) && !(mt_flags() & MT_FLAG_PAUSED))
        s.thread = mt_self ? mt_self : mt_thread_attach();
    mt_unlock(MT_LOCK_LIFECYCLE);
    errno = saved;
    s.timed = mt_process.header && mt_process.header->timing != MT_TIMING_OFF;
    s.start = mt_ticks();
    if (s.thread) {
        mt_current_call_begin(&s);
        if (s.timed)
            s.thread->open->start -= s.thread->open->spent;
    }
    return s;
}

// Resumes the recording if it had ended with the last model. Returns whether the model
// that was just initialized is recorded.
static bool ensure_recording(void)
{
    if (mt_lifecycle.recording_ended) {
        mt_lifecycle.recording_ended = false;
        if (!mt_recording_resume()) {
            mt_log("MPI was initialized again after the recording was moved to the run directory (rank %d): nothing "
                   "more is recorded",
                   mt_process.world_rank);
            return false;
        }
        mt_modules_resume();
        mt_usage_open();
        set_state(MT_ON);
        mt_direct_log();
        mt_pvar_table_thaw();
    }
    return mt_process.state == MT_STARTING || mt_process.state == MT_ON;
}

static mt_thread *thread_wanted(uint64_t site);

static void book_init(mt_span *s, int rc, uint64_t now)
{
    bool counts = rc == MPI_SUCCESS && mt_on() && !(mt_flags() & MT_FLAG_PAUSED);
    if (!s->thread && counts)
        s->thread = mt_self ? mt_self : thread_wanted(s->site);
    if (!s->thread)
        return;
    s->slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    s->ticks = now - s->start;
    mt_write(&s->thread->open->last, now); // other calls store it when they are left
    s->timed = mt_process.header->timing != MT_TIMING_OFF;
    if (counts)
        mt_book(s, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0);
    else
        mt_current_call_end(s);
    if (counts)
        mt_thread_initialized_mpi(s->thread);
}

void mt_leave_init(mt_span *s, int rc)
{
    uint64_t now = mt_ticks();
    int saved = errno;
    mt_lock(MT_LOCK_LIFECYCLE);
    if (rc == MPI_SUCCESS && ensure_recording())
        world_opened();
    mt_unlock(MT_LOCK_LIFECYCLE);
    book_init(s, rc, now);
    errno = saved;
}

#if MT_HAVE_Session_init
void mt_leave_session_init(mt_span *s, int rc, const MPI_Session *session)
{
    uint64_t now = mt_ticks();
    int saved = errno;
    mt_lock(MT_LOCK_LIFECYCLE);
    if (rc == MPI_SUCCESS && ensure_recording()) {
        mt_requests_enable_threads(); // each session may have a different thread level
        if (!mt_world_session_opened(*session))
            mt_lifecycle.open_models--; // it is not counted: the end of an unknown session is not recognized
        model_opened();
    }
    mt_unlock(MT_LOCK_LIFECYCLE);
    book_init(s, rc, now);
    errno = saved;
}
#endif

// Starts the recording at a call before which the library saw no initialization,
// because the program called the MPI's own function.
static void start_late(uint64_t site)
{
    int initialized = 0, finalized = 0;
    if (mt_process.header ? !resolve_again(site) : !mt_resolve(site)) {
        set_state(MT_OFF);
        return;
    }
    mt_pmpi.Initialized(&initialized);
    mt_pmpi.Finalized(&finalized);
    if (!initialized || finalized)
        return;
    if (!*mt_direct_calls() && !*mt_intercepted())
        mt_direct_called("MPI_Init", site);
    if (mt_process.header ? ensure_recording() : create_recording(site, true))
        world_opened();
    else
        set_state(MT_OFF);
}

static MT_SLOW void unrecorded_call(uint64_t site)
{
    if (atomic_load_explicit(&mt_process.state, memory_order_acquire) != MT_NOT_STARTED)
        return;
    int saved = errno;
    mt_lock(MT_LOCK_LIFECYCLE);
    if (mt_process.state == MT_NOT_STARTED)
        start_late(site);
    mt_unlock(MT_LOCK_LIFECYCLE);
    errno = saved;
}

static MT_SLOW mt_thread *thread_wanted(uint64_t site)
{
    unrecorded_call(site);
    if (atomic_load_explicit(&mt_process.state, memory_order_acquire) != MT_ON)
        return NULL;
    mt_thread *t = mt_thread_attach();
    if (!t)
        mt_count_lost(&mt_process.header->lost_calls, 1);
    return t;
}

MT_REGISTER(unrecorded_call, unrecorded_call);
MT_REGISTER(thread_wanted, thread_wanted);

void mt_mpi_unloaded(void)
{
    int saved = errno;
    mt_lock(MT_LOCK_LIFECYCLE);
    if (mt_process.state == MT_ON)
        mt_log("the MPI library was unloaded before MPI_Finalize (rank %d): nothing more is recorded",
               mt_process.world_rank);
    mt_fortran_forget();
    mt_mpit_forget();
    mt_tool_forget();
    mt_comm_forget_all();
    mt_win_forget_all();
    mt_types_forget_all();
    mt_world_close();
    mt_resolve_forget();
    mt_lifecycle.open_models = 0;
    set_state(MT_NOT_STARTED);
    mt_unlock(MT_LOCK_LIFECYCLE);
    errno = saved;
}

// Takes the last readings, if the model that is about to be finalized is the last one
// that is open.
static void before_last_finalize(void)
{
    if (!mt_on() || mt_lifecycle.open_models > 1)
        return;
    mt_pvars_close();
    mt_slice_close();
    mt_process.header->finalize_start = mt_clock_read_all();
    mt_thread_finalizes_mpi();
    mt_thread_use_close();
    if (MT_CHECKING)
        mt_sample_log_total();
}

// Completes the recording. Called after the last open model was finalized.
static void end_recording(void)
{
    mt_fortran_missed(); // counts the last call from Fortran if it did not reach C: no later call does
    mt_thread_leave_calls();
    mt_requests_close();
    mt_direct_log();
    mt_modules_scan();
    mt_prof_write();
    mt_pvar_table_freeze();
    mt_process.header->finalize_end = mt_clock_read_all();
    __atomic_store_n(&mt_process.header->state, MT_STATE_FINALIZED, __ATOMIC_RELEASE);
    set_state(MT_OFF);
    mt_lifecycle.recording_ended = true;
    // Handles that were not freed are not valid in a later session.
    mt_types_forget_all();
    mt_events_close();
    mt_recording_close();
}

// Called when a model was finalized by the call `s`.
static void model_closed(mt_span *s)
{
    int saved = errno;
    if (s->thread)
        mt_book_bare(s);
    mt_lock(MT_LOCK_LIFECYCLE);
    if (--mt_lifecycle.open_models <= 0 && mt_on())
        end_recording();
    mt_unlock(MT_LOCK_LIFECYCLE);
    errno = saved;
}

// If a session stays open, MPI_COMM_WORLD is closed here, before MPI_Finalize:
// threads that continue with the session must not use it. Otherwise callbacks of
// MPI_Finalize may still use it, and mt_finalized closes it.
void mt_finalizing(void)
{
    before_last_finalize();
    if (mt_lifecycle.open_models > 1) {
        mt_pvars_forget_objects();
        mt_world_close();
        return;
    }
    mt_tool_finalizing();
    if (mt_physical_on())
        mt_mpit_close();
}

void mt_finalized(mt_span *s, int rc)
{
    if (!mt_on())
        return;
    if (rc == MPI_SUCCESS) {
        mt_world_close();
        model_closed(s);
    } else if (s->thread) {
        mt_book_bare(s);
    }
}

// Marks the recording as finalized by a call that is not recorded, and does nothing else.
static void finalized_unrecorded(mt_l_clock start)
{
    mt_process.header->finalize_start = start;
    mt_thread_finalizes_mpi();
    mt_process.header->finalize_end = mt_clock_read_all();
    __atomic_store_n(&mt_process.header->state, MT_STATE_FINALIZED, __ATOMIC_RELEASE);
    set_state(MT_OFF);
}

int mt_finalize_interrupted(int (*next)(void))
{
    mt_l_clock before = mt_clock_read_all();
    int rc = next();
    if (rc == MPI_SUCCESS && mt_on() && mt_lifecycle.open_models <= 1) {
        mt_count_lost(&mt_process.header->lost_calls, 1); // the call of MPI_Finalize itself
        finalized_unrecorded(before);
    }
    return rc;
}

void mt_finalize_unseen(void)
{
    int finalized = 0;
    if (!mt_on() || mt_lifecycle.open_models > 1 || mt_resolve_unloaded())
        return;
    if (mt_pmpi.Finalized(&finalized) == MPI_SUCCESS && finalized) {
        if (!strstr(mt_intercepted(), "MPI_Finalize")) // otherwise the report names the tool
            mt_direct_finalized();
        finalized_unrecorded(mt_clock_read_all());
    }
}

// Returns the place in the header for the MPI_Abort of a thread that has no table.
static mt_current_call *abort_line(void)
{
    return (mt_current_call *)(void *)&mt_process.header->abort;
}

// Writes the arguments of MPI_Abort: its error code, and its communicator if that is
// MPI_COMM_WORLD or is in the cache of the thread (which may be NULL).
static void write_abort(mt_thread *t, mt_current_call *line, MPI_Comm comm, int errorcode)
{
    uint64_t key = MT_KEY(comm);
    mt_comm_cached *hit = t ? mt_comm_cache_slot(t->comms, MT_COMM_CACHE, key) : NULL;
    bool cached = hit && mt_holds(&hit->key, key);
    line->comm = cached ? hit->comm->index : comm == mt_const.comm_world ? mt_comm_world_index() : MT_COMM_NONE;
    line->peer = MT_PEER_NONE;
    mt_write(&line->bytes, MT_OPEN_BYTES_UNKNOWN);
    line->count = (uint32_t)errorcode;
}

mt_span mt_aborting(uint64_t site, uint64_t frame, MPI_Comm comm, int errorcode)
{
    mt_span s = {.site = site, .frame = frame, .call = MT_CALL_ABORT};
    if (atomic_load(&mt_process.state) == MT_NOT_STARTED && (mt_protected() || !thread_wanted(site)))
        mt_resolve(site);
    if (mt_flags() & (MT_FLAG_CLOSED | MT_FLAG_PAUSED))
        return s;
    if (mt_lies_in(&mt_calls.fortran_bindings, site))
        mt_fortran_take(MT_CALL_ABORT, &s.site);
    s.timed = mt_process.header->timing != MT_TIMING_OFF;
    s.slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    s.thread = mt_self;
    uint64_t now = mt_ticks();
    if (s.thread) {
        s.start = now - s.thread->open->spent;
        mt_current_call_begin(&s);
        write_abort(s.thread, s.thread->open, comm, errorcode);
        return s;
    }
    mt_current_call *line = abort_line();
    line->site = s.site;
    line->start = s.timed ? now : 0;
    line->slice = s.slice;
    write_abort(NULL, line, comm, errorcode);
    __atomic_store_n(&line->call, MT_CALL_ABORT, __ATOMIC_RELEASE);
    return s;
}

void mt_abort_returned(mt_span *s)
{
    if (s->thread && !mt_protected()) {
        mt_book_bare(s);
    } else if (mt_on()) {
        mt_count_lost(&mt_process.header->lost_calls, 1);
        if (s->thread)
            mt_current_call_end(s);
        else
            mt_current_call_clear(abort_line());
    }
}

#if MT_HAVE_Session_init
bool mt_session_finalizing(MPI_Session session)
{
    bool known = mt_world_session_closing(session);
    if (known && mt_lifecycle.open_models > 1)
        mt_pvars_forget_objects();
    if (known)
        before_last_finalize();
    return known;
}

void mt_session_finalized(mt_span *s, int rc, const MPI_Session *session)
{
    if (!mt_on())
        return;
    if (rc == MPI_SUCCESS && session)
        model_closed(s);
    else if (s->thread)
        mt_book_bare(s);
    if (rc != MPI_SUCCESS && session)
        mt_world_session_opened(*session); // it is still open
}
#endif
