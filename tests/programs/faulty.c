/* A library between a program and its MPI that does what the MPIs in the
 * tests never do. A send with tag 99 can be cancelled: it is a receive that
 * no message matches. A receive with tag 98, or waiting for it, fails after it
 * has received its message. */
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

int PMPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int rc = REAL(PMPI_Recv)(buf, count, type, source, tag, comm, status);
    return tag == 98 ? MPI_ERR_OTHER : rc;
}

int PMPI_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    int rc = REAL(PMPI_Mrecv)(buf, count, type, message, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return own.MPI_TAG == 98 ? MPI_ERR_OTHER : rc;
}

int PMPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int dest, int out_tag, void *in, int in_count,
                  MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    int rc = REAL(PMPI_Sendrecv)(out, out_count, out_type, dest, out_tag, in, in_count, in_type, source, in_tag, comm,
                                 status);
    return in_tag == 98 ? MPI_ERR_OTHER : rc;
}
