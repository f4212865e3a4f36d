#include "base/base.h"

_Atomic mt_state mt_state_now = MT_COLD;
bool mt_multiple, mt_serialized, mt_forked, mt_receives_unfollowed;
int mt_world_rank = -1, mt_world_size = -1;
mt_l_header *mt_header;
mt_now mt_at_call = {.flags = MT_ENTER_CLOSED | MT_ENTER_CLOCK};

void mt_enter_set(uint32_t reason, bool holds)
{
    if (holds)
        atomic_fetch_or(&mt_at_call.flags, reason);
    else
        atomic_fetch_and(&mt_at_call.flags, ~reason);
}

void mt_lost(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}
