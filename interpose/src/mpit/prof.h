// The classic text profile, one file per process. It is the only format that the
// library writes itself, so that a user who preloads the library by hand needs no
// other program.
#ifndef MT_PROF_H
#define MT_PROF_H

#include "mpit/sums.h"

// Writes $MPITRACE_PROF.<world rank>.prof, if MPITRACE_PROF is set.
void mt_prof_write(void);

// Writes these sums, taken with MT_SUM_ALL, to <prefix>.<world rank>.prof. Returns
// false if it could not write the whole file; then there is no file.
bool mt_prof_print(const mt_sums *sums, const char *prefix);

#endif
