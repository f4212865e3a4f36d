// Sizes of datatypes. A predefined one's never changes; a derived one's handle
// may come back with another size once it was freed, so what is remembered
// holds under an epoch that Type_free ends first.
#ifndef MT_TYPES_H
#define MT_TYPES_H

#include "mt.h"

extern _Atomic uint64_t mt_type_epoch;

uint64_t mt_type_ask(mt_thread *t, MPI_Datatype type) MT_SLOW;

// Bytes of data in one element of a valid datatype.
MT_INLINE uint64_t mt_type_bytes(mt_thread *t, MPI_Datatype type)
{
    uint64_t key = MT_KEY(type);
    mt_type_size *hit = &t->types[(key ^ key >> 8) % MT_TYPE_CACHE];
    if (mt_likely(hit->key == key &&
                  (hit->epoch == 0 ||
                   hit->epoch == atomic_load_explicit(&mt_type_epoch, memory_order_relaxed))))
        return hit->size;
    return mt_type_ask(t, type);
}

// Bytes of data in `count` elements. Of none the type is not looked at.
MT_INLINE uint64_t mt_data_bytes(mt_thread *t, int64_t count, MPI_Datatype type)
{
    return count > 0 ? (uint64_t)count * mt_type_bytes(t, type) : 0;
}

#endif
