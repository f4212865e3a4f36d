/* A thread initializes MPI and ends before the main thread makes its first
 * call (2 ranks). Another thread sends, too. */
#include "exchange.h"
#include <pthread.h>

static int provided;

static void *initialize(void *arg)
{
    (void)arg;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    to_self(1);
    return NULL;
}

static void *exchange(void *arg)
{
    (void)arg;
    to_self(2);
    return NULL;
}

static void in_thread(void *(*run)(void *))
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(void)
{
    in_thread(initialize);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    in_thread(exchange);
    to_self(4);
    return end();
}
