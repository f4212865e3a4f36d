// The state of the layer record/ that other layers read.
#ifndef MT_RECORD_STATE_H
#define MT_RECORD_STATE_H

#include "base/base.h"

// The comment on each member names the file that writes it, and when.
typedef struct mt_record_state {
    // Stacks are recorded, as MPITRACE_STACK asks. Then every call takes the general
    // path (MT_FLAG_SITES). stack.c, in MPI_Init.
    bool stacks_on;

    // The process is traced. Then rows stay where they are, so that events can refer to
    // them. trace.c, when the recording was made.
    bool trace_on;

    // For each call, whether and how it is traced: MT_TRACE_NOT and so on. trace.c, at
    // the same time.
    uint8_t trace_how[MT_CALL_END];

    mt_l_chunk trace_full; // a chunk that is always full, for threads without a chunk of their own. Never written
} mt_record_state;

extern MT_HIDDEN mt_record_state mt_record;

#endif
