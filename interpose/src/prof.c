#define _GNU_SOURCE
#include "prof.h"

#include "comm.h"
#include "thread.h"
#include "volume.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// As many columns as Open MPI prints; 64-bit sizes fill one less.
enum { MT_COLUMNS = 66 };

typedef struct mt_volume_sum {
    uint64_t bytes, count;
} mt_volume_sum;

typedef struct mt_external {
    mt_volume_sum sum;
    uint64_t histogram[MT_COLUMNS];
} mt_external;

typedef struct mt_blocks {
    mt_volume_sum o2a, a2o, a2a;
} mt_blocks;

// What the rows add up to: by world rank, and by communicator.
typedef struct mt_sums {
    mt_external **external; // [world size], NULL where nothing was sent
    mt_volume_sum *coll;    // [world size]
    mt_volume_sum *written; // [world size], one-sided
    mt_volume_sum *read;    // [world size]
    mt_blocks *blocks;      // [communicators]
} mt_sums;

static void add(mt_volume_sum *sum, uint64_t bytes, uint64_t count)
{
    sum->bytes += bytes;
    sum->count += count;
}

static void add_external(mt_sums *sums, const mt_comm *c, const mt_l_row *r)
{
    int to = mt_comm_world_rank(c, r->peer);
    if (to < 0 || to >= mt_world_size)
        return;
    if (!sums->external[to])
        sums->external[to] = calloc(1, sizeof **sums->external);
    if (!sums->external[to])
        return;
    add(&sums->external[to]->sum, r->bytes, r->count);
    sums->external[to]->histogram[r->size_class] += r->count;
}

static void add_coll(mt_sums *sums, const mt_comm *c, int peer, uint64_t bytes, uint64_t count)
{
    int to = mt_comm_world_rank(c, peer);
    if (to >= 0 && to < mt_world_size)
        add(&sums->coll[to], bytes, count);
}

// Spreads a row of a regular collective; how many messages one operation is.
static uint64_t spread(mt_sums *sums, const mt_comm *c, const mt_l_row *r, unsigned kind)
{
    bool inter = c->flags & MT_COMM_INTER;
    uint64_t n = 0;
    int first = kind == MT_TO_HIGHER ? c->rank + 1 : 0;
    switch (kind) {
    case MT_TO_PEER:
        add_coll(sums, c, r->peer, r->bytes, r->count);
        return 1;
    case MT_TO_OTHERS:
    case MT_TO_HIGHER:
        for (int i = first; i < c->peers; i++)
            if (inter || i != c->rank) {
                add_coll(sums, c, i, r->bytes, r->count);
                n++;
            }
        return n;
    case MT_TO_EDGES:
        for (int i = 0; i < c->edge_count; i++)
            if (c->edges[i] >= 0 && c->edges[i] != c->rank) {
                add_coll(sums, c, c->edges[i], r->bytes, r->count);
                n++;
            }
        return n;
    }
    return 1; // vectors are spread by themselves, and their rows hold totals
}

static uint64_t others(const mt_comm *c)
{
    return (uint64_t)(c->flags & MT_COMM_INTER ? c->peers : c->peers - 1);
}

static void add_row(mt_sums *sums, const mt_l_row *r)
{
    if (r->count == 0 || r->comm == MT_COMM_NONE || r->call >= MT_CALL_END)
        return;
    mt_call_info info = mt_call_infos[r->call];
    mt_comm *c = mt_comm_at((int)r->comm);
    mt_blocks *block = &sums->blocks[r->comm];
    bool sends = r->direction == MT_DIR_SEND || r->direction == MT_DIR_SEND_POSTED;
    if (info.class == MT_CLASS_ONE_SIDED) {
        int peer = mt_comm_world_rank(c, r->peer);
        if (peer >= 0 && peer < mt_world_size && r->direction != MT_DIR_NONE)
            add(r->direction == MT_DIR_WRITE ? &sums->written[peer] : &sums->read[peer], r->bytes, r->count);
    } else if (info.class == MT_CLASS_P2P && sends) {
        add_external(sums, c, r);
    } else if (info.class == MT_CLASS_A2O && !sends && r->direction != MT_DIR_NONE) {
        bool total = r->call == MT_CALL_GATHERV || r->call == MT_CALL_IGATHERV || r->call == MT_CALL_GATHERV_INIT;
        add(&block->a2o, r->bytes * (total ? 1 : others(c)), r->count);
    } else if (sends) {
        uint64_t messages = spread(sums, c, r, info.spread);
        if (info.class == MT_CLASS_O2A)
            add(&block->o2a, r->bytes * messages, r->count);
        else if (info.class == MT_CLASS_A2A)
            add(&block->a2a, r->bytes * messages, r->count);
    }
}

static void add_vector(void *into, const mt_l_vector *v)
{
    mt_sums *sums = into;
    mt_comm *c = mt_comm_at((int)v->comm);
    const uint64_t *bytes = (const uint64_t *)(v + 1);
    bool edges = mt_call_infos[v->call].spread == MT_TO_EDGE_VECTOR;
    if (v->length != (uint32_t)(edges ? c->edge_count : c->peers) || mt_volume_is_own_group(c, v->call))
        return; // who receives what is in the other group's recordings
    for (uint32_t i = 0; i < v->length; i++) {
        int peer = edges ? c->edges[i] : (int)i;
        if ((c->flags & MT_COMM_INTER) || peer != c->rank)
            add_coll(sums, c, peer, bytes[i], v->count);
    }
}

static void add_thread(void *into, mt_thread *t)
{
    for (uint64_t i = 0; i <= t->mask / sizeof(mt_row); i++)
        add_row(into, (const mt_l_row *)&t->rows[i]);
    mt_volume_each_vector(t, add_vector, into);
}

static void print_external(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# POINT TO POINT\n");
    for (int to = 0; to < mt_world_size; to++) {
        const mt_external *e = sums->external[to];
        if (!e)
            continue;
        fprintf(out, "E\t%d\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\t", mt_world_rank, to, e->sum.bytes,
                e->sum.count);
        for (int i = 0; i < MT_COLUMNS; i++)
            fprintf(out, "%" PRIu64 "%c", e->histogram[i], i + 1 < MT_COLUMNS ? ',' : '\n');
    }
}

static void print_pair(FILE *out, char kind, int to, const mt_volume_sum *sum)
{
    if (sum->count)
        fprintf(out, "%c\t%d\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\n", kind, mt_world_rank, to, sum->bytes,
                sum->count);
}

static void print_one_sided(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# OSC\n");
    for (int to = 0; to < mt_world_size; to++) {
        print_pair(out, 'S', to, &sums->written[to]);
        print_pair(out, 'R', to, &sums->read[to]);
    }
}

static void print_block(FILE *out, const char *class, const mt_volume_sum *sum)
{
    fprintf(out, "%s\t%d\t%" PRIu64 " bytes\t%" PRIu64 " msgs sent\n", class, mt_world_rank, sum->bytes, sum->count);
}

// A name is data: it must not break the line.
static void print_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc((unsigned char)*name < ' ' || *name == 127 ? '?' : *name, out);
}

static void print_collectives(FILE *out, const mt_sums *sums)
{
    fprintf(out, "# COLLECTIVES\n");
    for (int to = 0; to < mt_world_size; to++)
        print_pair(out, 'C', to, &sums->coll[to]);
    for (int i = 0; i < mt_comm_count(); i++) {
        const mt_comm *c = mt_comm_at(i);
        fprintf(out, "D\t");
        print_name(out, *c->name ? c->name : "(no-name)");
        fprintf(out, "\tprocs: ");
        for (int k = 0; k < c->size; k++)
            fprintf(out, "%s%d", k ? "," : "", c->members ? c->members[k] : c->base + k * c->stride);
        fprintf(out, "\n");
        print_block(out, "O2A", &sums->blocks[i].o2a);
        print_block(out, "A2O", &sums->blocks[i].a2o);
        print_block(out, "A2A", &sums->blocks[i].a2a);
    }
}

// Writes the whole file, or none; RLIMIT_FSIZE would kill us with SIGXFSZ.
static bool write_file(const char *path, const char *text, size_t size)
{
    struct rlimit limit;
    char part[4200];
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        return false;
    snprintf(part, sizeof part, "%s.part", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(fd, text + done, size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    bool whole = close(fd) == 0 && done == size && rename(part, path) == 0;
    if (!whole)
        unlink(part);
    return whole;
}

static bool print_all(const mt_sums *sums, const char *prefix)
{
    char path[4096], *text = NULL;
    size_t size = 0;
    int n = snprintf(path, sizeof path, "%s.%d.prof", prefix, mt_world_rank);
    FILE *out = n > 0 && n < (int)sizeof path ? open_memstream(&text, &size) : NULL;
    if (!out)
        return false;
    print_external(out, sums);
    print_one_sided(out, sums);
    print_collectives(out, sums);
    bool whole = fclose(out) == 0 && write_file(path, text, size);
    free(text);
    return whole;
}

void mt_prof_write(void)
{
    const char *prefix = getenv("MPITRACE_PROF");
    if (!prefix || !*prefix)
        return;
    mt_sums sums = {
        .external = calloc((size_t)mt_world_size, sizeof *sums.external),
        .coll = calloc((size_t)mt_world_size, sizeof *sums.coll),
        .written = calloc((size_t)mt_world_size, sizeof *sums.written),
        .read = calloc((size_t)mt_world_size, sizeof *sums.read),
        .blocks = calloc((size_t)mt_comm_count() + 1, sizeof *sums.blocks),
    };
    bool written = false;
    if (sums.external && sums.coll && sums.written && sums.read && sums.blocks) {
        mt_thread_each(add_thread, &sums);
        written = print_all(&sums, prefix);
    }
    if (!written)
        mt_say("cannot write %s.%d.prof", prefix, mt_world_rank);
    for (int i = 0; sums.external && i < mt_world_size; i++)
        free(sums.external[i]);
    free(sums.external);
    free(sums.coll);
    free(sums.written);
    free(sums.read);
    free(sums.blocks);
}
