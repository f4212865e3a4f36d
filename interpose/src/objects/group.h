// The world ranks of a communicator's members, ids that are computed from them, and the
// neighbours in a topology.
#ifndef MT_GROUP_H
#define MT_GROUP_H

#include "objects/comm.h"

// Fills size, rank, peers, flags and members. The lists are malloc'ed. `same_as`, if not
// NULL, is a communicator with the same members. Makes local MPI calls only. Returns false
// on failure.
bool mt_group_describe(mt_comm *c, MPI_Comm comm, const mt_comm *same_as);

// Does what mt_group_describe does, for a group: fills size, rank, peers and members.
bool mt_group_describe_group(mt_comm *c, MPI_Group group);

// Computes a 128-bit hash of a parent's id, a number, a tag and the members of `c` in
// order. The two groups of an intercommunicator are hashed in an order on which both sides
// agree.
void mt_group_id(uint64_t id[2], const mt_comm *c, const uint64_t parent[2], uint64_t number, uint64_t tag);

// Lists the outgoing neighbours of the topology in the order of the neighbour collectives,
// with MT_PEER_PROC_NULL for a missing one. Returns how many there are, or -1 on failure.
int mt_group_edges(MPI_Comm comm, int **edges);

#endif
