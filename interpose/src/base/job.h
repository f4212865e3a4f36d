// What the launcher says of the job that this process belongs to.
#ifndef MT_JOB_H
#define MT_JOB_H

#include <stdbool.h>
#include <stddef.h>

// A name that all processes of the job share and other jobs do not.
void mt_job_name(char *name, size_t size);

// The rank of this process among those that the launcher started, and how many
// these are (-1 if it does not say).
bool mt_job_rank(int *rank, int *size);

// The rank as messages have it: before it is known, the launcher's word; else -1.
int mt_job_rank_said(void);

// The default run directory: mpitrace-<batch job or parent's pid>.
void mt_job_directory(char *name, size_t size);

#endif
