// From the first MPI call to the last.
#ifndef MT_LIFECYCLE_H
#define MT_LIFECYCLE_H

#include "record.h"

// MPI_Init is being entered: the recording is made. The span's thread is not
// known yet.
mt_span mt_enter_init(unsigned call, uint64_t site);
void mt_leave_init(mt_span *s, int rc);

// Around MPI_Finalize.
void mt_finalizing(void);
void mt_finalized(mt_span *s, int rc);

#endif
