// A hash table with MPI handles as keys. The caller takes the lock.
#ifndef MT_HANDLES_H
#define MT_HANDLES_H

#include "base/base.h"

typedef struct mt_handles {
    uint64_t *keys; // 0 in an empty slot
    void **values;
    uint64_t capacity, used;
} mt_handles;

// Reports whether there is room for one more handle, and makes room if it can.
bool mt_handles_reserve(mt_handles *h);

// Adds or replaces a handle. Without room it does nothing, and the handle stays unknown.
void mt_handles_put(mt_handles *h, uint64_t key, void *value);
void *mt_handles_get(const mt_handles *h, uint64_t key);
void mt_handles_remove(mt_handles *h, uint64_t key);
void mt_handles_clear(mt_handles *h);

#endif
