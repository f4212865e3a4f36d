// Sizes of datatypes. A handle is forgotten before its datatype is freed, since the MPI may
// give it out again for a datatype of another size.
#ifndef MT_TYPES_H
#define MT_TYPES_H

#include "base/base.h"
#include "base/resolve.h"
#include "record/thread.h"

uint64_t mt_type_find(mt_thread *t, MPI_Datatype type) MT_NOINLINE;

// Reports whether the size of a datatype, which may be invalid, is known, and sets the
// thread's type_size to it. Calls no MPI function.
bool mt_type_known(mt_thread *t, MPI_Datatype type) MT_NOINLINE;

MT_INLINE mt_type_cached *mt_type_cache_slot(mt_thread *t, uint64_t key)
{
    return &t->types[(key ^ key >> 8) % MT_TYPE_CACHE];
}

// Asks the MPI for the sizes of all predefined datatypes.
void mt_types_open(void);

// Returns the bytes of data in one element of a valid datatype.
MT_INLINE uint64_t mt_type_bytes(mt_thread *t, MPI_Datatype type)
{
    if (mt_likely(mt_holds(&t->type_key, MT_KEY(type))))
        return t->type_size;
    return mt_type_find(t, type);
}

// Returns the bytes of data in `count` elements. The datatype may be invalid if `count` is
// 0.
MT_INLINE uint64_t mt_data_bytes(mt_thread *t, int64_t count, MPI_Datatype type)
{
    if (mt_likely(mt_holds(&t->type_key, MT_KEY(type))))
        return (uint64_t)count * t->type_size;
    return count > 0 ? (uint64_t)count * mt_type_find(t, type) : 0;
}

// Forgets a handle (or all of them), since the MPI may give it out again.
void mt_type_forget(MPI_Datatype type);
void mt_types_forget_all(void);

#endif
