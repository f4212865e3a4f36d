#include "objects/comm.h"

#include "base/lock.h"
#include "base/resolve.h"
#include "file/recording.h"
#include "record/thread.h"
#include "objects/group.h"
#include "objects/handles.h"

#include <stdlib.h>
#include <string.h>

// Maximum number of communicators described in one process. It bounds memory, and is far
// above what programs need.
enum { MT_COMM_LIMIT = 1 << 20 };

// Incremented before a handle is forgotten. A thread does not keep the result of a look-up
// that began earlier.
static _Atomic uint64_t epoch;

static mt_comm no_comm = {.index = MT_COMM_NONE, .edge_count = 0, .stride = 1};

// Communicators by handle, under MT_LOCK_COMM. A thread's own cache (mt_thread.comms)
// answers nearly all look-ups.
static mt_handles handles;

// All records by index, also those of freed communicators. Under MT_LOCK_COMM.
static mt_comm **all;
static int all_count, all_capacity;

// Freed communicators whose records later ones may share (see reuse_freed), in chains by fold
// id.
enum { MT_FREED_CHAINS = 1024 };
static mt_comm *freed[MT_FREED_CHAINS];

// Replaces a malloc'ed list by its copy in the recording, so that the list (4 bytes for
// each member) is stored once.
static void move_list(int32_t **list, int32_t *written, uint64_t bytes)
{
    if (bytes) {
        memcpy(written, *list, bytes);
        free(*list);
        *list = written;
    }
}

// Writes the record of a communicator. Returns false if there is no room.
static bool write_record(mt_comm *c, uint32_t parent, unsigned call)
{
    uint64_t members = c->members ? (uint64_t)c->size * 4 : 0, remote = c->remote ? (uint64_t)c->peers * 4 : 0;
    mt_l_comm *r = mt_recording_begin(sizeof *r + members + remote);
    if (!r)
        return false;
    r->index = c->index;
    r->flags = c->flags | (c->members ? MT_COMM_LIST : 0) | (c->remote ? MT_COMM_REMOTE : 0);
    memcpy(r->id, c->id, sizeof r->id);
    memcpy(r->fold_id, c->fold, sizeof r->fold_id);
    r->parent = parent;
    r->constructor = call;
    r->size = (uint32_t)c->size;
    r->rank = (uint32_t)c->rank;
    r->base = c->base;
    r->stride = c->stride;
    r->remote_size = c->remote ? (uint32_t)c->peers : 0;
    move_list(&c->members, (int32_t *)(r + 1), members);
    move_list(&c->remote, (int32_t *)((char *)(r + 1) + members), remote);
    c->record = r;
    mt_recording_commit(r, MT_RECORD_COMM);
    return true;
}

static bool grow(void)
{
    int capacity = all_capacity ? all_capacity * 2 : 64;
    mt_comm **wider = all_count < MT_COMM_LIMIT ? realloc(all, (size_t)capacity * sizeof *all) : NULL;
    if (!wider)
        return false;
    all = wider;
    all_capacity = capacity;
    return true;
}

// Returns a new communicator with a record of its own, which takes over the lists of
// `made`. On failure returns NULL and leaves the lists to the caller.
static mt_comm *add(const mt_comm *made, uint32_t parent, unsigned call)
{
    mt_comm *c = all_count < all_capacity || grow() ? malloc(sizeof *c) : NULL;
    if (!c)
        return NULL;
    *c = *made;
    c->index = (uint32_t)all_count;
    if (!write_record(c, parent, call)) {
        free(c);
        return NULL;
    }
    return all[all_count++] = c;
}

static void free_lists(mt_comm *made)
{
    free(made->members);
    free(made->remote);
    free(made->edges);
}

mt_comm *mt_comm_none(void)
{
    return &no_comm;
}

static void write_edges(const mt_comm *c)
{
    mt_l_edges *r = mt_recording_begin(sizeof *r + (uint64_t)c->edge_count * sizeof(int32_t));
    if (!r) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return;
    }
    r->index = c->index;
    r->count = (uint32_t)c->edge_count;
    for (int i = 0; i < c->edge_count; i++)
        ((int32_t *)(r + 1))[i] = c->edges[i];
    mt_recording_commit(r, MT_RECORD_EDGES);
}

static bool same_creation(const mt_comm *a, const mt_comm *b)
{
    return a->site == b->site && a->edge_count == b->edge_count && memcmp(a->fold, b->fold, sizeof a->fold) == 0 &&
           (a->edge_count <= 0 || memcmp(a->edges, b->edges, (size_t)a->edge_count * sizeof *a->edges) == 0);
}

// Returns a freed communicator that was created in the same way (parent, constructor,
// members, topology) at the same call site, or NULL. The new communicator shares its
// record, so that 10,000 cycles of dup and free do not make the recording grow. Ranks may
// free communicators in different orders and so share records differently. Readers combine
// such records by their fold id.
static mt_comm *reuse_freed(const mt_comm *made)
{
    for (mt_comm **at = &freed[made->fold[0] % MT_FREED_CHAINS]; *at; at = &(*at)->next_freed) {
        mt_comm *c = *at;
        if (!same_creation(c, made))
            continue;
        *at = c->next_freed;
        memcpy(c->id, made->id, sizeof c->id);
        c->children = 0;
        c->record->folded++;
        c->record->flags &= ~(uint32_t)MT_COMM_FREED;
        return c;
    }
    return NULL;
}

static void uncache_in(void *handle, mt_thread *t)
{
    uint64_t key = *(uint64_t *)handle;
    mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, key);
    if (atomic_load(&hit->key) == key)
        atomic_store(&hit->key, 0);
    if (atomic_load(&t->comm_key) == key)
        atomic_store(&t->comm_key, 0);
}

// Removes a handle from the caches of all threads, since the MPI may give it out again.
// Another thread may be adding to its cache at the same time. Then either uncache_in finds
// what it added, or that thread sees that the epoch has changed. This holds because these
// accesses are sequentially consistent: relaxed loads might be done before the epoch is
// incremented.
static void uncache(MPI_Comm comm)
{
    uint64_t key = MT_KEY(comm);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(uncache_in, &key);
}

// Adds a described communicator under its handle. Takes over the lists of `made`. Returns
// `no_comm` if there is no room.
static mt_comm *register_comm(MPI_Comm handle, mt_comm *made, uint32_t parent, unsigned call)
{
    // A handle without room in the table would get a new record with each call.
    bool room = mt_handles_reserve(&handles);
    mt_comm *shared = room ? reuse_freed(made) : NULL, *c = shared;
    if (!c && room)
        c = add(made, parent, call);
    if (!c)
        mt_count_lost(&mt_process.header->lost_comms, 1);
    if (!c || shared)
        free_lists(made);
    else if (c->edge_count > 0)
        write_edges(c);
    c = c ? c : &no_comm;
    mt_comm *before = mt_handles_get(&handles, MT_KEY(handle));
    if (before) { // freed without our seeing it, and its handle given out again
        uncache(handle);
        MT_CALL_HOOK(comm_freed_unseen, before);
    }
    mt_handles_put(&handles, MT_KEY(handle), c);
    MT_CALL_HOOK(comm_created, handle, c);
    return c;
}

static bool describe_into(mt_comm *made, MPI_Comm handle, const mt_comm *same_as)
{
    memset(made, 0, sizeof *made);
    made->stride = 1;
    if (!mt_group_describe(made, handle, same_as))
        return false;
    if (!(made->flags & MT_COMM_INTER))
        made->edge_count = mt_group_edges(handle, &made->edges);
    if (made->edge_count >= 0)
        return true;
    free_lists(made);
    return false;
}

// Describes and adds the communicator of a handle whose creation was not seen.
static mt_comm *add_unseen(MPI_Comm handle)
{
    mt_comm made;
    if (!describe_into(&made, handle, NULL)) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        mt_handles_put(&handles, MT_KEY(handle), &no_comm);
        return &no_comm;
    }
    made.flags |= MT_COMM_FOUND;
    mt_group_id(made.id, &made, (uint64_t[2]){0, 0}, 0, 0);
    memcpy(made.fold, made.id, sizeof made.fold);
    return register_comm(handle, &made, MT_COMM_NONE, 0);
}

static mt_comm *find_locked(MPI_Comm handle)
{
    mt_comm *c = mt_handles_get(&handles, MT_KEY(handle));
    return c ? c : add_unseen(handle);
}

mt_comm *mt_comm_find_uncached(MPI_Comm handle)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm *c = find_locked(handle);
    mt_unlock(MT_LOCK_COMM);
    return c;
}

// Adds a communicator to the thread's cache, and makes it the thread's last one, which the
// path MT_TIMED uses. An intercommunicator is never the last one: that path compares the
// root of a collective with the process's rank, which is not meaningful there.
static void cache(mt_thread *t, uint64_t key, mt_comm *c)
{
    mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, key);
    hit->comm = c;
    atomic_store(&hit->key, key);
    if (c->index == MT_COMM_NONE || (c->flags & MT_COMM_INTER))
        return;
    t->comm_index = c->index;
    t->comm_rank = c->rank;
    atomic_store(&t->comm_key, key);
}

mt_comm *mt_comm_known_uncached(MPI_Comm handle)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm *c = mt_handles_get(&handles, MT_KEY(handle));
    mt_unlock(MT_LOCK_COMM);
    return c;
}

MT_INLINE mt_comm *look_up(mt_thread *t, MPI_Comm comm, mt_comm *(*fallback)(MPI_Comm))
{
    uint64_t before = atomic_load(&epoch), key = MT_KEY(comm);
    mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, key);
    mt_comm *c = mt_load(&hit->key) == key ? hit->comm : fallback(comm);
    if (!c)
        return NULL;
    cache(t, key, c);
    if (atomic_load(&epoch) != before)
        uncache_in(&key, t);
    return c;
}

mt_comm *mt_comm_find(mt_thread *t, MPI_Comm comm)
{
    return look_up(t, comm, mt_comm_find_uncached);
}

mt_comm *mt_comm_known(mt_thread *t, MPI_Comm comm)
{
    return look_up(t, comm, mt_comm_known_uncached);
}

mt_comm *mt_comm_by_index(uint32_t index)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm *c = index < (uint32_t)all_count ? all[index] : NULL;
    mt_unlock(MT_LOCK_COMM);
    return c;
}

// Returns the same communicator from an MPI that was loaded earlier, or NULL.
static mt_comm *find_by_id(const mt_comm *c)
{
    for (int i = 0; i < all_count; i++)
        if (memcmp(all[i]->id, c->id, sizeof c->id) == 0)
            return all[i];
    return NULL;
}

static void clear_caches(void *none, mt_thread *t)
{
    (void)none;
    for (int i = 0; i < MT_COMM_CACHE; i++)
        atomic_store(&t->comms[i].key, 0);
    for (int i = 0; i < MT_WIN_CACHE; i++)
        atomic_store(&t->wins[i].key, 0);
    atomic_store(&t->comm_key, 0);
}

void mt_comm_forget_all(void)
{
    mt_lock(MT_LOCK_COMM);
    mt_handles_clear(&handles);
    mt_unlock(MT_LOCK_COMM);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(clear_caches, NULL);
}

static void open_one(MPI_Comm handle, const char *name, uint64_t seed)
{
    mt_comm made, *before;
    if (!describe_into(&made, handle, NULL))
        return;
    mt_group_id(made.id, &made, (uint64_t[2]){seed, seed}, 0, 0);
    memcpy(made.fold, made.id, sizeof made.fold);
    if ((before = find_by_id(&made))) {
        free_lists(&made);
        mt_handles_put(&handles, MT_KEY(handle), before);
        return;
    }
    register_comm(handle, &made, MT_COMM_NONE, 0);
    mt_comm_set_name(handle, name);
}

static uint32_t world_index = MT_COMM_NONE; // written when MPI_COMM_WORLD is registered

uint32_t mt_comm_world_index(void)
{
    return world_index;
}

void mt_comm_open(void)
{
    open_one(mt_const.comm_world, "MPI_COMM_WORLD", 1);
    const mt_comm *world = mt_comm_known_uncached(mt_const.comm_world);
    world_index = world ? world->index : MT_COMM_NONE;
    open_one(mt_const.comm_self, "MPI_COMM_SELF", 2);
    MPI_Comm parent = mt_const.comm_null;
    if (mt_mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != mt_const.comm_null)
        open_one(parent, "MPI_COMM_PARENT", 5);
}

// Describes and adds a child communicator. Its id is a hash of the parent's id, the number
// of the child among its siblings, and its members. All members agree on each of these.
static void add_child(const mt_comm_origin *o, MPI_Comm made)
{
    mt_comm child;
    if (!describe_into(&child, made, mt_call_duplicates(o->call) ? o->parent : NULL)) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return;
    }
    child.site = o->site;
    mt_group_id(child.id, &child, o->id, o->number, 0);
    mt_group_id(child.fold, &child, o->fold, o->call, 0);
    register_comm(made, &child, o->parent->index, o->call);
}

// Numbers a new child of `parent`. Copies the ids of the parent as they are now: the parent
// may be freed, and its record shared, before an idup completes.
static mt_comm_origin number_child(MPI_Comm parent, unsigned call, uint64_t site)
{
    mt_comm *p = find_locked(parent);
    mt_comm_origin o = {.parent = p, .number = ++p->children, .site = site, .call = call};
    memcpy(o.id, p->id, sizeof o.id);
    memcpy(o.fold, p->fold, sizeof o.fold);
    return o;
}

void mt_comm_created(MPI_Comm parent, MPI_Comm made, unsigned call, uint64_t site)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm_origin o = number_child(parent, call, site);
    if (made != mt_const.comm_null)
        add_child(&o, made);
    mt_unlock(MT_LOCK_COMM);
}

mt_comm_origin mt_comm_idup_started(MPI_Comm parent, unsigned call, uint64_t site)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm_origin o = number_child(parent, call, site);
    mt_unlock(MT_LOCK_COMM);
    return o;
}

void mt_comm_idup_completed(const mt_comm_origin *origin, MPI_Comm made)
{
    mt_lock(MT_LOCK_COMM);
    if (made != mt_const.comm_null)
        add_child(origin, made);
    mt_unlock(MT_LOCK_COMM);
}

// Returns how many communicators these members have made with this parent and tag,
// including the new one. The chains have one entry for each distinct (parent, members,
// tag).
static uint64_t times_made(const uint64_t name[2])
{
    struct made {
        struct made *next;
        uint64_t name[2], times;
    };
    static struct made *chains[MT_FREED_CHAINS];
    struct made **chain = &chains[name[0] % MT_FREED_CHAINS];
    for (struct made *m = *chain; m; m = m->next)
        if (memcmp(m->name, name, sizeof m->name) == 0)
            return ++m->times;
    struct made *m = malloc(sizeof *m);
    if (m) {
        *m = (struct made){*chain, {name[0], name[1]}, 1};
        *chain = m;
    } else {
        mt_count_lost(&mt_process.header->lost_comms, 1); // the next one will get the same id
    }
    return 1;
}

// Describes and adds a communicator that only its members made, with a tag.
static mt_comm *add_child_of_members(const mt_comm *parent, uint64_t tag, MPI_Comm made, unsigned call, uint64_t site)
{
    mt_comm child;
    uint64_t base[2];
    if (!describe_into(&child, made, NULL)) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return NULL;
    }
    mt_group_id(child.fold, &child, parent->fold, call, tag);
    mt_group_id(base, &child, parent->id, call, tag);
    mt_group_id(child.id, &child, base, times_made(base), tag);
    child.site = site;
    return register_comm(made, &child, parent->index, call);
}

mt_comm *mt_comm_created_by_members(MPI_Comm parent, int tag, MPI_Comm made, unsigned call, uint64_t site)
{
    if (made == mt_const.comm_null)
        return NULL;
    mt_lock(MT_LOCK_COMM);
    mt_comm p = *find_locked(parent);
    if (mt_call_two_groups(call)) // each group has another local communicator: the id uses neither
        p.id[0] = p.id[1] = p.fold[0] = p.fold[1] = 3;
    mt_comm *c = add_child_of_members(&p, ((uint64_t)(uint32_t)tag << 1) | 1, made, call, site);
    mt_unlock(MT_LOCK_COMM);
    return c;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; // FNV-1a
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

mt_comm *mt_comm_created_from_group(const char *tag, MPI_Comm made, unsigned call, uint64_t site)
{
    static const mt_comm no_parent = {.index = MT_COMM_NONE, .id = {4, 4}, .fold = {4, 4}};
    if (made == mt_const.comm_null)
        return NULL;
    mt_lock(MT_LOCK_COMM);
    mt_comm *c = add_child_of_members(&no_parent, hash_text(tag), made, call, site);
    mt_unlock(MT_LOCK_COMM);
    return c;
}

mt_comm *mt_comm_of_group(MPI_Group group)
{
    mt_comm made = {.flags = MT_COMM_FOUND, .stride = 1}, *c = NULL;
    mt_lock(MT_LOCK_COMM);
    if (mt_group_describe_group(&made, group)) {
        mt_group_id(made.id, &made, (uint64_t[2]){6, 6}, 0, 0);
        memcpy(made.fold, made.id, sizeof made.fold);
        for (int i = 0; i < all_count && !c; i++)
            if (memcmp(all[i]->id, made.id, sizeof made.id) == 0)
                c = all[i];
        mt_comm *known = c;
        if (!c)
            c = add(&made, MT_COMM_NONE, 0);
        if (!c || known)
            free_lists(&made);
    }
    mt_unlock(MT_LOCK_COMM);
    if (c)
        return c;
    mt_count_lost(&mt_process.header->lost_comms, 1);
    return &no_comm;
}

mt_comm *mt_comm_freeing(MPI_Comm comm)
{
    if (comm == mt_const.comm_null)
        return NULL;
    mt_lock(MT_LOCK_COMM);
    mt_comm *c = mt_handles_get(&handles, MT_KEY(comm));
    if (c)
        mt_handles_remove(&handles, MT_KEY(comm));
    uncache(comm);
    MT_CALL_HOOK(comm_freeing, c);
    mt_unlock(MT_LOCK_COMM);
    return c;
}

void mt_comm_freed(MPI_Comm comm, mt_comm *c)
{
    if (!c)
        return;
    mt_lock(MT_LOCK_COMM);
    if (comm != mt_const.comm_null) { // it could not be freed
        mt_handles_put(&handles, MT_KEY(comm), c);
        MT_CALL_HOOK(comm_created, comm, c);
    } else if (c->record) {
        c->record->flags |= MT_COMM_FREED;
        mt_comm **chain = &freed[c->fold[0] % MT_FREED_CHAINS];
        c->next_freed = *chain;
        *chain = c;
    }
    mt_unlock(MT_LOCK_COMM);
}

void mt_comm_each(void (*visit)(MPI_Comm, mt_comm *))
{
    mt_lock(MT_LOCK_COMM);
    for (uint64_t i = 0; i < handles.capacity; i++)
        if (handles.keys[i])
            visit((MPI_Comm)(uintptr_t)handles.keys[i], handles.values[i]);
    mt_unlock(MT_LOCK_COMM);
}

void mt_comm_set_name(MPI_Comm comm, const char *name)
{
    mt_comm *c = mt_comm_find_uncached(comm);
    uint64_t length = strnlen(name, sizeof c->name - 1);
    mt_lock(MT_LOCK_COMM);
    bool same = strncmp(c->name, name, sizeof c->name - 1) == 0; // setting the same name in a loop writes one record
    memset(c->name, 0, sizeof c->name);
    memcpy(c->name, name, length);
    mt_unlock(MT_LOCK_COMM);
    mt_l_name *r = same || c->index == MT_COMM_NONE ? NULL : mt_recording_begin(sizeof *r + length);
    if (!r)
        return;
    r->index = c->index;
    r->length = (uint32_t)length;
    memcpy(r + 1, name, length);
    mt_recording_commit(r, MT_RECORD_NAME);
}

mt_comm_name mt_comm_get_name(const mt_comm *c)
{
    mt_comm_name name;
    mt_lock(MT_LOCK_COMM);
    memcpy(name.text, c->name, sizeof name.text);
    mt_unlock(MT_LOCK_COMM);
    return name;
}

int mt_comm_world_rank(const mt_comm *c, int peer)
{
    const int32_t *list = c->remote ? c->remote : c->members;
    if (peer < 0 || peer >= c->peers)
        return MT_PEER_LOST;
    return list ? list[peer] : c->base + peer * c->stride;
}

mt_comm **mt_comm_all(int *count)
{
    mt_lock(MT_LOCK_COMM);
    mt_comm **list = malloc(((size_t)all_count + 1) * sizeof *list);
    if (list && all_count)
        memcpy(list, all, (size_t)all_count * sizeof *list);
    *count = list ? all_count : 0;
    mt_unlock(MT_LOCK_COMM);
    return list;
}
