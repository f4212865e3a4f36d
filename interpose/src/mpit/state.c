#include "mpit/state.h"

mt_mpit_state mt_mpit = {.variables = {.queue = -1}};
