#define _GNU_SOURCE
#include "mpit/pvars.h"

#include "base/clock.h"
#include "base/lock.h"
#include "file/recording.h"
#include "record/slice.h"
#include "objects/handles.h"
#include "objects/win.h"
#include "calls/call.h"
#include "mpit/mpit.h"
#include "mpit/state.h"
#include "mpit/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A variable that is bound to an object.
typedef struct bound_pvar {
    MPI_T_pvar_handle handle;
    bool bound;
    bool known;     // its handle record is written
    int count;      // number of elements
    uint32_t index; // of the handle record
    uint64_t last;  // hash of the values that were recorded last
} bound_pvar;

// An object, or the process, and the variables that are bound to it. MPI keeps the
// address of `object`, so this memory is neither moved nor freed. When the object is
// freed, it is used again for another object with the same communicator record.
struct mt_bound {
    union {
        MPI_Comm comm;
        MPI_Win win;
    } object;
    mt_comm *comm; // the communicator, or the window's group; NULL for the process
    uint32_t binding;
    bool again; // used before, for another object
    struct mt_bound *before, *after; // in the list of bound objects
    struct mt_bound *next;           // in the list of unused ones
    bound_pvar places[];             // [mt_mpit.variables.count]
};

enum { MT_NEVER_READ = 0, MT_MAX_ELEMENTS = 1 << 24 };

// Written in MPI_Init, except for next_read, which the thread that reads sets.
static bool mpit_is_open;         // MPI_T is open
static mt_l_clock first_interval; // the start of the first interval
static uint64_t period;           // length of an interval, ns; 0 if variables are not read by time
static _Atomic uint64_t next_read = UINT64_MAX; // ticks at which they are read next

// The variables below are used under the lock MT_LOCK_PVARS, except that `active` is also
// read before the lock is taken. The lock is taken after those of communicators,
// windows and slices, and before that of the log. The MPI is called while the lock is
// held, and must not call back into a wrapper: the MPI_T functions used here call no
// MPI function that is wrapped.
static _Atomic bool active;
static MPI_T_pvar_session session;
static struct mt_bound process_list = {.before = &process_list, .after = &process_list};
static struct mt_bound *process;
static mt_handles windows;
static uint32_t handle_count;
static void *values; // memory to read values into, large enough for any variable
static size_t values_size;
static uint64_t readings_size; // bytes of readings in the recording

static void read_period(void)
{
    const char *text = getenv("MPITRACE_PVAR_INTERVAL");
    if (!text || !*text || strcmp(text, "0") == 0)
        return;
    period = mt_clock_parse(text);
    if (!period)
        mt_log("MPITRACE_PVAR_INTERVAL=%s is not a time such as 10ms or 2s: variables are not read at intervals", text);
}

void mt_pvars_prepare(uint64_t caller)
{
    mt_variables_prepare();
    read_period();
    mpit_is_open = (mt_variables_named() || mt_variables_late_receives()) && mt_mpit_open(caller);
}

// Records the time since `begun` as the library's, so that it does not count as time
// of the open MPI call.
static void exclude_from_call(uint64_t begun)
{
    mt_thread *t = mt_self;
    if (t && t->open->call != 0)
        mt_add(&t->open->spent, mt_ticks() - begun);
}

static void report_failure(mt_variable *v, const char *what, int code)
{
    mt_count_lost(&mt_process.header->lost_readings, 1);
    if (!v->failed)
        mt_log("%s cannot be %s (code %d, rank %d): its readings are missing", v->name, what, code,
               mt_process.world_rank);
    v->failed = true;
}

static uint64_t hash_of(const mt_variable *v, const bound_pvar *p)
{
    uint64_t hash = 14695981039346656037u; // FNV-1a, one word at a time
    for (int i = 0; i < p->count; i++)
        hash = (hash ^ mt_mpit_word(v->type, (char *)values + (size_t)i * v->type->size)) * 1099511628211u;
    return hash | 1;
}

static bool has_room(uint64_t size, uint32_t moment)
{
    static bool logged;
    if (moment == MT_READ_AT_INIT || moment == MT_READ_AT_FINALIZE || readings_size + size <= mt_recording_limit() / 4)
        return true;
    if (!logged)
        mt_log("the readings of performance variables take a quarter of MPITRACE_MAX_MB (rank %d): later "
               "readings are counted, but not kept", mt_process.world_rank);
    logged = true;
    return false;
}

static void write_reading(const mt_variable *v, bound_pvar *p, uint32_t moment, uint32_t slice, uint64_t ticks)
{
    uint64_t size = sizeof(mt_l_reading) + (uint64_t)p->count * sizeof(uint64_t);
    mt_l_reading *r = has_room(size, moment) ? mt_recording_begin(size) : NULL;
    if (!r) {
        mt_count_lost(&mt_process.header->lost_readings, 1);
        return;
    }
    r->handle = p->index;
    r->slice = slice;
    r->ticks = ticks;
    r->count = (uint32_t)p->count;
    r->moment = moment;
    for (int i = 0; i < p->count; i++)
        ((uint64_t *)(r + 1))[i] = mt_mpit_word(v->type, (char *)values + (size_t)i * v->type->size);
    mt_recording_commit(r, MT_RECORD_READING);
    p->last = hash_of(v, p);
    readings_size += size;
}

static void unbind_pvar(bound_pvar *p)
{
    if (p->bound)
        mt_pmpi.T_pvar_handle_free(session, &p->handle);
    p->bound = false;
}

// Reads the variable's elements into `values`. If the MPI refuses, the variable is no
// longer read for this object.
static bool read_values(mt_variable *v, bound_pvar *p)
{
    int rc = mt_pmpi.T_pvar_read(session, p->handle, values);
    if (rc == MPI_SUCCESS)
        return true;
    unbind_pvar(p);
    report_failure(v, "read", rc);
    return false;
}

static void read_object(struct mt_bound *b, uint32_t moment, uint32_t slice)
{
    uint64_t ticks = mt_ticks();
    bool passing = b->again && (moment == MT_READ_AT_BIND || moment == MT_READ_AT_FREE);
    for (int i = 0; i < mt_mpit.variables.count; i++) {
        mt_variable *v = &mt_mpit.variables.list[i];
        bound_pvar *p = &b->places[i];
        if (!v->read || !p->bound || !read_values(v, p))
            continue;
        if (!passing || hash_of(v, p) != p->last)
            write_reading(v, p, moment, slice, ticks);
    }
}

static void read_all(uint32_t moment, uint32_t slice)
{
    for (struct mt_bound *b = process_list.after; b != &process_list; b = b->after)
        read_object(b, moment, slice);
}

static uint32_t slice_now(void)
{
    return atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
}

// Writes the handle record that readings refer to. It is written only once for
// several objects with the same communicator record and the same number of elements.
static bool write_handle(const struct mt_bound *b, const mt_variable *v, bound_pvar *p, int count)
{
    if (p->known && p->count == count)
        return true;
    mt_l_handle *r = mt_recording_begin(sizeof *r);
    if (!r)
        return false;
    r->index = p->index = handle_count++;
    r->pvar = v->index;
    r->comm = b->comm ? b->comm->index : MT_COMM_NONE;
    r->count = (uint32_t)count;
    mt_recording_commit(r, MT_RECORD_HANDLE);
    p->known = true;
    p->last = MT_NEVER_READ;
    return true;
}

static bool has_values(size_t size)
{
    void *wider = size > values_size ? realloc(values, size) : values;
    if (!wider)
        return false;
    values = wider;
    values_size = size > values_size ? size : values_size;
    return true;
}

static void bind_pvar(struct mt_bound *b, mt_variable *v, bound_pvar *p)
{
    int count = 0;
    void *object = b->binding == MT_PVAR_UNBOUND ? NULL : &b->object;
    int rc = mt_pmpi.T_pvar_handle_alloc(session, v->number, object, &p->handle, &count);
    if (rc != MPI_SUCCESS) {
        report_failure(v, "bound to an object", rc);
        return;
    }
    p->bound = true;
    if (!v->continuous && (rc = mt_pmpi.T_pvar_start(session, p->handle)) != MPI_SUCCESS)
        report_failure(v, "started", rc);
    else if (count < 0 || count > MT_MAX_ELEMENTS || !has_values((size_t)count * v->type->size + 8))
        report_failure(v, "read: it has too many elements", count);
    else if (v->read && !write_handle(b, v, p, count))
        mt_count_lost(&mt_process.header->lost_readings, 1);
    else {
        p->count = count;
        return;
    }
    unbind_pvar(p);
}

static struct mt_bound *make_bound(uint32_t binding, mt_comm *c)
{
    struct mt_bound **idle = c ? &c->idle[binding == MT_PVAR_WINDOW] : &process, *b = *idle;
    if (b) {
        *idle = b->next;
        b->again = true;
        return b;
    }
    b = calloc(1, sizeof *b + (size_t)mt_mpit.variables.count * sizeof *b->places);
    if (!b)
        return NULL;
    b->binding = binding;
    b->comm = c;
    return b;
}

// Binds the variables of this kind to the object whose handle is at `object`. Returns
// NULL if there are no such variables or no memory.
static struct mt_bound *bind(uint32_t binding, mt_comm *c, const void *object, size_t size)
{
    bool any = false;
    for (int i = 0; i < mt_mpit.variables.count; i++)
        any |= mt_mpit.variables.list[i].binding == binding;
    struct mt_bound *b = any ? make_bound(binding, c) : NULL;
    if (!b) {
        if (any)
            mt_count_lost(&mt_process.header->lost_readings, 1);
        return NULL;
    }
    memcpy(&b->object, object, size);
    for (int i = 0; i < mt_mpit.variables.count; i++)
        if (mt_mpit.variables.list[i].binding == binding)
            bind_pvar(b, &mt_mpit.variables.list[i], &b->places[i]);
    b->before = process_list.before;
    b->after = &process_list;
    b->before->after = b->after->before = b;
    return b;
}

static void unbind(struct mt_bound *b)
{
    for (int i = 0; i < mt_mpit.variables.count; i++)
        unbind_pvar(&b->places[i]);
    b->before->after = b->after;
    b->after->before = b->before;
    if (b->binding == MT_PVAR_COMMUNICATOR)
        b->comm->bound = NULL;
    if (b->comm) {
        struct mt_bound **idle = &b->comm->idle[b->binding == MT_PVAR_WINDOW];
        b->next = *idle;
        *idle = b;
    }
}

// Reports whether variables are bound to this communicator.
static bool has_pvars(const mt_comm *c)
{
#ifdef OPEN_MPI
    static bool logged;
    if (c->flags & MT_COMM_INTER) {
        for (int i = 0; i < mt_mpit.variables.count && !logged; i++)
            if ((logged = mt_mpit.variables.list[i].binding == MT_PVAR_COMMUNICATOR))
                mt_log("variables of intercommunicators are not read: Open MPI counts elements of the wrong group");
        return false;
    }
#endif
    return c->index != MT_COMM_NONE && !(c->flags & MT_COMM_FOUND);
}

static void bind_comm(MPI_Comm comm, mt_comm *c)
{
    if (has_pvars(c) && !c->bound)
        c->bound = bind(MT_PVAR_COMMUNICATOR, c, &comm, sizeof comm);
}

// What `enter` and `leave` save around the locked code: the ticks when it began, and
// errno.
typedef struct saved_state {
    uint64_t begun;
    int saved;
} saved_state;

static bool enter(saved_state *g)
{
    if (!atomic_load_explicit(&active, memory_order_acquire))
        return false;
    *g = (saved_state){mt_ticks(), errno};
    mt_lock(MT_LOCK_PVARS);
    if (atomic_load(&active))
        return true;
    mt_unlock(MT_LOCK_PVARS);
    return false;
}

static void leave(const saved_state *g)
{
    mt_unlock(MT_LOCK_PVARS);
    exclude_from_call(g->begun);
    errno = g->saved;
}

static void comm_created(MPI_Comm comm, mt_comm *c)
{
    saved_state g;
    if (!enter(&g))
        return;
    bind_comm(comm, c);
    if (c->bound)
        read_object(c->bound, MT_READ_AT_BIND, slice_now());
    leave(&g);
}

MT_REGISTER(comm_created, comm_created);

static void read_and_unbind(struct mt_bound *b)
{
    read_object(b, MT_READ_AT_FREE, slice_now());
    unbind(b);
}

static void comm_freeing(mt_comm *c)
{
    saved_state g;
    if (!c || !enter(&g))
        return;
    if (c->bound)
        read_and_unbind(c->bound);
    leave(&g);
}

MT_REGISTER(comm_freeing, comm_freeing);

static void comm_freed_unseen(mt_comm *c)
{
    saved_state g;
    if (!c->bound || !enter(&g))
        return;
    if (c->bound)
        unbind(c->bound);
    leave(&g);
}

MT_REGISTER(comm_freed_unseen, comm_freed_unseen);

static void win_created(MPI_Win win, mt_comm *c)
{
    saved_state g;
    if (!enter(&g))
        return;
    bool can = c->index != MT_COMM_NONE && !mt_handles_get(&windows, MT_KEY(win)) && mt_handles_reserve(&windows);
    struct mt_bound *b = can ? bind(MT_PVAR_WINDOW, c, &win, sizeof win) : NULL;
    if (b) {
        mt_handles_put(&windows, MT_KEY(win), b);
        read_object(b, MT_READ_AT_BIND, slice_now());
    }
    leave(&g);
}

MT_REGISTER(win_created, win_created);

static void win_freeing(MPI_Win win)
{
    saved_state g;
    if (!enter(&g))
        return;
    struct mt_bound *b = mt_handles_get(&windows, MT_KEY(win));
    mt_handles_remove(&windows, MT_KEY(win));
    if (b)
        read_and_unbind(b);
    leave(&g);
}

MT_REGISTER(win_freeing, win_freeing);

void mt_pvars_forget_objects(void)
{
    saved_state g;
    if (!enter(&g))
        return;
    for (struct mt_bound *b = process_list.after, *next; b != &process_list; b = next) {
        next = b->after;
        if (b->comm)
            read_and_unbind(b);
    }
    mt_handles_clear(&windows);
    leave(&g);
}

static void slice_ends(uint32_t slice)
{
    saved_state g;
    if (!enter(&g))
        return;
    read_all(MT_READ_AT_SLICE, slice);
    leave(&g);
}

MT_REGISTER(slice_ends, slice_ends);

static void schedule_next_read(void)
{
    uint64_t next;
    mt_clock_periods(&first_interval, period, &next);
    mt_store(&next_read, next);
}

static void time_to_read(void)
{
    saved_state g;
    if (mt_ticks() < mt_load(&next_read) || !enter(&g))
        return;
    if (mt_ticks() >= mt_load(&next_read)) { // no other thread has read them meanwhile
        read_all(MT_READ_AT_INTERVAL, slice_now());
        schedule_next_read();
    }
    leave(&g);
}

MT_REGISTER(time_to_read, time_to_read);

bool mt_pvars_have_queue(void)
{
    return mt_mpit.variables.queue >= 0;
}

bool mt_pvars_queue_length(const mt_comm *c, uint64_t *messages)
{
    saved_state g;
    if (!enter(&g))
        return false;
    mt_variable *v = &mt_mpit.variables.list[mt_mpit.variables.queue];
    struct mt_bound *b = v->binding == MT_PVAR_UNBOUND ? process : c->bound;
    bool has_length = b && b->places[mt_mpit.variables.queue].bound && read_values(v, &b->places[mt_mpit.variables.queue]);
    *messages = 0;
    for (int i = 0; has_length && i < b->places[mt_mpit.variables.queue].count; i++)
        *messages += mt_mpit_word(v->type, (char *)values + (size_t)i * v->type->size);
    leave(&g);
    return has_length;
}

static void open_comm(MPI_Comm comm, mt_comm *c)
{
    mt_lock(MT_LOCK_PVARS);
    bind_comm(comm, c);
    mt_unlock(MT_LOCK_PVARS);
}

static void open_session(void)
{
    static const char none;
    int rc = mt_pmpi.T_pvar_session_create(&session);
    if (rc != MPI_SUCCESS) {
        mt_log("this MPI cannot create a session of performance variables (MPI_T error %d): they are not read", rc);
        return;
    }
    if (!mt_mpit.variables.chosen)
        mt_variables_choose();
    if (mt_mpit.variables.count > 0)
        process = bind(MT_PVAR_UNBOUND, NULL, &none, 0);
    atomic_store(&active, true);
}

bool mt_pvars_open(void)
{
    int saved = errno;
    if (!mpit_is_open || atomic_load(&active) || !mt_mpit_open(0))
        return atomic_load(&active);
    mt_lock(MT_LOCK_PVARS);
    open_session();
    mt_unlock(MT_LOCK_PVARS);
    if (atomic_load(&active)) {
        mt_comm_each(open_comm);
        mt_lock(MT_LOCK_PVARS);
        read_all(MT_READ_AT_INIT, slice_now());
        first_interval = mt_clock_read_all();
        if (period) {
            schedule_next_read();
            mt_flag_set(MT_FLAG_PVARS, true);
        }
        mt_unlock(MT_LOCK_PVARS);
    }
    errno = saved;
    return atomic_load(&active);
}

void mt_pvars_close(void)
{
    saved_state g;
    mt_flag_set(MT_FLAG_PVARS, false);
    if (!enter(&g))
        return;
    read_all(MT_READ_AT_FINALIZE, slice_now());
    while (process_list.after != &process_list)
        unbind(process_list.after);
    mt_handles_clear(&windows);
    mt_pmpi.T_pvar_session_free(&session);
    atomic_store(&active, false);
    leave(&g);
}
