/* Ends without MPI_Finalize (2 ranks): ends return|exit|_exit|signal. Each
 * rank sends itself 100 messages of 7 bytes, and its exit handler sends one
 * of 9 bytes. */
#include "exchange.h"
#include <string.h>
#include <unistd.h>

static void at_exit(void)
{
    to_self(9);
    MPI_Barrier(MPI_COMM_WORLD); /* a launcher may end the other ranks when one has ended */
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    REQUIRE(argc == 2);
    atexit(at_exit);
    for (int i = 0; i < 100; i++)
        to_self(7);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "exit") == 0)
        exit(0);
    if (strcmp(argv[1], "_exit") == 0)
        _exit(0);
    if (strcmp(argv[1], "signal") == 0)
        abort();
    return 0;
}
