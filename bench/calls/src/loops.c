// The measured calls, in C. Callgrind finds the loops by their function names.

#include "place.h"

void loop_Send(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Send(p->out, 1, MPI_DOUBLE, MPI_PROC_NULL, TAG, p->comm);
}

void loop_IsendIrecvWaitall(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++) {
        MPI_Request requests[2];
        MPI_Isend(p->out, 1, MPI_DOUBLE, p->self, TAG, p->comm, &requests[0]);
        MPI_Irecv(p->in, 1, MPI_DOUBLE, p->self, TAG, p->comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

void loop_Sendrecv(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Sendrecv(p->out, 1, MPI_DOUBLE, p->self, TAG, p->in, 1, MPI_DOUBLE, p->self, TAG, p->dup,
                     MPI_STATUS_IGNORE);
}

// A receive at the edge of a domain.
void loop_RecvNull(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Recv(p->in, 1, MPI_DOUBLE, MPI_PROC_NULL, TAG, p->comm, MPI_STATUS_IGNORE);
}

void loop_SendrecvNull(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Sendrecv(p->out, 1, MPI_DOUBLE, MPI_PROC_NULL, TAG, p->in, 1, MPI_DOUBLE, MPI_PROC_NULL, TAG, p->comm,
                     MPI_STATUS_IGNORE);
}

void loop_Iprobe(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++) {
        int flag;
        MPI_Iprobe(p->self, SILENT_TAG, p->comm, &flag, MPI_STATUS_IGNORE);
    }
}

void loop_Test(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++) {
        int flag;
        MPI_Test(&p->request, &flag, MPI_STATUS_IGNORE);
    }
}

void loop_Allreduce(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Allreduce(p->out, p->in, 1, MPI_DOUBLE, MPI_SUM, p->group);
}

void loop_Bcast(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Bcast(p->in, 1, MPI_DOUBLE, 0, p->group);
}

void loop_Barrier(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Barrier(p->group);
}

void loop_PutFlush(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++) {
        MPI_Put(p->out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, p->win);
        MPI_Win_flush(0, p->win);
    }
}

void loop_Window(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++) {
        MPI_Request requests[2 * WINDOW];
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(&p->in[k], 1, MPI_DOUBLE, p->peer, TAG, p->comm, &requests[k]);
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(&p->out[k], 1, MPI_DOUBLE, p->peer, TAG, p->comm, &requests[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

void loop_Alltoallv(struct place *p, long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Alltoallv(p->out, p->counts, p->displacements, MPI_DOUBLE, p->in, p->counts,
                      p->displacements, MPI_DOUBLE, p->group);
}
