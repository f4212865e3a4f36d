#include "objects/request.h"

#include "base/lock.h"
#include "base/resolve.h"
#include "record/trace.h"
#include "objects/posted.h"
#include "objects/status.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// The locks of the shards are plain mutexes (see lock.h): the code under them is short and
// has no cancellation point, except resize(), which disables cancellation.

static uint64_t hash_key(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15u;
}

MT_INLINE void lock_shard(mt_shard *s)
{
    mt_lock_acquired(MT_LOCK_REQUESTS);
    pthread_mutex_lock(&s->lock);
}

// Returns the shard of a hash. Locks it if threads use the tables at the same time.
static mt_shard *open_shard(mt_table *table, uint64_t hash)
{
    if (mt_likely(!mt_process.multiple))
        return &table->shards[0];
    mt_shard *s = &table->shards[hash >> 60];
    lock_shard(s);
    return s;
}

static void close_shard(mt_shard *s)
{
    if (mt_unlikely(mt_process.multiple)) {
        pthread_mutex_unlock(&s->lock);
        mt_lock_released(MT_LOCK_REQUESTS);
    }
}

// Returns the slot of the key, or the empty slot where it belongs.
static mt_request *slot_of(const mt_shard *s, uint64_t key, uint64_t hash)
{
    uint64_t mask = s->capacity - 1, i = (hash >> 28) & mask;
    while (s->entries[i].key && s->entries[i].key != key)
        i = (i + 1) & mask;
    return &s->entries[i];
}

enum { MT_MIN_ENTRIES = 32, MT_KEPT_ENTRIES = 4096 };

// Maps large arrays, so that they can be returned to the system: free() might keep them.
static mt_request *new_entries(uint64_t capacity)
{
    if (capacity < MT_KEPT_ENTRIES)
        return calloc(capacity, sizeof(mt_request));
    void *pages = mmap(NULL, capacity * sizeof(mt_request), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static void free_entries(mt_request *entries, uint64_t capacity)
{
    if (capacity < MT_KEPT_ENTRIES)
        free(entries);
    else
        munmap(entries, capacity * sizeof(mt_request));
}

static MT_SLOW bool resize(mt_shard *s, uint64_t capacity)
{
    mt_protect();
    mt_shard old = *s;
    mt_request *entries = new_entries(capacity);
    if (entries) {
        s->entries = entries;
        s->capacity = capacity;
        for (uint64_t i = 0; i < old.capacity; i++)
            if (old.entries[i].key)
                *slot_of(s, old.entries[i].key, hash_key(old.entries[i].key)) = old.entries[i];
        free_entries(old.entries, old.capacity);
    }
    mt_unprotect();
    return entries != NULL;
}

// Makes room for one more entry.
static bool grow(mt_shard *s)
{
    return resize(s, s->capacity ? s->capacity * 2 : MT_MIN_ENTRIES);
}

// Returns the slot for a key, with its shard open: the caller fills the slot and closes the
// shard. Without room it closes the shard and returns NULL.
static mt_request *claim(mt_table *table, uint64_t key, mt_shard **shard)
{
    uint64_t hash = hash_key(key);
    mt_shard *s = *shard = open_shard(table, hash);
    if (mt_unlikely(s->used * 2 >= s->capacity) && !grow(s)) {
        mt_count_lost(&mt_process.header->lost_requests, 1);
        close_shard(s);
        return NULL;
    }
    mt_request *at = slot_of(s, key, hash);
    if (!at->key) {
        s->used++;
        mt_requests_add_count(1);
    }
    return at;
}

void mt_table_put(mt_table *table, const mt_request *entry)
{
    mt_shard *s;
    mt_request *at = claim(table, entry->key, &s);
    if (!at)
        return;
    *at = *entry;
    close_shard(s);
}

static void put_request(const mt_request *e) { mt_table_put(&mt_objects.requests, e); }

// Distributes the entries, which are all in the first shard. No other thread uses MPI
// before the call that allows several threads has returned.
void mt_requests_enable_threads(void)
{
    mt_table *tables[] = {&mt_objects.requests, &mt_objects.messages};
    if (mt_process.multiple)
        return;
    mt_process.multiple = true;
    mt_posted_spill(put_request);
    for (int t = 0; t < 2; t++) {
        mt_shard old = tables[t]->shards[0];
        tables[t]->shards[0].entries = NULL;
        tables[t]->shards[0].capacity = tables[t]->shards[0].used = 0;
        for (uint64_t i = 0; i < old.capacity; i++)
            if (old.entries[i].key) {
                mt_requests_add_count(-1); // mt_table_put counts it again
                mt_table_put(tables[t], &old.entries[i]);
            }
        free_entries(old.entries, old.capacity);
    }
}

// Closes the gap behind a removed entry, so that no tombstones accumulate.
static void close_gap(mt_shard *s, uint64_t hole)
{
    uint64_t mask = s->capacity - 1;
    for (uint64_t i = (hole + 1) & mask; s->entries[i].key; i = (i + 1) & mask) {
        uint64_t home = (hash_key(s->entries[i].key) >> 28) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->entries[hole] = s->entries[i];
            hole = i;
        }
    }
    s->entries[hole].key = 0;
}

// Removes an entry of an open shard. Releases memory when few of many requests are left.
static void drop_entry(mt_shard *s, mt_request *at)
{
    close_gap(s, (uint64_t)(at - s->entries));
    s->used--;
    mt_requests_add_count(-1);
    if (mt_unlikely(s->capacity > MT_KEPT_ENTRIES && s->used * 16 < s->capacity))
        resize(s, s->capacity / 4); // on failure the capacity stays
}

bool mt_table_take(mt_table *table, uint64_t key, mt_request *entry)
{
    if (!mt_requests_any() || key == 0)
        return false;
    if (table == &mt_objects.requests && mt_posted_any())
        mt_posted_spill(put_request);
    uint64_t hash = hash_key(key);
    mt_shard *s = open_shard(table, hash);
    mt_request *at = s->capacity ? slot_of(s, key, hash) : NULL;
    bool found = at && at->key == key;
    if (found) {
        *entry = *at;
        drop_entry(s, at);
    }
    close_shard(s);
    return found;
}

bool mt_request_is_persistent_receive(MPI_Request request, mt_comm **comm, int32_t *peer)
{
    uint64_t key = MT_KEY(request), hash = hash_key(key);
    if (!mt_requests_any() || key == 0)
        return false;
    mt_shard *s = open_shard(&mt_objects.requests, hash);
    const mt_request *at = s->capacity ? slot_of(s, key, hash) : NULL;
    bool receives = at && at->key == key && at->kind == MT_PERSISTENT_RECEIVE && at->peer != MT_PEER_PROC_NULL;
    if (receives) {
        *comm = at->comm;
        *peer = at->peer;
    }
    close_shard(s);
    return receives;
}

// Returns the table of the calling thread, which may have made no call of its own yet; NULL
// without room.
MT_INLINE mt_thread *current_thread(void)
{
    mt_thread *t = mt_self;
    return t ? t : MT_CALL_HOOK(thread_wanted, 0);
}

// Records a request that did not complete normally, in a row of this direction. Requests
// that started while recording was paused are not counted, and those with MPI_PROC_NULL
// move nothing.
static void book_abnormal_tagged(const mt_request *e, unsigned direction, int32_t peer, int32_t tag)
{
    mt_thread *t = current_thread();
    if (!t || e->slice == MT_PAUSED || peer == MT_PEER_PROC_NULL)
        return;
    uint64_t bytes = e->kind == MT_PERSISTENT_SEND ? e->bytes : 0;
    uint32_t comm = e->comm ? e->comm->index : MT_COMM_NONE;
    mt_book_message(t, mt_key_of(e->site, e->slice, e->call, direction, comm, peer, mt_size_class(bytes)), bytes,
                    tag, e->number);
}

static void book_abnormal(const mt_request *e, unsigned direction, int32_t peer)
{
    book_abnormal_tagged(e, direction, peer, MT_EVENT_NO_TAG);
}

MT_INLINE bool was_cancelled(const MPI_Status *status)
{
    int cancelled = 0;
    return atomic_load_explicit(&mt_objects.any_cancelled, memory_order_relaxed) &&
           mt_pmpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled;
}

MT_INLINE void book_receive(const mt_request *e, const MPI_Status *status)
{
    mt_thread *t = current_thread();
    if (was_cancelled(status)) {
        book_abnormal(e, MT_DIR_CANCELLED, e->peer);
        return;
    }
    if (e->kind == MT_RECEIVE_NO_STATUS) {
        book_abnormal(e, MT_DIR_UNTOLD, e->peer);
        return;
    }
    if (!t || e->slice == MT_PAUSED)
        return;
    if (mt_unlikely(status->MPI_SOURCE < 0)) { // from MPI_PROC_NULL, or the MPI does not tell the source
        book_abnormal(e, MT_DIR_UNTOLD, e->peer);
        return;
    }
    uint64_t bytes = mt_status_bytes(status);
    mt_book_message(t,
                    mt_key_of(e->site, e->slice, e->call, MT_DIR_RECV_POSTED, e->comm->index, status->MPI_SOURCE,
                              mt_size_class(bytes)),
                    bytes, status->MPI_TAG, e->number);
}

static bool is_open_receive(const mt_request *e)
{
    return !e->counted && (e->kind == MT_RECEIVE || e->kind == MT_RECEIVE_NO_STATUS ||
                           (e->kind == MT_PERSISTENT_RECEIVE && e->active));
}

static bool is_cancelled_send(const mt_request *e)
{
    return !e->counted && (e->kind == MT_CANCELLED_SEND ||
                           (e->kind == MT_PERSISTENT_SEND && e->active && e->cancelled));
}

static bool is_persistent(const mt_request *e)
{
    return e->kind == MT_PERSISTENT_SEND || e->kind == MT_PERSISTENT_RECEIVE || e->kind == MT_PERSISTENT_COLL;
}

// Open MPI 5 gives a negative count for a receive of a negative number of partitions.
static bool is_negative(const mt_request *e, const MPI_Status *status)
{
    return e->kind == MT_PERSISTENT_RECEIVE && (int64_t)mt_status_bytes(status) < 0;
}

// Records the completion of a request, once.
static void book_completion(const mt_request *e, const MPI_Status *status)
{
    if (is_open_receive(e) && is_negative(e, status))
        book_abnormal(e, MT_DIR_UNTOLD, e->peer);
    else if (is_open_receive(e))
        book_receive(e, status);
    else if (is_cancelled_send(e) && was_cancelled(status))
        book_abnormal(e, MT_DIR_SEND_CANCELLED, e->peer);
    else if (e->number && !e->counted)
        mt_trace_completed(e->number);
}

static void book_failure(const mt_request *e, int error, const MPI_Status *status)
{
    if (!is_open_receive(e))
        return;
    if (mt_error_class(error) == MPI_ERR_TRUNCATE)
        book_abnormal_tagged(e, MT_DIR_TRUNCATED, mt_failed_source(e->comm, e->peer, status),
                             mt_failed_tag(e->peer, status));
    else
        book_abnormal(e, MT_DIR_FAILED, e->peer);
}

void mt_request_got_status(mt_request *e, int error, const MPI_Status *status)
{
    if (error == MPI_SUCCESS)
        book_completion(e, status);
    else if (mt_error_class(error) == MPI_ERR_TRUNCATE)
        book_failure(e, error, status);
    else
        return;
    e->counted = true;
}

// Records a request whose end was not seen: a receive, or a send that was to be cancelled.
static void book_unseen(const mt_request *e, unsigned direction)
{
    if (is_open_receive(e))
        book_abnormal(e, e->failed ? MT_DIR_FAILED : direction, e->peer);
    else if (is_cancelled_send(e))
        book_abnormal(e, MT_DIR_SEND_FREED, e->peer);
}

static void free_extra(const mt_request *e)
{
    if (e->kind == MT_PERSISTENT_COLL || e->kind == MT_NEW_COMM)
        free(e->extra);
}

void mt_request_freed(mt_request *e)
{
    book_unseen(e, MT_DIR_FREED);
    free_extra(e);
}

// Puts a persistent request back into the table, inactive.
static void deactivate(mt_request *e)
{
    e->active = e->counted = e->cancelled = e->failed = false;
    e->number = 0;
    mt_table_put(&mt_objects.requests, e);
}

static _Atomic bool unfollowed_cancelled; // MPI_Cancel was called for a request that is not followed

// While one thread waits for a request, with its entry taken out of the table, another
// thread may cancel it. That added an entry for a cancelled send, which is removed here.
static void drop_cancelled_send(const mt_request *e)
{
    mt_request other;
    if (mt_unlikely(atomic_load_explicit(&unfollowed_cancelled, memory_order_relaxed)) &&
        mt_table_take(&mt_objects.requests, e->key, &other) && other.kind != MT_CANCELLED_SEND)
        mt_table_put(&mt_objects.requests, &other);
}

void mt_request_entry_completed(mt_request *e, const MPI_Status *status)
{
    if (mt_on())
        book_completion(e, status);
    drop_cancelled_send(e);
    if (e->kind == MT_NEW_COMM) {
        const mt_request_idup *idup = e->extra;
        mt_comm_idup_completed(&idup->origin, idup->later ? *idup->later : idup->made);
        free(e->extra);
    } else if (is_persistent(e)) {
        deactivate(e);
    }
}

static bool take_completed(MPI_Request request, const MPI_Status *status)
{
    mt_request e;
    if (!mt_table_take(&mt_objects.requests, MT_KEY(request), &e))
        return false;
    mt_request_entry_completed(&e, status);
    return true;
}

// Nearly all requests are plain receives. They are recorded without copying their entries.
bool mt_request_completed(MPI_Request request, const MPI_Status *status)
{
    if (mt_unlikely(mt_process.multiple)) // another thread opened a session while this one waited
        return take_completed(request, status);
    uint64_t key = MT_KEY(request), hash = hash_key(key);
    if (mt_posted_any() && mt_posted_one_completed(key, status, put_request))
        return true;
    mt_shard *s = &mt_objects.requests.shards[0];
    mt_request *at = s->capacity ? slot_of(s, key, hash) : NULL;
    if (!at || at->key != key || key == 0)
        return false;
    if (mt_unlikely(at->kind != MT_RECEIVE))
        return take_completed(request, status);
    if (!at->counted)
        book_receive(at, status);
    drop_entry(s, at);
    return true;
}

void mt_request_failed(mt_request *e, int error, const MPI_Status *status, bool gone)
{
    if (mt_on())
        book_failure(e, error, status);
    drop_cancelled_send(e);
    if (is_persistent(e) && !gone)
        deactivate(e);
    else
        free_extra(e);
}

void mt_table_put_failed(mt_table *table, mt_request *e)
{
    e->failed = true;
    mt_table_put(table, e);
}

// A message whose receive failed is gone if the MPI gives out its handle again.
void mt_message_add(const mt_request *e)
{
    mt_request old;
    if (mt_table_take(&mt_objects.messages, e->key, &old) && old.failed)
        book_abnormal(&old, MT_DIR_FAILED, old.peer);
    mt_table_put(&mt_objects.messages, e);
}

void mt_request_cancelled(const mt_span *s, MPI_Request request)
{
    mt_request e;
    bool followed = mt_table_take(&mt_objects.requests, MT_KEY(request), &e);
    uint32_t number = followed ? e.number : 0;
    if (followed && e.kind != MT_OPERATION) {
        e.cancelled = true;
    } else if (s->thread && !mt_process.header->pauses && !mt_process.receives_unfollowed) { // else it may be a receive
        atomic_store(&unfollowed_cancelled, true);
        e = (mt_request){.key = MT_KEY(request), .site = s->site, .peer = MT_PEER_NONE, .slice = s->slice,
                         .call = s->call, .kind = MT_CANCELLED_SEND, .cancelled = true, .number = number};
    } else if (!followed) {
        return;
    }
    mt_table_put(&mt_objects.requests, &e);
}

// Moves the call sites of all entries (see modules.h). A request that a thread waits for
// may not be in the table, and keeps its site. So do all requests if other threads may be
// using the tables without a lock.
static void move_sites(const mt_move *move)
{
    if (!mt_process.multiple && (mt_process.serialized || !mt_self))
        return;
    mt_posted_move(move);
    for (int i = 0; i < 2 * MT_SHARDS; i++) {
        mt_shard *s = &(i < MT_SHARDS ? &mt_objects.requests : &mt_objects.messages)->shards[i % MT_SHARDS];
        if (mt_process.multiple)
            lock_shard(s);
        for (uint64_t k = 0; k < s->capacity; k++)
            mt_move_site(move, &s->entries[k].site);
        close_shard(s);
    }
}

MT_REGISTER(pending_sites_move, move_sites);

static void each_entry(mt_table *table, void (*visit)(const mt_request *))
{
    for (int i = 0; i < MT_SHARDS; i++)
        for (uint64_t k = 0; k < table->shards[i].capacity; k++)
            if (table->shards[i].entries[k].key)
                visit(&table->shards[i].entries[k]);
}

static void unfinished_request(const mt_request *e) { book_unseen(e, MT_DIR_UNFINISHED); }

static void unfinished_message(const mt_request *e)
{
    book_abnormal(e, e->failed ? MT_DIR_FAILED : MT_DIR_UNFINISHED, e->peer);
}

static void free_table(mt_table *table)
{
    for (int i = 0; i < MT_SHARDS; i++) {
        mt_shard *s = &table->shards[i];
        free_entries(s->entries, s->capacity);
        s->entries = NULL;
        s->capacity = s->used = 0;
    }
}

// No thread may call MPI any more, so no lock is taken. The tables are emptied, since a
// later session may be given the same handles.
void mt_requests_close(void)
{
    mt_posted_spill(put_request);
    each_entry(&mt_objects.requests, unfinished_request);
    each_entry(&mt_objects.messages, unfinished_message);
    each_entry(&mt_objects.requests, free_extra);
    free_table(&mt_objects.requests);
    free_table(&mt_objects.messages);
    atomic_store(&mt_objects.request_count, 0);
}

static void book_posted(mt_thread *t, const mt_request *e)
{
    if (e->peer != MT_PEER_PROC_NULL)
        mt_book_message(t, mt_key_of(e->site, e->slice, e->call, MT_DIR_POSTED, e->comm->index, e->peer, 0), 0, e->tag,
                        e->number);
}

void mt_request_posted(const mt_span *s, MPI_Request request, mt_request_kind kind, mt_comm *comm, int32_t peer,
                       uint32_t number)
{
    if (request == mt_const.request_null)
        return;
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = comm, .peer = peer, .slice = s->slice,
                    .call = s->call, .kind = (uint8_t)kind, .number = number, .tag = MT_EVENT_NO_TAG};
    book_posted(s->thread, &e);
    mt_table_put(&mt_objects.requests, &e);
}

void mt_request_add_receive(uint64_t site, uint32_t slice, unsigned call, mt_comm *comm, int32_t peer,
                            MPI_Request request, uint32_t number)
{
    mt_shard *shard;
    mt_request *e = request == mt_const.request_null ? NULL : claim(&mt_objects.requests, MT_KEY(request), &shard);
    if (!e)
        return;
    // Written in place: a copy of a local variable would read it back in wider pieces than
    // it was just written in, which stalls.
    e->key = MT_KEY(request);
    e->site = site;
    e->comm = comm;
    e->extra = NULL;
    e->peer = peer;
    e->slice = slice;
    e->number = number;
    e->call = (uint16_t)call;
    e->kind = MT_RECEIVE;
    e->active = e->counted = e->cancelled = e->failed = false;
    close_shard(shard);
    mt_posted_open();
}

// Operations that completed at once may share a handle. The handle then gets the number of
// the latest one, unless it is that of a request with more to record.
void mt_request_add_operation(mt_thread *t, MPI_Request request)
{
    mt_shard *shard;
    uint32_t number = mt_record.trace_how[t->open->call] != MT_TRACE_NOT ? mt_trace_request(t) : 0;
    if (!number || request == mt_const.request_null)
        return;
    mt_request *e = claim(&mt_objects.requests, MT_KEY(request), &shard);
    if (!e)
        return;
    if (!e->key || e->kind == MT_OPERATION)
        *e = (mt_request){.key = MT_KEY(request), .kind = MT_OPERATION, .number = number};
    close_shard(shard);
}

void mt_request_started(mt_span *s, MPI_Request request, bool alone)
{
    mt_request e;
    mt_thread *t = s->thread;
    if (!mt_table_take(&mt_objects.requests, MT_KEY(request), &e)) {
        if (alone && t)
            mt_book(s, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0);
        return;
    }
    book_unseen(&e, MT_DIR_FAILED); // the last receive failed: the MPI starts only inactive requests
    e.active = true;
    e.counted = e.cancelled = e.failed = false;
    e.site = e.kind == MT_PERSISTENT_COLL ? e.site : s->site;
    e.slice = s->slice;
    unsigned direction = e.kind == MT_PERSISTENT_SEND && e.peer >= 0 ? MT_DIR_SEND : MT_DIR_NONE;
    if (e.kind != MT_PERSISTENT_COLL)
        e.call = s->call;
    e.number = t ? mt_trace_request(t) : 0;
    if (t && alone) {
        t->open->count = (uint32_t)e.tag;
        uint64_t bytes = direction == MT_DIR_SEND ? e.bytes : 0;
        uint32_t comm = e.comm ? e.comm->index : MT_COMM_NONE;
        mt_book(s, mt_span_key(s, direction, comm, e.peer, bytes), bytes);
    } else if (t && direction == MT_DIR_SEND) {
        mt_key k = mt_span_key(s, MT_DIR_SEND_POSTED, e.comm->index, e.peer, e.bytes);
        mt_book_message(t, k, e.bytes, e.tag, e.number);
    }
    if (t && e.kind == MT_PERSISTENT_RECEIVE)
        book_posted(t, &e);
    if (t && e.kind == MT_PERSISTENT_COLL)
        MT_CALL_HOOK(volume_started, t, &e, s->slice);
    if (t)
        t->request_number = 0;
    mt_table_put(&mt_objects.requests, &e);
}
