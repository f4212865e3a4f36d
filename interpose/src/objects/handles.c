#include "objects/handles.h"

#include <stdlib.h>

// Returns the slot of the key, or the empty slot where it belongs. Open addressing with
// linear probing. The table is at most half full while memory suffices.
static uint64_t slot_of(const mt_handles *h, uint64_t key)
{
    uint64_t i = ((key * 0x9e3779b97f4a7c15u) >> 20) & (h->capacity - 1);
    while (h->keys[i] && h->keys[i] != key)
        i = (i + 1) & (h->capacity - 1);
    return i;
}

static bool grow(mt_handles *h)
{
    mt_handles old = *h;
    mt_handles wider = {.capacity = old.capacity ? old.capacity * 2 : 64, .used = old.used};
    wider.keys = calloc(wider.capacity, sizeof *wider.keys);
    wider.values = calloc(wider.capacity, sizeof *wider.values);
    if (!wider.keys || !wider.values) {
        free(wider.keys);
        free(wider.values);
        return false;
    }
    for (uint64_t i = 0; i < old.capacity; i++)
        if (old.keys[i]) {
            uint64_t at = slot_of(&wider, old.keys[i]);
            wider.keys[at] = old.keys[i];
            wider.values[at] = old.values[i];
        }
    free(old.keys);
    free(old.values);
    *h = wider;
    return true;
}

// A table that cannot grow keeps one slot empty, so that every search ends.
bool mt_handles_reserve(mt_handles *h)
{
    return h->used * 2 < h->capacity || grow(h) || h->used + 1 < h->capacity;
}

void mt_handles_put(mt_handles *h, uint64_t key, void *value)
{
    if (!mt_handles_get(h, key) && !mt_handles_reserve(h))
        return;
    uint64_t i = slot_of(h, key);
    h->used += h->keys[i] == 0;
    h->keys[i] = key;
    h->values[i] = value;
}

void *mt_handles_get(const mt_handles *h, uint64_t key)
{
    if (!h->capacity)
        return NULL;
    uint64_t i = slot_of(h, key);
    return h->keys[i] ? h->values[i] : NULL;
}

// Removes the key and closes the gap, so that no tombstones accumulate.
void mt_handles_remove(mt_handles *h, uint64_t key)
{
    if (!mt_handles_get(h, key))
        return;
    uint64_t i = slot_of(h, key), mask = h->capacity - 1;
    h->keys[i] = 0;
    h->used--;
    for (uint64_t j = (i + 1) & mask; h->keys[j]; j = (j + 1) & mask) {
        uint64_t moved = h->keys[j];
        void *value = h->values[j];
        h->keys[j] = 0;
        uint64_t at = slot_of(h, moved);
        h->keys[at] = moved;
        h->values[at] = value;
    }
}

void mt_handles_clear(mt_handles *h)
{
    free(h->keys);
    free(h->values);
    *h = (mt_handles){0};
}
