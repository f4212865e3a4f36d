#include "lifecycle/state.h"

mt_lifecycle_state mt_lifecycle;
