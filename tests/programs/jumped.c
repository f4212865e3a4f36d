/* An error handler leaves failed sends by longjmp, repeatedly. The calls
 * that follow contain other calls: an Allreduce whose operation makes a
 * datatype (2 ranks). */
#include "check.h"
#include <setjmp.h>

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Datatype pair;
    (void)type;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_free(&pair);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    MPI_Errhandler handler;
    MPI_Op op;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Op_create(add, 1, &op);
    for (volatile int i = 0; i < 10; i++) {
        int x = 1, sum = 0;
        if (setjmp(back) == 0)
            MPI_Send(&x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&x, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
        REQUIRE(sum == 2);
    }
    MPI_Op_free(&op);
    MPI_Errhandler_free(&handler);
    return end();
}
