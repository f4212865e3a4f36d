#include "calls/state.h"

mt_calls_state mt_calls;
