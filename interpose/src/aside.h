// Stepping aside, where the MPI is not the one we were built for.
#ifndef MT_ASIDE_H
#define MT_ASIDE_H

// Makes every wrapper a plain jump to the function of the MPI, which is in the file
// `mpi`.
void mt_step_aside(const char *mpi);

// Makes them wrappers again, if they are jumps: that MPI was unloaded.
void mt_step_back(void);

#endif
