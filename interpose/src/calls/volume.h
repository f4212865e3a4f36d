// What a collective moves, according to its arguments. Nothing is looked up until the call
// has succeeded. Computing a volume costs the same on any number of processes, except for
// the v and w forms, whose counts have to be read.
#ifndef MT_VOLUME_H
#define MT_VOLUME_H

#include "base/resolve.h"
#include "record/record.h"
#include "objects/comm.h"
#include "objects/request.h"

// An array of counts: int, or MPI_Count in the large-count functions.
typedef struct mt_counts {
    const void *at;
    bool wide;
} mt_counts;

#define MT_COUNTS(p) ((mt_counts){(p), sizeof *(p) == sizeof(MPI_Count)})

typedef enum mt_shape {
    MT_SHAPE_ALL,      // each member sends count x type to each other member
    MT_SHAPE_FROM_ROOT,
    MT_SHAPE_TO_ROOT,
    MT_SHAPE_EDGES,    // along each edge of the topology
    MT_SHAPE_BLOCK,    // Allgatherv with MPI_IN_PLACE: this process's element of the counts
} mt_shape;

typedef struct mt_volume {
    mt_shape shape;
    bool vector;               // counts differ by member (or edge)
    int root;                  // of rooted collectives
    int64_t count;             // unless vector
    MPI_Datatype type;
    mt_counts counts;          // of vectors, of MT_SHAPE_BLOCK, and of what the root of Gatherv receives
    const MPI_Datatype *types; // of the w forms
    int64_t received;          // what the root of Gather and Reduce receives from each, if counts.at is NULL
    MPI_Datatype received_type;
} mt_volume;

// Each of these sets only the fields that its shape reads, so that a wrapper does not pay
// for clearing the others.
MT_INLINE mt_volume mt_volume_of(mt_shape shape, int64_t count, MPI_Datatype type)
{
    mt_volume v;
    v.shape = shape;
    v.vector = false;
    v.count = count;
    v.type = type;
    return v;
}

MT_INLINE mt_volume mt_volume_vector(mt_shape shape, mt_counts counts, MPI_Datatype type, const MPI_Datatype *types)
{
    mt_volume v;
    v.shape = shape;
    v.vector = true;
    v.counts = counts;
    v.type = type;
    v.types = types;
    return v;
}

MT_INLINE mt_volume mt_barrier(void)
{
    return mt_volume_of(MT_SHAPE_ALL, 0, mt_const.datatype_null);
}

MT_INLINE mt_volume mt_a2a(int64_t count, MPI_Datatype type)
{
    return mt_volume_of(MT_SHAPE_ALL, count, type);
}

MT_INLINE mt_volume mt_o2a(int root, int64_t count, MPI_Datatype type)
{
    mt_volume v = mt_volume_of(MT_SHAPE_FROM_ROOT, count, type);
    v.root = root;
    return v;
}

MT_INLINE mt_volume mt_gatherv(int root, int64_t count, MPI_Datatype type, mt_counts received,
                               MPI_Datatype received_type)
{
    mt_volume v = mt_volume_of(MT_SHAPE_TO_ROOT, count, type);
    v.root = root;
    v.counts = received;
    v.received_type = received_type;
    return v;
}

MT_INLINE mt_volume mt_gather(int root, int64_t count, MPI_Datatype type, int64_t received, MPI_Datatype received_type)
{
    mt_volume v = mt_gatherv(root, count, type, (mt_counts){NULL, false}, received_type);
    v.received = received;
    return v;
}

MT_INLINE mt_volume mt_scatterv(int root, mt_counts counts, MPI_Datatype type)
{
    mt_volume v = mt_volume_vector(MT_SHAPE_FROM_ROOT, counts, type, NULL);
    v.root = root;
    return v;
}

// With MPI_IN_PLACE the arguments of the receive side are used.
MT_INLINE mt_volume mt_a2a_in_place(const void *sendbuf, int64_t count, MPI_Datatype type, int64_t received,
                                    MPI_Datatype received_type)
{
    return sendbuf == MPI_IN_PLACE ? mt_a2a(received, received_type) : mt_a2a(count, type);
}

MT_INLINE mt_volume mt_allgatherv(const void *sendbuf, int64_t count, MPI_Datatype type, mt_counts received,
                                  MPI_Datatype received_type)
{
    if (sendbuf != MPI_IN_PLACE)
        return mt_a2a(count, type);
    mt_volume v = mt_volume_of(MT_SHAPE_BLOCK, 0, received_type);
    v.counts = received;
    return v;
}

MT_INLINE mt_volume mt_alltoallv(const void *sendbuf, mt_counts counts, MPI_Datatype type, mt_counts received,
                                 MPI_Datatype received_type)
{
    if (sendbuf == MPI_IN_PLACE)
        return mt_volume_vector(MT_SHAPE_ALL, received, received_type, NULL);
    return mt_volume_vector(MT_SHAPE_ALL, counts, type, NULL);
}

MT_INLINE mt_volume mt_alltoallw(const void *sendbuf, mt_counts counts, const MPI_Datatype *types, mt_counts received,
                                 const MPI_Datatype *received_types)
{
    if (sendbuf == MPI_IN_PLACE)
        return mt_volume_vector(MT_SHAPE_ALL, received, mt_const.datatype_null, received_types);
    return mt_volume_vector(MT_SHAPE_ALL, counts, mt_const.datatype_null, types);
}

MT_INLINE mt_volume mt_reduce_scatter(mt_counts counts, MPI_Datatype type)
{
    return mt_volume_vector(MT_SHAPE_ALL, counts, type, NULL);
}

MT_INLINE mt_volume mt_neighbor(int64_t count, MPI_Datatype type)
{
    return mt_volume_of(MT_SHAPE_EDGES, count, type);
}

MT_INLINE mt_volume mt_neighbor_v(mt_counts counts, MPI_Datatype type)
{
    return mt_volume_vector(MT_SHAPE_EDGES, counts, type, NULL);
}

MT_INLINE mt_volume mt_neighbor_w(mt_counts counts, const MPI_Datatype *types)
{
    return mt_volume_vector(MT_SHAPE_EDGES, counts, mt_const.datatype_null, types);
}

// Returns the root argument as in a row.
MT_INLINE int32_t mt_root_peer(int root)
{
    return root == MPI_PROC_NULL ? MT_PEER_PROC_NULL : root == MPI_ROOT ? MT_PEER_ROOT : root;
}

// Records a collective that succeeded. The span is closed.
void mt_volume_book(mt_span *s, MPI_Comm comm, const mt_volume *v);

// Remembers a persistent collective. Its sizes are computed now, since datatypes may be
// freed, and recorded at each start.
void mt_volume_persistent(const mt_span *s, MPI_Comm comm, const mt_volume *v, MPI_Request request);

// Reports whether the counts are those of the process's own group, as in Reduce_scatter
// over an intercommunicator. They are what the members of this group receive. What this
// process sends is in the counts of the other group.
bool mt_volume_is_own_group(const mt_comm *c, unsigned call);

// Calls `visit` for each vector of a thread, for .prof.
void mt_volume_each_vector(const mt_thread *t, void (*visit)(void *, const mt_l_vector *), void *argument);

#endif
