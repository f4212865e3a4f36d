#include "base/base.h"

mt_process_state mt_process = {
    .hot = {.flags = MT_FLAG_CLOSED | MT_FLAG_CLOCK},
    .state = MT_NOT_STARTED,
    .clock_kind = MT_CLOCK_MONOTONIC,
    .world_rank = -1,
    .world_size = -1,
};

void mt_flag_set(uint32_t reason, bool holds)
{
    if (holds)
        atomic_fetch_or(&mt_process.hot.flags, reason);
    else
        atomic_fetch_and(&mt_process.hot.flags, ~reason);
}

void mt_count_lost(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
