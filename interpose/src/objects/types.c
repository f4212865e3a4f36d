#include "objects/types.h"

#include "base/lock.h"
#include "base/resolve.h"
#include "record/thread.h"
#include "objects/handles.h"


// Incremented before a handle is forgotten. A thread does not keep the result of a look-up
// that began earlier.
static _Atomic uint64_t epoch;

// Sizes of datatypes by handle, plus 1, for all threads. A thread's own cache is small.
static mt_handles sizes;

static void cache(mt_thread *t, uint64_t key, uint64_t size)
{
    mt_type_cached *place = mt_type_cache_slot(t, key);
    place->size = t->type_size = size;
    atomic_store(&place->key, key);
    atomic_store(&t->type_key, key);
}

static bool lookup(uint64_t key, uint64_t *size)
{
    mt_lock(MT_LOCK_TYPES);
    uint64_t found = (uint64_t)(uintptr_t)mt_handles_get(&sizes, key);
    mt_unlock(MT_LOCK_TYPES);
    *size = found - 1;
    return found != 0;
}

// Asks the MPI for a size. (Type_size returns wrong values beyond 2 GiB.)
static bool query(MPI_Datatype type, uint64_t *size)
{
    MPI_Count n = 0;
    if (type == mt_const.datatype_null || mt_pmpi.Type_size_x(type, &n) != MPI_SUCCESS || n < 0)
        return false;
    *size = (uint64_t)n;
    mt_lock(MT_LOCK_TYPES);
    mt_handles_put(&sizes, MT_KEY(type), (void *)(uintptr_t)(n + 1));
    mt_unlock(MT_LOCK_TYPES);
    return true;
}

// Finds a size in the caches or, with `may_query`, asks the MPI for it.
MT_INLINE bool find(mt_thread *t, MPI_Datatype type, bool may_query)
{
    uint64_t key = MT_KEY(type), before = atomic_load(&epoch), size;
    mt_type_cached *place = mt_type_cache_slot(t, key);
    if (mt_load(&place->key) == key)
        size = place->size;
    else if (!lookup(key, &size) && !(may_query && query(type, &size)))
        return false;
    cache(t, key, size);
    if (atomic_load(&epoch) != before) {
        atomic_store(&place->key, 0);
        atomic_store(&t->type_key, 0);
    }
    return true;
}

uint64_t mt_type_find(mt_thread *t, MPI_Datatype type)
{
    return find(t, type, true) ? t->type_size : 0;
}

bool mt_type_known(mt_thread *t, MPI_Datatype type)
{
    return find(t, type, false);
}

#ifdef OPEN_MPI
// The predefined datatypes have the lowest Fortran handles.
void mt_types_open(void)
{
    uint64_t size;
    for (int i = 0; mt_const.type_f2c && i < 256; i++) {
        MPI_Datatype type = mt_const.type_f2c(i);
        if (type)
            query(type, &size);
    }
}
#else
void mt_types_open(void)
{
    static const MPI_Datatype types[] = {
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
        MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_LONG_DOUBLE, MPI_PACKED, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T,
        MPI_UINT32_T, MPI_UINT64_T, MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
        MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_2INT,
        MPI_LONG_DOUBLE_INT, MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
        MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION,
        MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_INTEGER1, MPI_INTEGER2,
        MPI_INTEGER4, MPI_INTEGER8, MPI_REAL4, MPI_REAL8, MPI_REAL16, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32,
    };
    uint64_t size;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        query(types[i], &size);
}
#endif

// Another thread may be adding to its cache at the same time: see comm.c.
static void uncache(void *type, mt_thread *t)
{
    uint64_t key = *(uint64_t *)type;
    if (atomic_load(&mt_type_cache_slot(t, key)->key) == key)
        atomic_store(&mt_type_cache_slot(t, key)->key, 0);
    if (atomic_load(&t->type_key) == key)
        atomic_store(&t->type_key, 0);
}

void mt_type_forget(MPI_Datatype type)
{
    uint64_t key = MT_KEY(type);
    mt_lock(MT_LOCK_TYPES);
    mt_handles_remove(&sizes, key);
    mt_unlock(MT_LOCK_TYPES);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(uncache, &key);
}

static void clear_cache(void *none, mt_thread *t)
{
    (void)none;
    for (int i = 0; i < MT_TYPE_CACHE; i++)
        atomic_store(&t->types[i].key, 0);
    atomic_store(&t->type_key, 0);
}

void mt_types_forget_all(void)
{
    mt_lock(MT_LOCK_TYPES);
    mt_handles_clear(&sizes);
    mt_unlock(MT_LOCK_TYPES);
    atomic_fetch_add(&epoch, 1);
    mt_thread_each(clear_cache, NULL);
}
