// Which of the MPI's performance variables are read: those that MPITRACE_PVAR names
// (globs, separated by commas), and the length of the queue of unexpected messages
// (unexpected.h).
#ifndef MT_VARIABLES_H
#define MT_VARIABLES_H

#include "mpit/mpit.h"

typedef struct mt_variable {
    char *name;
    const mt_mpit_type *type;
    int number;       // index in MPI_T
    uint32_t index;   // index in the recording
    uint32_t binding; // MT_PVAR_UNBOUND, MT_PVAR_COMMUNICATOR or MT_PVAR_WINDOW
    bool continuous;
    bool read;   // written to the recording; if false, only used for late receives
    bool failed; // in some object, and a message was printed
} mt_variable;

typedef struct mt_variable_list {
    mt_variable *list;
    int count;
    int queue; // index of the length of the unexpected queue, or -1
    bool chosen;
} mt_variable_list;

// mt_variables_prepare reads the settings; mt_variables_named reports whether
// MPITRACE_PVAR names any variables.
void mt_variables_prepare(void);
bool mt_variables_named(void);

// mt_variables_late_receives reports whether late receives are counted;
// mt_variables_late_limit returns how many messages may wait before a receive is late.
bool mt_variables_late_receives(void);
uint64_t mt_variables_late_limit(void);

// Chooses the variables, writes their records, and prints a message for each pattern
// that matches none. Called once MPI is initialized and MPI_T is open.
void mt_variables_choose(void);

#endif
