// Call sites: what a call's return address does not tell by itself.
#include "fortran.h"
#include "record.h"
#include "stack.h"

mt_watch mt_watched;

// Threads compare while this is written: they see none, or too many, and never
// too few of those that were watched before.
void mt_watch_set(mt_watch *w, uint64_t start, uint64_t size)
{
    if (atomic_load(&w->size) != 0)
        atomic_store(&w->size, UINT64_MAX);
    atomic_store(&w->start, start);
    atomic_store(&w->size, size);
}

mt_span mt_enter_watched(mt_span s)
{
    if (mt_lies_in(&mt_bindings, s.site) && !mt_fortran_take(s.call, &s.site) && mt_lies_in(&mt_layer, s.site))
        s.thread = NULL;
    if (mt_stacks_on && s.thread)
        s.site = mt_stack_site(s.site);
    return s;
}
