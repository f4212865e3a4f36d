#include "types.h"

#include "resolve.h"
#include "thread.h"

// Grows before anything is forgotten: what was found before it is not kept.
static _Atomic uint64_t epoch;

static mt_type_size *place_of(mt_thread *t, uint64_t key)
{
    return &t->types[(key ^ key >> 8) % MT_TYPE_CACHE];
}

static void remember(mt_thread *t, uint64_t key, uint64_t size)
{
    mt_type_size *place = place_of(t, key);
    place->size = t->type_size = size;
    atomic_store(&place->key, key);
    atomic_store(&t->type_key, key);
}

uint64_t mt_type_find(mt_thread *t, MPI_Datatype type)
{
    MPI_Count size = 0;
    uint64_t key = MT_KEY(type), before = atomic_load(&epoch);
    mt_type_size *place = place_of(t, key);
    if (mt_load(&place->key) == key) {
        size = (MPI_Count)place->size;
    } else if (type == mt_const.datatype_null || mt_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) {
        return 0; // (Type_size answers nonsense beyond 2 GiB.)
    }
    remember(t, key, (uint64_t)size);
    if (atomic_load(&epoch) != before) {
        atomic_store(&place->key, 0);
        atomic_store(&t->type_key, 0);
    }
    return (uint64_t)size;
}

// Another thread may remember something else at the same time: see comm.c.
static void forget(void *type, mt_thread *t)
{
    uint64_t key = *(uint64_t *)type;
    if (atomic_load(&place_of(t, key)->key) == key)
        atomic_store(&place_of(t, key)->key, 0);
    if (atomic_load(&t->type_key) == key)
        atomic_store(&t->type_key, 0);
}

void mt_type_forget(MPI_Datatype type)
{
    uint64_t key = MT_KEY(type);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(forget, &key);
}

static void forget_all(void *none, mt_thread *t)
{
    (void)none;
    for (int i = 0; i < MT_TYPE_CACHE; i++)
        atomic_store(&t->types[i].key, 0);
    atomic_store(&t->type_key, 0);
}

void mt_types_forget_all(void)
{
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(forget_all, NULL);
}
