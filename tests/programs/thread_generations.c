/* More threads than a small trace has chunks (1 rank). 20 threads that exist
 * at the same time make a call each, and end. Then 3 threads that exist at
 * the same time send 100 messages each to MPI_PROC_NULL. */
#include "check.h"
#include <pthread.h>

enum { MANY = 20, FEW = 3, SENDS = 100 };

static pthread_barrier_t all_there;

static void *one_call(void *unused)
{
    MPI_Barrier(MPI_COMM_SELF);
    pthread_barrier_wait(&all_there);
    return unused;
}

static void *sends(void *unused)
{
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < SENDS; i++)
        MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
    pthread_barrier_wait(&all_there);
    return unused;
}

static void generation(unsigned count, void *(*run)(void *))
{
    pthread_t threads[MANY];
    pthread_barrier_init(&all_there, NULL, count);
    for (unsigned i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, NULL) == 0);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&all_there);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    generation(MANY, one_call);
    generation(FEW, sends);
    return end();
}
