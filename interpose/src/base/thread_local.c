// The thread-local data of the layer base/. The dispatcher is compiled with this file too.
#include "base/lock.h"

MT_THREAD_LOCAL volatile sig_atomic_t mt_lock_depth;
MT_THREAD_LOCAL volatile int mt_lock_state_before;
