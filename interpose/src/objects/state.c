#include "objects/state.h"

#define SHARDS {[0 ... MT_SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}}

mt_objects_state mt_objects = {.requests = {SHARDS}, .messages = {SHARDS}};
