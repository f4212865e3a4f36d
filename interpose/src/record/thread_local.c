// The thread-local data of the layer record/. The dispatcher is compiled with this file too.
#include "record/thread.h"

MT_THREAD_LOCAL mt_thread *mt_self;

static mt_current_call always_in_a_call = {.call = MT_CALL_INIT};
static mt_thread no_thread = {.open = &always_in_a_call};
MT_THREAD_LOCAL mt_thread *mt_quick_self = &no_thread;

void mt_thread_set_self(mt_thread *t)
{
    mt_self = t;
    mt_quick_self = t ? t : &no_thread;
}
