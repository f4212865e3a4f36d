/* Shared by the test programs. Each program shows one behaviour, with
 * numbers that tests/e2e computes. Rank 0 prints "ok" at the end and nothing
 * else. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* REQUIRE ends the job if a condition does not hold. */
#define REQUIRE(condition)                                                    \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,        \
                    #condition);                                              \
            MPI_Abort(MPI_COMM_WORLD, 3);                                     \
        }                                                                     \
    } while (0)

static int world_rank, world_size;

/* begin starts MPI and requires a world of the given size. In a program that is one of
 * several in a job (TOGETHER), together.c has started MPI and ends it. */
static inline void begin(int argc, char **argv, int size)
{
#ifdef TOGETHER
    (void)argc, (void)argv;
#else
    MPI_Init(&argc, &argv);
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(world_size == size);
}

static inline int end(void)
{
#ifdef TOGETHER
    return 0;
#else
    if (world_rank == 0)
        puts("ok");
    return MPI_Finalize();
#endif
}

static inline int rank_in(MPI_Comm comm)
{
    int r;
    MPI_Comm_rank(comm, &r);
    return r;
}

/* reversed returns a communicator of all processes, the last one first. */
static inline MPI_Comm reversed(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    return comm;
}

static inline void send_bytes(int n, int to, MPI_Comm comm)
{
    static char data[4096];
    REQUIRE(n <= (int)sizeof data);
    MPI_Send(data, n, MPI_BYTE, to, 0, comm);
}

static inline void recv_bytes(int n, int from, MPI_Comm comm)
{
    static char data[4096];
    MPI_Status status;
    int got;
    MPI_Recv(data, (int)sizeof data, MPI_BYTE, from, 0, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    REQUIRE(got == n);
}

#endif
