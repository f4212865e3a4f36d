// Communicators: who their members are, and one name that all members agree on.
#ifndef MT_COMM_H
#define MT_COMM_H

#include "base/resolve.h"
#include "record/record.h"

// What we know of a communicator. It outlives the handle, since a receive may
// complete after its communicator was freed; it is never given back, only used
// again for one of the same making ("folded").
struct mt_comm {
    uint32_t index, flags;
    int size, rank;
    int peers;          // ranks that a peer can have: of the remote group, or size
    uint64_t id[2];     // exact
    uint64_t fold[2];   // the same for all of the same making
    uint64_t children;  // collective constructors called on it so far
    uint64_t site;
    int base, stride;   // world ranks where no list is needed
    int32_t *members;   // else NULL; in the recording, once it is written down
    int32_t *remote;    // of an intercommunicator, likewise
    int *edges;         // outgoing neighbours
    int edge_count;
    mt_l_comm *record;
    mt_comm *next_freed;
    struct mt_bound *bound, *idle[2]; // performance variables: see pvars.c
    char name[MPI_MAX_OBJECT_NAME];
};

// Of whoever keeps something for each communicator, under the lock of communicators:
// one was made, or was not freed after all; one is about to be freed (NULL is none);
// one was freed unseen.
typedef void mt_hook_comm_made(MPI_Comm comm, mt_comm *c);
typedef void mt_hook_comm_leaving(mt_comm *c);
typedef void mt_hook_comm_gone(mt_comm *c);
MT_HOOK(comm_made);
MT_HOOK(comm_leaving);
MT_HOOK(comm_gone);

// The communicator of a valid handle. Never NULL: one that cannot be described
// is the lost communicator, whose index is MT_COMM_NONE.
mt_comm *mt_comm_find(mt_thread *t, MPI_Comm comm) MT_APART;

// The communicator of what cannot be described: its index is MT_COMM_NONE.
mt_comm *mt_comm_lost(void);

// The communicator of a handle that may be bad: NULL unless it was met before.
mt_comm *mt_comm_known(mt_thread *t, MPI_Comm comm) MT_APART;

// The same, from where no call is recorded: of one that was met, and of any valid
// one, which is met.
mt_comm *mt_comm_met(MPI_Comm comm);
mt_comm *mt_comm_meet(MPI_Comm comm);

// The index of MPI_COMM_WORLD, with no lock; MT_COMM_NONE before it is known.
uint32_t mt_comm_world_index(void);

// By its index; NULL if there is no such communicator.
mt_comm *mt_comm_numbered(uint32_t index);

MT_INLINE mt_comm_hit *mt_comm_place(mt_comm_hit *places, unsigned n, uint64_t key)
{
    return &places[(key ^ key >> 7) % n];
}

MT_INLINE mt_comm *mt_comm_of(mt_thread *t, MPI_Comm comm)
{
    mt_comm_hit *hit = mt_comm_place(t->comms, MT_COMM_CACHE, MT_KEY(comm));
    if (mt_likely(mt_holds(&hit->key, MT_KEY(comm))))
        return hit->comm;
    return mt_comm_find(t, comm);
}

// The index of a valid handle's communicator.
MT_INLINE uint32_t mt_comm_index(mt_thread *t, MPI_Comm comm)
{
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm))))
        return t->comm_index;
    return mt_comm_find(t, comm)->index;
}

// World and self, and what a spawned process is given to talk with those that
// spawned it, at the end of MPI_Init.
void mt_comm_open(void);

// Forgets all handles: the MPI was unloaded.
void mt_comm_forget_all(void);

// A constructor that is collective over `parent` made `made` (which may be
// MPI_COMM_NULL here: the others still count it).
void mt_comm_made(MPI_Comm parent, MPI_Comm made, unsigned call, uint64_t site);

// One that only the members call: Comm_create_group, Intercomm_create.
// What was made, or NULL if it is not known.
mt_comm *mt_comm_made_by_members(MPI_Comm parent, int tag, MPI_Comm made, unsigned call, uint64_t site);

// One that was made from a group (or two), with no parent.
mt_comm *mt_comm_made_from_group(const char *tag, MPI_Comm made, unsigned call, uint64_t site);

// What stands for a group that no communicator is known of, such as that of a
// window whose making was not seen. Never NULL.
mt_comm *mt_comm_of_group(MPI_Group group);

// Comm_idup: numbered at the call, usable when its request completes.
typedef struct mt_comm_origin {
    mt_comm *parent;
    uint64_t id[2], fold[2]; // of the parent
    uint64_t number;         // of the child among its siblings
    uint64_t site;
    unsigned call;
} mt_comm_origin;
mt_comm_origin mt_comm_promised(MPI_Comm parent, unsigned call, uint64_t site);
void mt_comm_kept(const mt_comm_origin *origin, MPI_Comm made);

// The handle is about to be freed; it is dropped if that succeeds.
mt_comm *mt_comm_leaving(MPI_Comm comm);
void mt_comm_left(MPI_Comm comm, mt_comm *c);

// All that live, with their handles; under the lock of communicators.
void mt_comm_each(void (*visit)(MPI_Comm, mt_comm *));

void mt_comm_named(MPI_Comm comm, const char *name);

// World rank of a peer: MT_PEER_ELSEWHERE for one of another world.
int mt_comm_world_rank(const mt_comm *c, int peer);

// Its name, copied while nobody gives it another.
typedef struct mt_comm_name {
    char text[MPI_MAX_OBJECT_NAME];
} mt_comm_name;
mt_comm_name mt_comm_called(const mt_comm *c);

// A list of all communicators up to now, by index, which the caller frees; NULL
// for want of memory.
mt_comm **mt_comm_all(int *count);

#endif
