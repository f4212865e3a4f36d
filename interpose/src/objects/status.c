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

// Checks mt_status_fields: sets counts with the MPI's own function and reads them back both
// ways.
void mt_status_open(void)
{
    static const MPI_Count counts[] = {0, 1, 12345, 0x7fffffff, 0x80000000, 0xffffffff, 0x123456789a};
    MPI_Status status;
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
