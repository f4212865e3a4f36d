// Stepping aside, where the MPI is not the one we were built for.
#ifndef MT_ASIDE_H
#define MT_ASIDE_H

// Makes every wrapper a plain jump to the MPI's own function.
void mt_step_aside(void);

// Makes them wrappers again, if they are jumps: that MPI was unloaded.
void mt_step_back(void);

#endif
