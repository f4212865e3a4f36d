// Call sites: what a call's return address does not tell by itself.
#include "fortran.h"
#include "record.h"
#include "stack.h"

mt_watch mt_watched;

void mt_watch_set(mt_watch *w, uint64_t start, uint64_t size)
{
    atomic_store(&w->start, start);
    atomic_store(&w->size, size); // last: threads compare while this is written
}

void mt_enter_watched(mt_span *s)
{
    if (mt_lies_in(&mt_layer, s->site) && !mt_fortran_take(s->call, &s->site))
        s->thread = NULL;
    if (mt_stacks_on && s->thread)
        s->site = mt_stack_site(s->site);
}
