/* Calls MPI in callbacks (2 ranks): when attributes are deleted, in
 * Comm_free and in Finalize; in a reduction operation; and in an error
 * handler that does not return. */
#include "exchange.h"
#include <setjmp.h>
#include <time.h>

static jmp_buf back;

/* deleted sends the rank itself *value bytes, and makes rank 0 wait for rank 1 in
 * a Barrier. */
static int deleted(MPI_Comm comm, int key, void *value, void *state)
{
    struct timespec t = {0, 200000000};
    (void)comm, (void)key, (void)state;
    to_self(*(int *)value);
    if (world_rank == 1)
        nanosleep(&t, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

/* The number of elements that `add` has added. The MPI may call it once or several
 * times. */
static int elements;

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Info info;
    (void)type;
    for (int i = 0; i < *len; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
        MPI_Info_create(&info);
        MPI_Info_free(&info);
        elements++;
    }
}

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

int main(int argc, char **argv)
{
    static int on_free = 3, on_finalize = 5;
    int key, mine[3] = {1, 2, 3}, sum[3];
    MPI_Comm comm;
    MPI_Op op;
    MPI_Errhandler handler;
    begin(argc, argv, 2);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &on_free);
    double start = MPI_Wtime();
    MPI_Comm_free(&comm);
    double in_free = MPI_Wtime() - start;
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &on_finalize);

    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(mine, sum, 3, MPI_INT, op, MPI_COMM_WORLD);
    REQUIRE(sum[0] == 2 && sum[1] == 4 && sum[2] == 6);
    MPI_Op_free(&op);

    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    volatile int escaped = 0;
    for (volatile int i = 0; i < 10; i++)
        if (setjmp(back) == 0) {
            MPI_Send("", 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD);
            REQUIRE(0);
        } else {
            escaped++;
        }
    REQUIRE(escaped == 10);
    to_self(16);
    fprintf(stderr, "elements %d\nfree %d %.0f\n", elements, world_rank, 1e9 * in_free);
    return end();
}
