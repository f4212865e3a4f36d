/* A thread with a pending cancellation (1 rank). MPI calls are not cancellation
 * points, so it makes all its calls, and ends at a cancellation point of its own. It,
 * and then main, send themselves 1, 2, 4 … bytes on each of 400 communicators. */
#include "check.h"
#include <pthread.h>

enum { COMMS = 400, SIZES = 12 };

static MPI_Comm comms[COMMS];
static int sent;

static void send_all(void)
{
    static char out[1 << SIZES], in[1 << SIZES];
    for (int k = 0; k < SIZES; k++)
        for (int i = 0; i < COMMS; i++, sent++)
            MPI_Sendrecv(out, 1 << k, MPI_BYTE, 0, 0, in, 1 << k, MPI_BYTE, 0, 0, comms[i], MPI_STATUS_IGNORE);
}

static void *cancelled(void *unused)
{
    pthread_cancel(pthread_self());
    send_all();
    pthread_testcancel();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *result;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    REQUIRE(pthread_create(&thread, NULL, cancelled, NULL) == 0);
    pthread_join(thread, &result);
    REQUIRE(sent == COMMS * SIZES && result == PTHREAD_CANCELED);
    send_all();
    return end();
}
