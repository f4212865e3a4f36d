#include "record/state.h"

mt_record_state mt_record = {.trace_full = {.count = MT_CHUNK_EVENTS}};
