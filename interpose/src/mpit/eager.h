// The MPI's eager limits: the largest messages that are sent without waiting for the
// receiver.
#ifndef MT_EAGER_H
#define MT_EAGER_H

// Logs the eager limits of this process, if it writes a trace. Called once MPI is
// initialized. (Cost: some microseconds.)
void mt_eager_log(void);

#endif
