// What a communicator's members are in MPI_COMM_WORLD, and names made of them.
#ifndef MT_GROUP_H
#define MT_GROUP_H

#include "objects/comm.h"

// Fills size, rank, peers, flags and members; the lists are malloc'ed.
// `same_as` has the same members, if not NULL. All calls are local ones.
bool mt_group_describe(mt_comm *c, MPI_Comm comm, const mt_comm *same_as);

// The same for a group: nothing else is known of it.
bool mt_group_describe_alone(mt_comm *c, MPI_Group group);

// A 128-bit hash of a parent's name, a number, a tag and c's members in order;
// an intercommunicator's two groups go in an order that both sides agree on.
void mt_group_name(uint64_t name[2], const mt_comm *c, const uint64_t parent[2], uint64_t number, uint64_t tag);

// The outgoing neighbours of the topology, in the order of the neighbour
// collectives, MT_PEER_PROC_NULL where there is none; how many, -1 without memory.
int mt_group_edges(MPI_Comm comm, int **edges);

#endif
