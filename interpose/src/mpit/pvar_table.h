// The performance variables that the library offers to programs through MPI_T: those
// of Open MPI's monitoring, under its names, and some of our own. Their values are
// sums of the rows. Nothing is counted for them in MPI calls, except for a high-water
// mark while a started handle watches it.
#ifndef MT_PVAR_TABLE_H
#define MT_PVAR_TABLE_H

#include "objects/comm.h"

// Where the value of a variable comes from.
typedef enum mt_form {
    MT_FORM_FLUSH,         // a text: see pvar_handle.c
    MT_FORM_BY_PEER,       // counted, for each member of the communicator
    MT_FORM_BY_COMM,       // counted, on the communicator
    MT_FORM_TOTAL,         // counted, in the whole process
    MT_FORM_STATE,         // the present state
    MT_FORM_HIGHWATERMARK, // the largest value of the state since the last reset
} mt_form;

typedef struct mt_pvar_entry {
    const char *name, *what;
    int class, verbosity;
    mt_form form;
    unsigned part;                 // of the sums: MT_SUM_…
    size_t list, word;             // offsets: in mt_sums or mt_block, and in mt_volume_sum
    uint64_t (*now)(void);
    bool seconds;                  // words are in ticks; MPI_T returns seconds as double
} mt_pvar_entry;

// Return the n-th variable, and the number of variables.
const mt_pvar_entry *mt_pvar_table_at(int n);
int mt_pvar_table_count(void);

// Reports whether the variable counts. A handle of such a variable returns the
// difference to the time when it was started.
static inline bool mt_pvar_table_counts(const mt_pvar_entry *v)
{
    return v->form == MT_FORM_BY_PEER || v->form == MT_FORM_BY_COMM || v->form == MT_FORM_TOTAL;
}

// Reports whether the variable is bound to a communicator.
static inline bool mt_pvar_table_bound(const mt_pvar_entry *v)
{
    return v->form == MT_FORM_FLUSH || v->form == MT_FORM_BY_PEER || v->form == MT_FORM_BY_COMM;
}

// Reads the variable's total up to now into `count` words. Writes zeros while nothing
// is recorded. Returns false if there is no memory.
bool mt_pvar_table_read(const mt_pvar_entry *v, const mt_comm *c, uint64_t *words, int count);

// Converts ticks to nanoseconds, at the rate known so far. Handles keep what they
// counted in nanoseconds: the rate changes a little with time, and a value kept in
// ticks would change although nothing is counted.
uint64_t mt_pvar_table_nanoseconds(uint64_t ticks);

// Called when the recording ends, and when it continues because the program opens a
// session after all were closed. In between, handles keep their values and count
// nothing.
void mt_pvar_table_freeze(void);
void mt_pvar_table_thaw(void);

#endif
