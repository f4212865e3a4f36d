// What the launcher tells this process about its job.
#ifndef MT_JOB_H
#define MT_JOB_H

#include <stdbool.h>
#include <stddef.h>

// Writes a name that all processes of the job have, and processes of other jobs do not.
void mt_job_name(char *name, size_t size);

// Finds the rank of this process among those that the launcher started, and their
// number, which is -1 if it is not known. Returns false if the rank is not known.
bool mt_job_rank(int *rank, int *size);

// The launcher's number of this process among those of its job on its node, and how many
// these are; -1 if that is not known.
int mt_job_local_rank(void);
int mt_job_local_size(void);

// Returns the rank for use in messages: the MPI rank; until that is known, the rank that
// the launcher gave; -1 if it gave none.
int mt_job_rank_for_messages(void);

// Writes the name of the default run directory: mpitrace-<batch job or parent's pid>.
void mt_job_directory(char *name, size_t size);

#endif
