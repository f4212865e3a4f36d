#include "objects/state.h"

mt_objects_state mt_objects;
