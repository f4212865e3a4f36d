#include "mpit/sums.h"

#include "record/thread.h"
#include "calls/volume.h"

#include <stdlib.h>
#include <string.h>

// What this process sent in collectives of one communicator: to all other members, to
// all members of higher rank, and along the edges of the topology. These sums are
// distributed over the peers only at the end (`distribute`), so that a row costs one
// addition on any number of processes.
typedef struct mt_collective_sums {
    mt_volume_sum others, higher, edges;
} mt_collective_sums;

typedef struct sums_builder {
    mt_sums *sums;
    mt_collective_sums *collectives; // [comm_count], or NULL if sums of collectives are not wanted
    unsigned classes; // classes of calls whose rows are needed, one bit each
    bool failed;   // no memory
    bool again;    // a thread's table was replaced while it was read: start again
} sums_builder;

static void add(mt_volume_sum *sum, uint64_t bytes, uint64_t count)
{
    sum->bytes += bytes;
    sum->count += count;
}

static void add_peer(mt_volume_sum *list, int world, int rank, uint64_t bytes, uint64_t count)
{
    if (list && rank >= 0 && rank < world)
        add(&list[rank], bytes, count);
}

static void add_size(sums_builder *a, int to, const mt_l_row *r)
{
    uint64_t **sizes = a->sums->sizes;
    if (!sizes || to < 0 || to >= a->sums->world)
        return;
    if (!sizes[to])
        sizes[to] = calloc(MT_COLUMNS, sizeof **sizes);
    if (sizes[to])
        sizes[to][r->size_class] += r->count;
    else
        a->failed = true;
}

static bool is_inter(const mt_comm *c)
{
    return c->flags & MT_COMM_INTER;
}

static bool is_edge(const mt_comm *c, int i)
{
    return c->edges[i] >= 0 && c->edges[i] != c->rank;
}

static uint64_t others(const mt_comm *c)
{
    return (uint64_t)(is_inter(c) ? c->peers : c->peers - 1);
}

// Returns how many messages this process sends in one operation of a collective.
static uint64_t messages_of(const mt_comm *c, unsigned distribute)
{
    uint64_t n = 0;
    switch (distribute) {
    case MT_TO_OTHERS:
        return others(c);
    case MT_TO_HIGHER:
        return (uint64_t)(c->peers - c->rank - 1);
    case MT_TO_EDGES:
        for (int i = 0; i < c->edge_count; i++)
            n += is_edge(c, i);
        return n;
    }
    return 1; // rows of vectors hold totals
}

static void add_collective_sums(sums_builder *a, const mt_comm *c, const mt_l_row *r, unsigned distribute)
{
    if (!a->collectives)
        return;
    mt_collective_sums *collectives = &a->collectives[r->comm];
    if (distribute == MT_TO_PEER)
        add_peer(a->sums->collective, a->sums->world, mt_comm_world_rank(c, r->peer), r->bytes, r->count);
    else if (distribute == MT_TO_OTHERS)
        add(&collectives->others, r->bytes, r->count);
    else if (distribute == MT_TO_HIGHER)
        add(&collectives->higher, r->bytes, r->count);
    else if (distribute == MT_TO_EDGES)
        add(&collectives->edges, r->bytes, r->count);
}

static void add_collective(sums_builder *a, const mt_comm *c, const mt_l_row *r, mt_call_info info, bool sends)
{
    mt_sums *sums = a->sums;
    mt_block unwanted, *block = sums->blocks ? &sums->blocks[r->comm] : &unwanted;
    if (sends) {
        uint64_t bytes = r->bytes * messages_of(c, info.spread);
        add_collective_sums(a, c, r, info.spread);
        sums->bytes[info.class] += bytes;
        if (info.class != MT_CLASS_A2O)
            add(info.class == MT_CLASS_O2A ? &block->o2a : &block->a2a, bytes, r->count);
    } else if (info.class == MT_CLASS_A2O && r->direction != MT_DIR_NONE) {
        add(&block->a2o, r->bytes * (mt_call_irregular(r->call) ? 1 : others(c)), r->count);
    }
}

// Reports whether rows of this direction count calls. Rows of other directions count
// what calls did besides.
static bool is_call(unsigned direction)
{
    return direction == MT_DIR_NONE || direction == MT_DIR_SEND || direction == MT_DIR_RECV ||
           direction == MT_DIR_READ || direction == MT_DIR_WRITE;
}

// Reports whether the call initializes or finalizes MPI. The time of such calls is
// not part of the time in MPI.
static bool opens_or_closes(unsigned call)
{
    return mt_call_initializes(call) || mt_call_finalizes(call);
}

static void add_row(sums_builder *a, const mt_l_row *r)
{
    mt_sums *sums = a->sums;
    if (is_call(r->direction)) {
        sums->calls += r->count;
        sums->ticks += opens_or_closes(r->call) ? 0 : r->time;
    }
    mt_call_info info = mt_call_infos[r->call];
    if (info.class == MT_CLASS_IO)
        sums->bytes[info.class] += r->bytes;
    if (r->comm >= (uint32_t)sums->comm_count)
        return;
    const mt_comm *c = sums->comms[r->comm];
    bool sends = r->direction == MT_DIR_SEND || r->direction == MT_DIR_SEND_POSTED;
    if (info.class == MT_CLASS_ONE_SIDED) {
        bool writes = r->direction == MT_DIR_WRITE;
        if (!writes && r->direction != MT_DIR_READ && r->direction != MT_DIR_READ_POSTED)
            return;
        sums->bytes[info.class] += r->bytes;
        add_peer(writes ? sums->written : sums->read, sums->world, mt_comm_world_rank(c, r->peer), r->bytes, r->count);
    } else if (info.class == MT_CLASS_P2P && sends) {
        int to = mt_comm_world_rank(c, r->peer);
        sums->bytes[info.class] += r->bytes;
        add_peer(sums->sent, sums->world, to, r->bytes, r->count);
        add_size(a, to, r);
    } else if (info.class == MT_CLASS_O2A || info.class == MT_CLASS_A2O || info.class == MT_CLASS_A2A) {
        add_collective(a, c, r, info, sends);
    }
}

// Returns the classes of calls whose rows are needed for these sums.
static unsigned classes_of(unsigned wanted)
{
    unsigned classes = wanted & MT_SUM_TOTALS ? ~0u : 0;
    if (wanted & (MT_SUM_SENT | MT_SUM_SIZES))
        classes |= 1u << MT_CLASS_P2P;
    if (wanted & (MT_SUM_COLLECTIVE | MT_SUM_BLOCKS))
        classes |= 1u << MT_CLASS_O2A | 1u << MT_CLASS_A2O | 1u << MT_CLASS_A2A;
    if (wanted & (MT_SUM_WRITTEN | MT_SUM_READ))
        classes |= 1u << MT_CLASS_ONE_SIDED;
    return classes;
}

// Copies a row, if its class is needed, while its owner may be updating it. The owner
// stores a row's key before `what`, and its bytes before its count. So the bytes include
// those of all calls that the count includes.
static bool read_row(mt_row *row, unsigned classes, mt_l_row *r)
{
    mt_row now = {.what = __atomic_load_n(&row->what, __ATOMIC_ACQUIRE)};
    unsigned call = (uint16_t)(now.what >> 32);
    if (call == 0 || call >= MT_CALL_END || !(classes >> mt_call_infos[call].class & 1))
        return false;
    now.count = __atomic_load_n(&row->count, __ATOMIC_ACQUIRE);
    // With acquire, so that add_thread loads t->rows again only after these words.
    now.place = __atomic_load_n(&row->place, __ATOMIC_ACQUIRE);
    now.bytes = __atomic_load_n(&row->bytes, __ATOMIC_ACQUIRE);
    now.time = __atomic_load_n(&row->time, __ATOMIC_ACQUIRE);
    memcpy(r, &now, sizeof *r);
    return r->count > 0;
}

static void add_vector(void *into, const mt_l_vector *v)
{
    sums_builder *a = into;
    if (v->comm >= (uint32_t)a->sums->comm_count)
        return;
    const mt_comm *c = a->sums->comms[v->comm];
    uint64_t *bytes = (uint64_t *)(v + 1), count = __atomic_load_n(&v->count, __ATOMIC_ACQUIRE);
    bool edges = mt_call_infos[v->call].spread == MT_TO_EDGE_VECTOR;
    if (v->length != (uint32_t)(edges ? c->edge_count : c->peers) || mt_volume_is_own_group(c, v->call))
        return; // the other group's recordings have who receives what
    for (uint32_t i = 0; i < v->length; i++) {
        int peer = edges ? c->edges[i] : (int)i;
        if (is_inter(c) || peer != c->rank)
            add_peer(a->sums->collective, a->sums->world, mt_comm_world_rank(c, peer), mt_read(&bytes[i]), count);
    }
}

// Adds all rows of a thread. When a thread's table is full, its rows move to a larger
// table, and the old table may soon be another thread's; then the result is
// discarded.
static void add_thread(void *into, mt_thread *t)
{
    sums_builder *a = into;
    if (a->again)
        return;
    mt_row *rows = __atomic_load_n(&t->rows, __ATOMIC_ACQUIRE);
    uint64_t n = ((mt_l_segment *)rows - 1)->rows;
    for (uint64_t i = 0; i < n; i++) {
        mt_l_row r;
        if (read_row(&rows[i], a->classes, &r))
            add_row(a, &r);
    }
    a->again = __atomic_load_n(&t->rows, __ATOMIC_ACQUIRE) != rows;
    if (a->collectives)
        mt_volume_each_vector(t, add_vector, a);
}

static void distribute(mt_sums *sums, const mt_comm *c, const mt_collective_sums *collectives)
{
    for (int i = 0; collectives->others.count && i < c->peers; i++)
        if (is_inter(c) || i != c->rank)
            add_peer(sums->collective, sums->world, mt_comm_world_rank(c, i), collectives->others.bytes,
                     collectives->others.count);
    for (int i = c->rank + 1; collectives->higher.count && i < c->peers; i++)
        add_peer(sums->collective, sums->world, mt_comm_world_rank(c, i), collectives->higher.bytes,
                 collectives->higher.count);
    for (int i = 0; collectives->edges.count && i < c->edge_count; i++)
        if (is_edge(c, i))
            add_peer(sums->collective, sums->world, mt_comm_world_rank(c, c->edges[i]), collectives->edges.bytes,
                     collectives->edges.count);
}

static void *zeros(bool wanted, int n, size_t size, bool *failed)
{
    void *list = wanted ? calloc((size_t)n + 1, size) : NULL;
    *failed |= wanted && !list;
    return list;
}

static bool compute(mt_sums *sums, unsigned wanted, bool *again)
{
    sums_builder a = {.sums = sums, .classes = classes_of(wanted)};
    memset(sums, 0, sizeof *sums);
    sums->world = mt_process.world_size > 0 ? mt_process.world_size : 0;
    sums->comms = mt_comm_all(&sums->comm_count);
    a.failed = !sums->comms;
    sums->sent = zeros(wanted & MT_SUM_SENT, sums->world, sizeof *sums->sent, &a.failed);
    sums->sizes = zeros(wanted & MT_SUM_SIZES, sums->world, sizeof *sums->sizes, &a.failed);
    sums->collective = zeros(wanted & MT_SUM_COLLECTIVE, sums->world, sizeof *sums->collective, &a.failed);
    sums->written = zeros(wanted & MT_SUM_WRITTEN, sums->world, sizeof *sums->written, &a.failed);
    sums->read = zeros(wanted & MT_SUM_READ, sums->world, sizeof *sums->read, &a.failed);
    sums->blocks = zeros(wanted & MT_SUM_BLOCKS, sums->comm_count, sizeof *sums->blocks, &a.failed);
    a.collectives = zeros(wanted & MT_SUM_COLLECTIVE, sums->comm_count, sizeof *a.collectives, &a.failed);
    if (!a.failed)
        mt_thread_each(add_thread, &a);
    for (int i = 0; a.collectives && i < sums->comm_count; i++)
        distribute(sums, sums->comms[i], &a.collectives[i]);
    free(a.collectives);
    *again = a.again;
    if (a.failed || a.again)
        mt_sums_free(sums);
    return !a.failed;
}

// Starts again if a thread's table was replaced meanwhile. This ends, because a table
// doubles at most twenty times.
bool mt_sums_compute(mt_sums *sums, unsigned wanted)
{
    bool again = true;
    while (again)
        if (!compute(sums, wanted, &again))
            return false;
    return true;
}

void mt_sums_free(mt_sums *sums)
{
    for (int i = 0; sums->sizes && i < sums->world; i++)
        free(sums->sizes[i]);
    free(sums->sizes);
    free(sums->sent);
    free(sums->collective);
    free(sums->written);
    free(sums->read);
    free(sums->blocks);
    free(sums->comms);
    memset(sums, 0, sizeof *sums);
}

static void subtract(mt_volume_sum *from, const mt_volume_sum *what, int n)
{
    for (int i = 0; from && what && i < n; i++) {
        from[i].bytes -= what[i].bytes;
        from[i].count -= what[i].count;
    }
}

void mt_sums_subtract(mt_sums *sums, const mt_sums *before)
{
    const int volumes = sizeof(mt_block) / sizeof(mt_volume_sum);
    subtract(sums->sent, before->sent, before->world);
    subtract(sums->collective, before->collective, before->world);
    subtract(sums->written, before->written, before->world);
    subtract(sums->read, before->read, before->world);
    subtract((mt_volume_sum *)sums->blocks, (mt_volume_sum *)before->blocks, before->comm_count * volumes);
    for (int i = 0; sums->sizes && before->sizes && i < before->world; i++)
        for (int k = 0; before->sizes[i] && k < MT_COLUMNS; k++)
            sums->sizes[i][k] -= before->sizes[i][k];
}
