/* A library between a program and its MPI that does what the MPIs in the
 * tests never do. A send with tag 99 can be cancelled: it is a receive that
 * no message matches. Waiting for a receive with tag 98 fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (tag == 99)
        return PMPI_Irecv(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_SELF, request);
    return REAL(PMPI_Isend)(buf, count, type, dest, tag, comm, request);
}

int PMPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    if (tag == 99)
        return PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, tag, MPI_COMM_SELF, request);
    return REAL(PMPI_Send_init)(buf, count, type, dest, tag, comm, request);
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own;
    int rc = REAL(PMPI_Wait)(request, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return own.MPI_TAG == 98 ? MPI_ERR_OTHER : rc;
}
