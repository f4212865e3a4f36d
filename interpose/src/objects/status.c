#include "objects/status.h"

#include "base/resolve.h"

#include <string.h>

uint64_t mt_status_query(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    if (mt_pmpi.Get_elements_x(status, mt_const.byte, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    return (uint64_t)bytes;
}

#ifdef MT_STANDARD_ABI
// Finds the count in the fields that the standard ABI leaves to each MPI: sets a count with
// the MPI's own function, and looks for its halves. MPICH has one flag in the high half.
static void find_count(void)
{
    enum { LOW = 0x3456789a, HIGH = 0x12 };
    MPI_Status status;
    memset(&status, 0, sizeof status);
    const uint32_t *words = (const uint32_t *)status.reserved;
    if (mt_pmpi.Status_set_elements_x(&status, mt_const.byte, (MPI_Count)HIGH << 32 | LOW) != MPI_SUCCESS)
        return;
    for (uint8_t i = 0; i + 1 < sizeof status.reserved / sizeof *words; i++)
        for (uint8_t flags = 0; flags <= 1; flags++)
            if (words[i] == LOW && words[i + 1] >> flags == HIGH) {
                mt_objects.status_word = i;
                mt_objects.status_flags = flags;
                return;
            }
}
#endif

// Checks mt_status_fields: sets counts with the MPI's own function and reads them back both
// ways.
void mt_status_open(void)
{
    static const MPI_Count counts[] = {0, 1, 12345, 0x7fffffff, 0x80000000, 0xffffffff, 0x123456789a};
    MPI_Status status;
#ifdef MT_STANDARD_ABI
    find_count();
#endif
    memset(&status, 0, sizeof status);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (mt_pmpi.Status_set_elements_x(&status, mt_const.byte, counts[i]) != MPI_SUCCESS ||
            mt_status_query(&status) != (uint64_t)counts[i] || mt_status_fields(&status) != (uint64_t)counts[i])
            return;
    }
    mt_objects.status_trusted = true;
}

int mt_error_class(int error)
{
    int class = error;
    return mt_pmpi.Error_class(error, &class) == MPI_SUCCESS ? class : error;
}

int32_t mt_failed_source(const mt_comm *c, int32_t posted, const MPI_Status *status)
{
    if (posted != MT_PEER_ANY_SOURCE || !status || status->MPI_SOURCE < 0 || status->MPI_SOURCE >= c->peers)
        return posted;
    return status->MPI_SOURCE;
}

int32_t mt_failed_tag(int32_t posted, const MPI_Status *status)
{
    bool valid = status && status->MPI_SOURCE >= 0 && status->MPI_TAG >= 0 &&
                (posted == MT_PEER_ANY_SOURCE || status->MPI_SOURCE == posted);
    return valid ? status->MPI_TAG : MT_EVENT_NO_TAG;
}
