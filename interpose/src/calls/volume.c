#include "calls/volume.h"

#include "base/resolve.h"
#include "file/recording.h"
#include "record/trace.h"
#include "objects/types.h"

#include <stdlib.h>
#include <string.h>

// A volume whose sizes have been computed.
typedef struct mt_volume_fixed {
    mt_comm *comm;
    unsigned direction;
    int32_t peer;
    uint64_t bytes;   // of one message; of a vector and at the root of Gatherv, in total
    uint64_t message; // size of one message; of a vector, the mean
    uint64_t length;  // number of sizes; 0 unless a vector
    uint64_t sizes[]; // bytes to each member, or along each edge
} mt_volume_fixed;

// The vectors of one thread, each in the recording. There are few, so they are in short
// chains by key.
typedef struct mt_vectors {
    struct mt_vectors *next;
    mt_l_vector *record;
} mt_vectors;

static int64_t count_at(mt_counts counts, uint64_t i)
{
    return counts.wide ? (int64_t)((const MPI_Count *)counts.at)[i] : ((const int *)counts.at)[i];
}

// Returns the bytes to member (or along edge) i.
static uint64_t vector_bytes(mt_thread *t, const mt_volume *v, uint64_t i)
{
    return mt_data_bytes(t, count_at(v->counts, i), v->types ? v->types[i] : v->type);
}

bool mt_volume_is_own_group(const mt_comm *c, unsigned call)
{
    return (c->flags & MT_COMM_INTER) && mt_call_reduce_scatter(call) && mt_call_irregular(call);
}

static uint64_t vector_length(const mt_volume *v, const mt_comm *c, unsigned call)
{
    if (v->shape == MT_SHAPE_EDGES)
        return (uint64_t)c->edge_count;
    return (uint64_t)(mt_volume_is_own_group(c, call) ? c->size : c->peers);
}

// Reports whether what goes to member or edge i leaves this process.
static bool is_sent(const mt_volume *v, const mt_comm *c, uint64_t i)
{
    if (v->shape == MT_SHAPE_EDGES)
        return c->edges[i] >= 0 && c->edges[i] != c->rank;
    return (c->flags & MT_COMM_INTER) || i != (uint64_t)c->rank;
}

static mt_l_vector *new_vector(mt_thread *t, mt_key k, uint64_t length)
{
    mt_l_vector *r = mt_recording_begin(sizeof *r + length * sizeof(uint64_t));
    if (!r)
        return NULL;
    r->callsite = k.site;
    r->comm = (uint32_t)k.place;
    r->slice = (uint32_t)k.what;
    r->call = (uint16_t)(k.what >> 32);
    r->direction = (uint8_t)(k.what >> 48);
    r->thread = t->index;
    r->length = (uint32_t)length;
    mt_recording_commit(r, MT_RECORD_VECTOR);
    return r;
}

static mt_l_vector *vector_of(mt_thread *t, mt_key k, uint64_t length)
{
    k.what &= 0x00ffffffffffffffu; // the size class is not part of a vector's key
    mt_vectors **chain = &t->vectors[mt_hash(k) % MT_VECTOR_CHAINS];
    for (mt_vectors *v = *chain; v; v = v->next) {
        mt_l_vector *r = v->record;
        if (r->callsite == k.site && r->comm == (uint32_t)k.place && r->slice == (uint32_t)k.what &&
            r->call == (uint16_t)(k.what >> 32) && r->length == length)
            return r;
    }
    mt_vectors *v = malloc(sizeof *v);
    mt_l_vector *r = v ? new_vector(t, k, length) : NULL;
    if (!r) {
        free(v);
        return NULL;
    }
    *v = (mt_vectors){*chain, r};
    __atomic_store_n(chain, v, __ATOMIC_RELEASE); // other threads may be reading
    return r;
}

static void add_to_vector(mt_thread *t, mt_key k, const mt_volume_fixed *f)
{
    mt_l_vector *r = vector_of(t, k, f->length);
    if (!r) {
        mt_count_lost(&mt_process.header->folded_calls, 1); // its row has the total; the sizes are lost
        return;
    }
    uint64_t *bytes = (uint64_t *)(r + 1);
    for (uint64_t i = 0; i < f->length; i++)
        mt_write(&bytes[i], mt_read(&bytes[i]) + f->sizes[i]);
    __atomic_store_n(&r->count, r->count + 1, __ATOMIC_RELEASE);
}

// Computes the sizes of a vector from its counts. `f` has room for them.
static void fix_vector(mt_thread *t, const mt_volume *v, mt_volume_fixed *f)
{
    uint64_t messages = 0;
    for (uint64_t i = 0; i < f->length; i++) {
        f->sizes[i] = vector_bytes(t, v, i);
        if (is_sent(v, f->comm, i)) {
            f->bytes += f->sizes[i];
            messages++;
        }
    }
    f->message = messages ? f->bytes / messages : 0;
}

// Computes what the root of Gather, Gatherv and Reduce receives.
static void fix_root_receives(mt_thread *t, const mt_volume *v, mt_volume_fixed *f)
{
    f->direction = MT_DIR_RECV;
    if (!v->counts.at) {
        f->bytes = f->message = mt_data_bytes(t, v->received, v->received_type);
        return;
    }
    uint64_t elements = 0, others = 0;
    for (int i = 0; i < f->comm->peers; i++)
        if ((f->comm->flags & MT_COMM_INTER) || i != f->comm->rank) {
            int64_t n = count_at(v->counts, (uint64_t)i);
            elements += n > 0 ? (uint64_t)n : 0;
            others++;
        }
    f->bytes = mt_data_bytes(t, (int64_t)elements, v->received_type);
    f->message = others ? f->bytes / others : 0;
}

static void fix_plain(mt_thread *t, const mt_volume *v, mt_volume_fixed *f, unsigned call)
{
    int64_t count = v->shape == MT_SHAPE_BLOCK ? count_at(v->counts, (uint64_t)f->comm->rank) : v->count;
    f->bytes = mt_data_bytes(t, count, v->type);
    bool inter = (f->comm->flags & MT_COMM_INTER) && f->comm->peers > 0;
    if (inter && mt_call_reduce_scatter(call) && !mt_call_irregular(call))
        f->bytes = f->bytes * (uint64_t)f->comm->size / (uint64_t)f->comm->peers;
    f->message = f->bytes;
}

// Sets the direction and the peer in a rooted collective. Returns whether this process is
// the root.
static bool fix_root(const mt_volume *v, mt_volume_fixed *f)
{
    bool inter = f->comm->flags & MT_COMM_INTER;
    bool root = inter ? v->root == MPI_ROOT : v->root == f->comm->rank;
    f->peer = mt_root_peer(v->root);
    bool sends = v->shape == MT_SHAPE_FROM_ROOT ? root : !root && v->root != MPI_PROC_NULL;
    f->direction = sends ? MT_DIR_SEND : MT_DIR_NONE;
    return root;
}

static void fix(mt_thread *t, const mt_volume *v, mt_volume_fixed *f, unsigned call)
{
    f->direction = MT_DIR_SEND;
    f->peer = MT_PEER_NONE;
    bool rooted = v->shape == MT_SHAPE_FROM_ROOT || v->shape == MT_SHAPE_TO_ROOT;
    bool root = rooted && fix_root(v, f);
    // Arguments that are significant at the root only are not read elsewhere.
    if (v->shape == MT_SHAPE_TO_ROOT && root)
        fix_root_receives(t, v, f);
    else if (f->direction == MT_DIR_NONE)
        f->length = 0;
    else if (v->vector)
        fix_vector(t, v, f);
    else
        fix_plain(t, v, f, call);
}

// Returns the computed volume: in the caller's buffer, or malloc'ed if it is too large for
// that. The caller frees it in the second case. NULL if the communicator is not known, or
// without memory.
static mt_volume_fixed *fixed(mt_thread *t, MPI_Comm comm, const mt_volume *v, unsigned call, void *buffer, size_t size)
{
    mt_comm *c = t ? mt_comm_of(t, comm) : NULL;
    if (!c || c->index == MT_COMM_NONE)
        return NULL;
    uint64_t length = v->vector ? vector_length(v, c, call) : 0;
    size_t need = sizeof(mt_volume_fixed) + length * sizeof(uint64_t);
    mt_volume_fixed *f = need <= size ? buffer : malloc(need);
    if (!f)
        return NULL;
    *f = (mt_volume_fixed){.comm = c, .length = length};
    fix(t, v, f, call);
    return f;
}

void mt_volume_book(mt_span *s, MPI_Comm comm, const mt_volume *v)
{
    uint64_t buffer[64];
    mt_thread *t = s->thread;
    mt_comm *c = mt_comm_of(t, comm);
    if (mt_likely(v->shape == MT_SHAPE_ALL && !v->vector && !(c->flags & MT_COMM_INTER))) {
        uint64_t bytes = mt_data_bytes(t, v->count, v->type);
        mt_book(s, mt_span_key(s, MT_DIR_SEND, c->index, MT_PEER_NONE, bytes), bytes);
        return;
    }
    mt_volume_fixed *f = fixed(t, comm, v, s->call, buffer, sizeof buffer);
    if (!f) {
        mt_count_lost(&mt_process.header->folded_calls, 1);
        mt_book(s, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0);
        return;
    }
    mt_key k = mt_span_key(s, f->direction, f->comm->index, f->peer, f->message);
    mt_book(s, k, f->bytes);
    if (f->length)
        add_to_vector(t, k, f);
    if ((void *)f != (void *)buffer)
        free(f);
}

void mt_volume_persistent(const mt_span *s, MPI_Comm comm, const mt_volume *v, MPI_Request request)
{
    mt_thread *t = mt_self;
    mt_volume_fixed *f = fixed(t, comm, v, s->call, NULL, 0);
    if (!f) {
        mt_count_lost(&mt_process.header->lost_requests, 1);
        return;
    }
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = f->comm, .extra = f, .peer = f->peer,
                    .call = s->call, .kind = MT_PERSISTENT_COLL, .tag = MT_EVENT_NO_TAG};
    mt_table_put(&mt_objects.requests, &e);
}

static void book_started(mt_thread *t, const mt_request *e, uint32_t slice)
{
    const mt_volume_fixed *f = e->extra;
    unsigned direction = f->direction == MT_DIR_SEND   ? MT_DIR_SEND_POSTED
                         : f->direction == MT_DIR_RECV ? MT_DIR_RECV_POSTED
                                                       : MT_DIR_NONE;
    if (direction == MT_DIR_NONE) { // the start was counted, and this process has no message
        if (mt_traced()) // but a trace has to show which collective was started
            mt_book_message(t, mt_key_of(e->site, slice, e->call, MT_DIR_POSTED, f->comm->index, f->peer, 0), 0,
                            MT_EVENT_NO_TAG, e->number);
        return;
    }
    mt_key k = mt_key_of(e->site, slice, e->call, direction, f->comm->index, f->peer, mt_size_class(f->message));
    mt_book_message(t, k, f->bytes, MT_EVENT_NO_TAG, e->number);
    if (f->length)
        add_to_vector(t, k, f);
}

MT_REGISTER(volume_started, book_started);

static void move_sites_of(void *argument, mt_thread *t)
{
    const mt_move *move = argument;
    for (int i = 0; i < MT_VECTOR_CHAINS; i++)
        for (const mt_vectors *v = __atomic_load_n(&t->vectors[i], __ATOMIC_ACQUIRE); v; v = v->next)
            mt_move_site(move, &v->record->callsite);
}

// Moves the call sites of all vectors: see modules.h.
static void move_sites(const mt_move *move)
{
    mt_thread_each(move_sites_of, (void *)(uintptr_t)move);
}

MT_REGISTER(sites_move, move_sites);

void mt_volume_each_vector(const mt_thread *t, void (*visit)(void *, const mt_l_vector *), void *argument)
{
    for (int i = 0; i < MT_VECTOR_CHAINS; i++)
        for (const mt_vectors *v = __atomic_load_n(&t->vectors[i], __ATOMIC_ACQUIRE); v; v = v->next)
            visit(argument, v->record);
}
