// Which of the MPI's performance variables are read: those that MPITRACE_PVAR
// names, by globs with commas between them, and the one that is watched (unexpected.h).
#ifndef MT_VARIABLES_H
#define MT_VARIABLES_H

#include "mpit/mpit.h"

typedef struct mt_variable {
    char *name;
    const mt_mpit_type *type;
    int number;       // as MPI_T has it
    uint32_t index;   // as the recording has it
    uint32_t binding; // MT_PVAR_UNBOUND, MT_PVAR_COMMUNICATOR or MT_PVAR_WINDOW
    bool continuous;
    bool read;   // else it is only watched
    bool failed; // in some object, and it was said
} mt_variable;

typedef struct mt_variable_list {
    mt_variable *list;
    int count;
    int queue; // which of them is watched, or -1
    bool chosen;
} mt_variable_list;

extern MT_OURS mt_variable_list mt_variables;

// Reads the settings; whether they name any.
void mt_variables_prepare(void);
bool mt_variables_named(void);

// Whether the queue of unexpected messages is watched, and how many may wait in it.
bool mt_variables_watched(void);
uint64_t mt_variables_allowed(void);

// Once MPI is initialized, and MPI_T is open: writes down what will be read, and
// says what is asked for in vain.
void mt_variables_choose(void);

#endif
