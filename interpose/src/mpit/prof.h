// The classic text profile, one file a process: the only format that the
// library writes itself, so that a preload by hand needs no other program.
#ifndef MT_PROF_H
#define MT_PROF_H

#include "mpit/sums.h"

// Writes $MPITRACE_PROF.<world rank>.prof, if that is set.
void mt_prof_write(void);

// Writes all of these sums as <prefix>.<world rank>.prof, whole or not at all.
bool mt_prof_print(const mt_sums *sums, const char *prefix);

#endif
