// Sizes of datatypes. A derived one's handle may come back with another size
// once it was freed: it is forgotten before.
#ifndef MT_TYPES_H
#define MT_TYPES_H

#include "base/base.h"
#include "base/resolve.h"
#include "record/thread.h"

uint64_t mt_type_find(mt_thread *t, MPI_Datatype type) MT_APART;

// Whether the size of a datatype is known, which may be a bad one: nothing is asked.
// If so the thread has it at hand (type_size).
bool mt_type_known(mt_thread *t, MPI_Datatype type) MT_APART;

// Asks for the sizes of all predefined datatypes.
void mt_types_open(void);

// Bytes of data in one element of a valid datatype.
MT_INLINE uint64_t mt_type_bytes(mt_thread *t, MPI_Datatype type)
{
    if (mt_likely(mt_holds(&t->type_key, MT_KEY(type))))
        return t->type_size;
    return mt_type_find(t, type);
}

// Bytes of data in `count` elements. Of none the type is not looked at.
MT_INLINE uint64_t mt_data_bytes(mt_thread *t, int64_t count, MPI_Datatype type)
{
    if (mt_likely(mt_holds(&t->type_key, MT_KEY(type))))
        return (uint64_t)count * t->type_size;
    return count > 0 ? (uint64_t)count * mt_type_find(t, type) : 0;
}

// The handle may be given out again.
void mt_type_forget(MPI_Datatype type);
void mt_types_forget_all(void);

#endif
