// The size of a received message, from its status, and the class of an error.
#ifndef MT_STATUS_H
#define MT_STATUS_H

#include "base/base.h"
#include "base/resolve.h"
#include "objects/comm.h"
#include "objects/state.h"

void mt_status_open(void);
uint64_t mt_status_query(const MPI_Status *status);

// Returns the number of bytes from the fields of a status. The MPI Standard does not define
// these fields, so mt_status_open checks them before they are used.
MT_INLINE uint64_t mt_status_fields(const MPI_Status *status)
{
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(MPICH_NUMVERSION) || defined(MPICH_VERSION)
    return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#elif defined(MT_STANDARD_ABI)
    const uint32_t *low = (const uint32_t *)&status->reserved[mt_objects.status_word];
    return low[0] | (uint64_t)(low[1] >> mt_objects.status_flags) << 32;
#else
    return mt_status_query(status);
#endif
}

MT_INLINE uint64_t mt_status_bytes(const MPI_Status *status)
{
    return mt_likely(mt_objects.status_trusted) ? mt_status_fields(status) : mt_status_query(status);
}

// Returns the class of an error that the MPI itself returned. Looks up no argument of the
// call that failed.
int mt_error_class(int error);

// Returns the source of a failed receive's message as a rank in the communicator, as in a
// row: the posted one, or for MPI_ANY_SOURCE that of the status if it is a rank.
int32_t mt_failed_source(const mt_comm *c, int32_t posted, const MPI_Status *status);

// Returns the tag of a truncated message if the status has it, else MT_EVENT_NO_TAG.
int32_t mt_failed_tag(int32_t posted, const MPI_Status *status);

#endif
