// How many bytes a receive really got, from its status; and what an error is.
#ifndef MT_STATUS_H
#define MT_STATUS_H

#include "base/base.h"
#include "base/resolve.h"
#include "objects/state.h"

void mt_status_open(void);
uint64_t mt_status_ask(const MPI_Status *status);

// The count of bytes as the status holds it: its fields are no part of the
// standard, so they are tried out before they are believed (status.c).
MT_INLINE uint64_t mt_status_fields(const MPI_Status *status)
{
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_NUMVERSION) || defined(MPICH_VERSION)
    return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#else
    return mt_status_ask(status);
#endif
}

MT_INLINE uint64_t mt_status_bytes(const MPI_Status *status)
{
    return mt_likely(mt_objects.status_trusted) ? mt_status_fields(status) : mt_status_ask(status);
}

// The class of an error that the MPI itself returned: no look-up of what failed.
int mt_error_class(int error);

#endif
