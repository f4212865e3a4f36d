// The MPI's eager limits: up to which size a send completes without its receiver.
#ifndef MT_EAGER_H
#define MT_EAGER_H

// Logs the limits of this process, once MPI is initialized and if it is traced.
// It costs some microseconds.
void mt_eager_log(void);

#endif
