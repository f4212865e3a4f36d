#include "objects/group.h"

#include "base/resolve.h"
#include "objects/world.h"

#include <stdlib.h>
#include <string.h>

// The world ranks of a group while they are translated: base + i*stride, or a list from the
// first rank on for which this does not hold.
typedef struct members {
    int n, base, stride;
    int32_t *list;
} members;

static bool start_list(members *m, int known)
{
    m->list = malloc((size_t)m->n * sizeof *m->list);
    for (int i = 0; m->list && i < known; i++)
        m->list[i] = m->base + i * m->stride;
    return m->list != NULL;
}

// Adds the world ranks of the members from `first` on.
static bool add_ranks(void *argument, int first, int n, const int world_ranks[])
{
    members *m = argument;
    for (int k = 0; k < n; k++) {
        int i = first + k, rank = world_ranks[k];
        if (rank == MPI_UNDEFINED) // a process of another world
            rank = MT_PEER_ELSEWHERE;
        if (i == 0)
            m->base = rank;
        else if (i == 1)
            m->stride = rank - m->base;
        if (!m->list && (rank < 0 || rank != m->base + i * m->stride) && !start_list(m, i))
            return false;
        if (m->list)
            m->list[i] = rank;
    }
    return true;
}

// Translates the ranks of a group to world ranks. Sets the list of n world ranks, or NULL
// if rank i is base + i*stride.
static bool translate(MPI_Group group, int n, int32_t **list, int *base, int *stride)
{
    members m = {.n = n, .stride = 1};
    bool ok = mt_world_translate(group, n, add_ranks, &m);
    if (!ok) {
        free(m.list);
        m.list = NULL;
    }
    *list = m.list;
    *base = m.base;
    *stride = m.stride;
    return ok;
}

static int32_t *copy_list(const int32_t *list, int n)
{
    int32_t *copy = malloc((size_t)n * sizeof *copy);
    if (copy)
        memcpy(copy, list, (size_t)n * sizeof *copy);
    return copy;
}

static bool describe_remote(mt_comm *c, MPI_Comm comm)
{
    MPI_Group group;
    int base = 0, stride = 1;
    if (mt_mpi.Comm_remote_size(comm, &c->peers) != MPI_SUCCESS ||
        mt_mpi.Comm_remote_group(comm, &group) != MPI_SUCCESS)
        return false;
    bool ok = translate(group, c->peers, &c->remote, &base, &stride);
    mt_mpi.Group_free(&group);
    if (ok && !c->remote) { // always a list: base and stride are those of the local group
        c->remote = malloc((size_t)c->peers * sizeof *c->remote);
        for (int i = 0; c->remote && i < c->peers; i++)
            c->remote[i] = base + i * stride;
    }
    return ok && c->remote;
}

bool mt_group_describe_group(mt_comm *c, MPI_Group group)
{
    if (mt_mpi.Group_size(group, &c->size) != MPI_SUCCESS || mt_mpi.Group_rank(group, &c->rank) != MPI_SUCCESS)
        return false;
    c->peers = c->size;
    return translate(group, c->size, &c->members, &c->base, &c->stride);
}

bool mt_group_describe(mt_comm *c, MPI_Comm comm, const mt_comm *same_as)
{
    MPI_Group group;
    int inter = 0;
    if (mt_mpi.Comm_size(comm, &c->size) != MPI_SUCCESS || mt_mpi.Comm_rank(comm, &c->rank) != MPI_SUCCESS ||
        mt_mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS)
        return false;
    c->peers = c->size;
    if (same_as && !inter && same_as->index != MT_COMM_NONE) {
        c->base = same_as->base;
        c->stride = same_as->stride;
        c->members = same_as->members ? copy_list(same_as->members, c->size) : NULL;
        return !same_as->members == !c->members;
    }
    if (mt_mpi.Comm_group(comm, &group) != MPI_SUCCESS)
        return false;
    bool ok = translate(group, c->size, &c->members, &c->base, &c->stride);
    mt_mpi.Group_free(&group);
    if (ok && inter) {
        c->flags |= MT_COMM_INTER;
        ok = describe_remote(c, comm);
    }
    if (!ok)
        free(c->members);
    return ok;
}

// Mixes a word into both halves of a hash, with a step like that of splitmix64.
static void mix(uint64_t h[2], uint64_t word)
{
    for (int lane = 0; lane < 2; lane++) {
        uint64_t x = h[lane] ^ (word + 0x9e3779b97f4a7c15u * (uint64_t)(lane + 1));
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        h[lane] = x ^ x >> 31;
    }
}

static void mix_group(uint64_t h[2], const int32_t *list, int n, int base, int stride)
{
    mix(h, (uint64_t)n);
    for (int i = 0; i < n; i++)
        mix(h, (uint64_t)(uint32_t)(list ? list[i] : base + i * stride));
}

void mt_group_id(uint64_t id[2], const mt_comm *c, const uint64_t parent[2], uint64_t number, uint64_t tag)
{
    uint64_t h[2] = {parent[0], parent[1]};
    mix(h, number);
    mix(h, tag);
    int first = c->members ? c->members[0] : c->base;
    // The group with the lower first rank goes first, so that both sides agree.
    bool remote_first = c->remote && c->peers > 0 && c->remote[0] < first;
    if (remote_first)
        mix_group(h, c->remote, c->peers, 0, 0);
    mix_group(h, c->members, c->size, c->base, c->stride);
    if (c->remote && !remote_first)
        mix_group(h, c->remote, c->peers, 0, 0);
    id[0] = h[0];
    id[1] = h[1];
}

static int known_edges(int n, int *edges)
{
    for (int i = 0; i < n; i++)
        if (edges[i] == MPI_PROC_NULL)
            edges[i] = MT_PEER_PROC_NULL;
    return n;
}

// Lists for each dimension the neighbour below, then the one above.
static int cart_edges(MPI_Comm comm, int **edges)
{
    int dims = 0;
    if (mt_mpi.Cartdim_get(comm, &dims) != MPI_SUCCESS || dims <= 0)
        return 0;
    *edges = malloc((size_t)dims * 2 * sizeof **edges);
    if (!*edges)
        return -1;
    for (int d = 0; d < dims; d++)
        if (mt_mpi.Cart_shift(comm, d, 1, &(*edges)[2 * d], &(*edges)[2 * d + 1]) != MPI_SUCCESS)
            return -1;
    return known_edges(dims * 2, *edges);
}

static int graph_edges(MPI_Comm comm, int **edges)
{
    int rank, n = 0;
    if (mt_mpi.Comm_rank(comm, &rank) != MPI_SUCCESS ||
        mt_mpi.Graph_neighbors_count(comm, rank, &n) != MPI_SUCCESS || n <= 0)
        return 0;
    *edges = malloc((size_t)n * sizeof **edges);
    if (!*edges || mt_mpi.Graph_neighbors(comm, rank, n, *edges) != MPI_SUCCESS)
        return -1;
    return known_edges(n, *edges);
}

static int dist_graph_edges(MPI_Comm comm, int **edges)
{
    int in = 0, out = 0, weighted = 0;
    if (mt_mpi.Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS || out <= 0)
        return 0;
    // The weights are requested although they are not used: MPI_UNWEIGHTED is a variable of
    // the MPI library in some versions, and this library does not link to it.
    int *all = malloc((size_t)(in + out) * 2 * sizeof *all + sizeof *all);
    if (!all)
        return -1;
    int *sources = all, *weights_in = all + in, *weights_out = all + 2 * in, *targets = weights_out + out;
    if (mt_mpi.Dist_graph_neighbors(comm, in, sources, weights_in, out, targets, weights_out) == MPI_SUCCESS)
        *edges = malloc((size_t)out * sizeof **edges);
    if (*edges)
        memcpy(*edges, targets, (size_t)out * sizeof **edges);
    free(all);
    return *edges ? known_edges(out, *edges) : -1;
}

int mt_group_edges(MPI_Comm comm, int **edges)
{
    int kind = MPI_UNDEFINED;
    if (mt_mpi.Topo_test(comm, &kind) != MPI_SUCCESS)
        return 0;
    switch (kind) {
    case MPI_CART:
        return cart_edges(comm, edges);
    case MPI_GRAPH:
        return graph_edges(comm, edges);
    case MPI_DIST_GRAPH:
        return dist_graph_edges(comm, edges);
    }
    return 0;
}
