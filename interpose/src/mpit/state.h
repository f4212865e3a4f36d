// The state of the layer mpit/ that several of its files read.
#ifndef MT_MPIT_STATE_H
#define MT_MPIT_STATE_H

#include "mpit/variables.h"

// The comment of each field states who writes it, and when.
typedef struct mt_mpit_state {
    // The MPI's performance variables that are read. variables.c, once, in MPI_Init.
    mt_variable_list variables;

    // The values of our own performance variables no longer change, from
    // mt_pvar_table_freeze to mt_pvar_table_thaw. tool_pvars.c, under MT_LOCK_TOOL_PVARS.
    bool handles_frozen;
} mt_mpit_state;

extern MT_HIDDEN mt_mpit_state mt_mpit;

#endif
