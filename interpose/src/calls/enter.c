// Entering calls that are not on the quick path. (The quick path reads the clock twice and
// updates one row, and does nothing else.)
#include "record/current_call.h"
#include "record/record.h"
#include "record/sample.h"
#include "record/slice.h"
#include "record/stack.h"
#include "calls/enter.h"
#include "calls/fortran.h"
#include "calls/quick.h"

_Thread_local mt_caller mt_calling;
// Finds the call site. A call from a file of Fortran bindings is either the program's, made
// where the program called the binding, or the Fortran layer's own. Returns false for the
// latter, which is not recorded.
static bool find_site(mt_span *s)
{
    if (mt_lies_in(&mt_fortran_bindings, s->site) && !mt_fortran_take(s->call, &s->site) &&
        mt_lies_in(&mt_fortran_layer, s->site))
        return false;
    if (mt_record.stacks_on)
        s->site = mt_stack_site(s->site);
    return true;
}

static MT_NOINLINE void look_at_time(uint32_t flags)
{
    if (flags & MT_FLAG_PVARS) // first: the values so far belong to the slice that may end now
        MT_CALL_HOOK(time_to_read);
    if (flags & MT_FLAG_INTERVAL)
        mt_slice_check_interval();
}

mt_span mt_enter_from(unsigned call, uint64_t site, uint64_t frame)
{
    mt_span s;
    s.site = site;
    s.frame = frame;
    s.call = (uint16_t)call;
    s.timed = false;
    s.slice = MT_PAUSED;
    s.thread = mt_likely(mt_self != NULL) ? mt_self : MT_CALL_HOOK(thread_wanted, site);
    uint32_t flags = mt_flags(); // read here: the first call of the process may have changed them
    if ((flags & MT_FLAG_SITES) && !find_site(&s))
        s.thread = NULL;
    if (flags & (MT_FLAG_CLOSED | MT_FLAG_PAUSED)) {
        s.thread = NULL;
        MT_CALL_HOOK(unrecorded_call, site);
    }
    if (!s.thread)
        return s;
    if (flags & (MT_FLAG_INTERVAL | MT_FLAG_PVARS))
        look_at_time(flags);
    s.slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    s.timed = !(flags & MT_FLAG_UNTIMED);
    if (flags & MT_FLAG_SAMPLED)
        s.timed = mt_sample_is_due(mt_sample_pace(s.thread, s.site));
    if (s.timed || MT_CHECKING)
        s.start = mt_ticks() - s.thread->open->spent;
    mt_current_call_begin(&s);
    return s;
}
