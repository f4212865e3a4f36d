/* Calls that C++ exceptions leave: from an error handler and from a reduction function (2 ranks). */
#include "check.h"
#include <stdexcept>

static void throw_error(MPI_Comm *, int *, ...) { throw std::runtime_error("error"); }

static void throw_in_reduction(void *, void *, int *, MPI_Datatype *) { throw std::runtime_error("reduction"); }

template <typename Call> static void leave(int times, Call call)
{
    int caught = 0;
    for (int i = 0; i < times; i++)
        try {
            call();
        } catch (const std::runtime_error &) {
            caught++;
        }
    REQUIRE(caught == times);
}

/* call_deeper makes a call while there is room on the stack for the calls that were left. */
static void __attribute__((noinline)) call_deeper(MPI_Comm comm)
{
    volatile char room[4096];
    room[0] = 0;
    MPI_Barrier(comm);
    room[1] = room[0];
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    static char data[100];
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Op op;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(throw_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Op_create(throw_in_reduction, 1, &op);
    for (int i = 0; i < 10; i++) {
        leave(10, [&] { MPI_Send(data, 1, MPI_BYTE, 7, 0, comm); });
        call_deeper(comm);
        MPI_Sendrecv(data, 1, MPI_BYTE, 1 - world_rank, 0, data + 1, 1, MPI_BYTE, 1 - world_rank, 0, comm,
                     MPI_STATUS_IGNORE);
    }
    int in = 1, out = 2;
    leave(3, [&] { MPI_Reduce_local(&in, &out, 1, MPI_INT, op); });
    if (world_rank == 1)
        for (int i = 0; i < 5; i++)
            MPI_Send(data, 100, MPI_BYTE, 0, 1, comm);
    MPI_Barrier(comm);
    if (world_rank == 0)
        leave(5, [&] { MPI_Recv(data, 10, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE); });
    MPI_Op_free(&op);
    MPI_Errhandler_free(&handler);
    return end();
}
