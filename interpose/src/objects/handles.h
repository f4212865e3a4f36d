// What is known of an MPI handle, by handle. Not locked.
#ifndef MT_HANDLES_H
#define MT_HANDLES_H

#include "base/base.h"

typedef struct mt_handles {
    uint64_t *keys; // 0 in an empty place
    void **values;
    uint64_t capacity, used;
} mt_handles;

// Whether there is room for one more.
bool mt_handles_room(mt_handles *h);

// Without room the handle is not kept, and will be met as a stranger.
void mt_handles_put(mt_handles *h, uint64_t key, void *value);
void *mt_handles_get(const mt_handles *h, uint64_t key);
void mt_handles_drop(mt_handles *h, uint64_t key);
void mt_handles_clear(mt_handles *h);

#endif
