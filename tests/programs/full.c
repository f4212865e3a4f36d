/* There is no room for the table of a second thread: the files of this
 * process cannot grow while that thread makes 1,000 calls. */
#include "check.h"

#include <pthread.h>
#include <sys/resource.h>

static void *probe(void *unused)
{
    (void)unused;
    for (int i = 0, flag; i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    struct rlimit before, none;
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &none);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, probe, NULL) == 0);
    pthread_join(thread, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    MPI_Barrier(MPI_COMM_SELF);
    return end();
}
