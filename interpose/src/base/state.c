#include "base/base.h"

mt_process_state mt_process = {
    .at_call = {.flags = MT_ENTER_CLOSED | MT_ENTER_CLOCK},
    .state = MT_COLD,
    .clock_kind = MT_CLOCK_MONOTONIC,
    .world_rank = -1,
    .world_size = -1,
};

void mt_enter_set(uint32_t reason, bool holds)
{
    if (holds)
        atomic_fetch_or(&mt_process.at_call.flags, reason);
    else
        atomic_fetch_and(&mt_process.at_call.flags, ~reason);
}

void mt_lost(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
