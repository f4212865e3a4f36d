// The performance variables that programs are offered through MPI_T: those of
// Open MPI's monitoring, by its names, and some of our own. What they hold is
// what the rows add up to; nothing is counted for them, but for a high-water mark
// while somebody watches it.
#ifndef MT_PVAR_TABLE_H
#define MT_PVAR_TABLE_H

#include "objects/comm.h"

// How a variable has its value.
typedef enum mt_form {
    MT_FORM_FLUSH,   // a text: see pvar_handle.c
    MT_FORM_BY_PEER, // what was counted, for each member of the communicator
    MT_FORM_BY_COMM, // what was counted on the communicator
    MT_FORM_TOTAL,   // what was counted in all
    MT_FORM_NOW,     // how it is now
    MT_FORM_MOST,    // the most that it was
} mt_form;

typedef struct mt_pvar_entry {
    const char *name, *what;
    int class, verbosity;
    mt_form form;
    unsigned part;                 // of the sums
    size_t list, word;             // where in mt_sums, or mt_block, or a peer's volume
    uint64_t (*now)(void);
    bool seconds;                  // words are ticks, values doubles
} mt_pvar_entry;

// The n-th, and how many there are.
const mt_pvar_entry *mt_pvar_table_at(int n);
int mt_pvar_table_count(void);

// Whether it counts: what is read is the difference to when it was started.
static inline bool mt_pvar_table_counts(const mt_pvar_entry *v)
{
    return v->form == MT_FORM_BY_PEER || v->form == MT_FORM_BY_COMM || v->form == MT_FORM_TOTAL;
}

static inline bool mt_pvar_table_bound(const mt_pvar_entry *v)
{
    return v->form == MT_FORM_FLUSH || v->form == MT_FORM_BY_PEER || v->form == MT_FORM_BY_COMM;
}

// What it is in all up to now, in so many words; false for want of memory. Zeros
// while nothing is recorded.
bool mt_pvar_table_read(const mt_pvar_entry *v, const mt_comm *c, uint64_t *words, int count);

// Ticks as nanoseconds, at the rate that is known by now: what was counted is kept
// as those, or it would change while nothing is counted.
uint64_t mt_pvar_table_nanoseconds(uint64_t ticks);

// Between a recording's end and its going on (a session that is opened after all
// were closed) all that was counted is still, and counts no more.
void mt_pvar_table_freeze(void);
void mt_pvar_table_thaw(void);

#endif
