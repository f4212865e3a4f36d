// The data of a thread in the layer base/. The dispatcher is compiled with this file too.
#include "base/lock.h"

MT_OF_THREAD volatile sig_atomic_t mt_lock_depth;
MT_OF_THREAD volatile int mt_lock_state_before;
