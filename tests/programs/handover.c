/* One thread posts receives and another completes them, while both also
 * communicate with others (2 ranks). */
#include "check.h"

#include <pthread.h>

enum { ROUNDS = 500 };

static MPI_Request handed[ROUNDS];
static _Atomic int posted;

static void *complete(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        while (posted <= i)
            ;
        MPI_Wait(&handed[i], MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void post(void)
{
    static char data[ROUNDS][8], own[8];
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Irecv(data[i], 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &handed[i]);
        posted = i + 1;
        MPI_Recv(own, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static char data[8];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (world_rank == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            MPI_Send(data, 2, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            MPI_Send(data, 1 + i % 7, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        }
    } else {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, complete, NULL) == 0);
        post();
        pthread_join(thread, NULL);
    }
    return end();
}
