// The state of the layer record/ that others read.
#ifndef MT_RECORD_STATE_H
#define MT_RECORD_STATE_H

#include "base/base.h"

// Behind each word is who writes it, and when.
typedef struct mt_record_state {
    // Whether stacks are recorded, which MPITRACE_STACK asks for. Once it is true each
    // call is looked at more closely (MT_ENTER_SITES). stack.c, in MPI_Init.
    bool stacks_on;

    // The process has a trace: rows stay where they are, so that events can name them.
    // trace.c, when the recording was made.
    bool trace_on;

    // Of each call whether, and how, it is traced: MT_TRACE_NOT and so on. The same.
    uint8_t trace_how[MT_CALL_END];

    mt_l_chunk trace_full; // always full: of threads that have no other. Nobody.
} mt_record_state;

extern MT_OURS mt_record_state mt_record;

#endif
