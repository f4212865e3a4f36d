// Communicators: their members, and an id for each on which all members agree.
#ifndef MT_COMM_H
#define MT_COMM_H

#include "base/resolve.h"
#include "record/record.h"

// What is known of a communicator. It is never freed. After MPI_Comm_free it may still be
// used by pending requests and messages, the posted queue (by index), windows, persistent
// collectives, an MPI_Comm_idup that has not completed, performance variables, and rows (by
// index). mt_comm_freed puts it on a list. A communicator created later in the same way, which
// has the same fold id, may take it from there (reuse_freed in comm.c).
struct mt_comm {
    uint32_t index, flags;
    int size, rank;
    int peers;          // number of ranks that a peer can have: size of the remote group, else `size`
    uint64_t id[2];     // of this communicator; the same in all its members
    uint64_t fold[2];   // the same for all communicators created in the same way
    uint64_t children;  // number of collective constructors called on it so far
    uint64_t site;
    int base, stride;   // member i has world rank base + i * stride, unless there is a list
    int32_t *members;   // world ranks of the members, or NULL; in the recording once its record is written
    int32_t *remote;    // world ranks of the remote group of an intercommunicator, or NULL; as `members`
    int *edges;         // ranks of the outgoing neighbours of its topology
    int edge_count;
    mt_l_comm *record;  // its description in the log of the recording; NULL in mt_comm_none()
    mt_comm *next_freed;
    struct mt_bound *bound, *idle[2]; // performance variables: see pvars.c
    char name[MPI_MAX_OBJECT_NAME];
};

// Hooks for code that keeps data for each communicator. They are called under MT_LOCK_COMM.
// comm_created: a communicator was made, or could not be freed. comm_freeing: it is about to
// be freed (NULL if it is not known). comm_freed_unseen: it was freed without our seeing it.
typedef void mt_hook_comm_created(MPI_Comm comm, mt_comm *c);
typedef void mt_hook_comm_freeing(mt_comm *c);
typedef void mt_hook_comm_freed_unseen(mt_comm *c);
MT_HOOK(comm_created);
MT_HOOK(comm_freeing);
MT_HOOK(comm_freed_unseen);

// Returns the communicator of a valid handle. Never NULL: if it cannot be described, this
// is mt_comm_none().
mt_comm *mt_comm_find(mt_thread *t, MPI_Comm comm) MT_NOINLINE;

// Returns the communicator that replaces all those that cannot be described. Its index is
// MT_COMM_NONE.
mt_comm *mt_comm_none(void);

// Returns the communicator of a handle that may be invalid, or NULL if the handle is not
// known yet. Calls no MPI function.
mt_comm *mt_comm_known(mt_thread *t, MPI_Comm comm) MT_NOINLINE;

// The same for code that records no call, without a thread's cache. mt_comm_known_uncached returns
// NULL if the handle is not known yet. mt_comm_find_uncached needs a valid handle, and describes an
// unknown one.
mt_comm *mt_comm_known_uncached(MPI_Comm comm);
mt_comm *mt_comm_find_uncached(MPI_Comm comm);

// Returns the index of MPI_COMM_WORLD, without a lock; MT_COMM_NONE before it is known.
uint32_t mt_comm_world_index(void);

// Returns the communicator with this index, or NULL.
mt_comm *mt_comm_by_index(uint32_t index);

MT_INLINE mt_comm_cached *mt_comm_cache_slot(mt_comm_cached *places, unsigned n, uint64_t key)
{
    return &places[(key ^ key >> 7) % n];
}

MT_INLINE mt_comm *mt_comm_of(mt_thread *t, MPI_Comm comm)
{
    mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, MT_KEY(comm));
    if (mt_likely(mt_holds(&hit->key, MT_KEY(comm))))
        return hit->comm;
    return mt_comm_find(t, comm);
}

// Returns the index of the communicator of a valid handle.
MT_INLINE uint32_t mt_comm_index(mt_thread *t, MPI_Comm comm)
{
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm))))
        return t->comm_index;
    return mt_comm_find(t, comm)->index;
}

// Describes MPI_COMM_WORLD, MPI_COMM_SELF and, in a spawned process, the intercommunicator
// with the processes that spawned it. Called at the end of MPI_Init.
void mt_comm_open(void);

// Forgets all handles, since the MPI was unloaded. Clears the threads' caches of
// communicators and of windows.
void mt_comm_forget_all(void);

// Adds the communicator `made` of a constructor that is collective over `parent`. `made`
// may be MPI_COMM_NULL in this process: it is counted nevertheless, as in the other
// processes.
void mt_comm_created(MPI_Comm parent, MPI_Comm made, unsigned call, uint64_t site);

// The same for a constructor that only the members call: Comm_create_group,
// Intercomm_create. Returns the communicator, or NULL if there is none or it cannot be
// described.
mt_comm *mt_comm_created_by_members(MPI_Comm parent, int tag, MPI_Comm made, unsigned call, uint64_t site);

// The same for a constructor from a group (or two), without a parent.
mt_comm *mt_comm_created_from_group(const char *tag, MPI_Comm made, unsigned call, uint64_t site);

// Returns a communicator that stands for a group for which no communicator is known, for
// example the group of a window whose creation was not seen. Never NULL.
mt_comm *mt_comm_of_group(MPI_Group group);

// MPI_Comm_idup: mt_comm_idup_started numbers the child at the call, and mt_comm_idup_completed adds it
// when its request completes.
typedef struct mt_comm_origin {
    mt_comm *parent;
    uint64_t id[2], fold[2]; // of the parent
    uint64_t number;         // of the child among its siblings
    uint64_t site;
    unsigned call;
} mt_comm_origin;
mt_comm_origin mt_comm_idup_started(MPI_Comm parent, unsigned call, uint64_t site);
void mt_comm_idup_completed(const mt_comm_origin *origin, MPI_Comm made);

// mt_comm_freeing forgets a handle that is about to be freed, and returns its communicator
// or NULL. mt_comm_freed follows the call that frees it: `comm` is MPI_COMM_NULL if that
// succeeded, else the handle, which is then added again.
mt_comm *mt_comm_freeing(MPI_Comm comm);
void mt_comm_freed(MPI_Comm comm, mt_comm *c);

// Calls `visit` for each known handle and its communicator, under MT_LOCK_COMM.
void mt_comm_each(void (*visit)(MPI_Comm, mt_comm *));

void mt_comm_set_name(MPI_Comm comm, const char *name);

// Returns the world rank of a peer: MT_PEER_ELSEWHERE if it is in another world,
// MT_PEER_LOST if the communicator has no such peer.
int mt_comm_world_rank(const mt_comm *c, int peer);

// A copy of a communicator's name. mt_comm_get_name makes it under MT_LOCK_COMM, since
// another thread may change the name.
typedef struct mt_comm_name {
    char text[MPI_MAX_OBJECT_NAME];
} mt_comm_name;
mt_comm_name mt_comm_get_name(const mt_comm *c);

// Returns all communicators so far, by index, in a list that the caller frees; NULL without
// memory.
mt_comm **mt_comm_all(int *count);

#endif
