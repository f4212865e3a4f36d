/* The plugin of host.c, a shared object that uses MPI (2 ranks). */
#include "check.h"

int plugin_main(int argc, char **argv);

int plugin_main(int argc, char **argv)
{
    begin(argc, argv, 2);
    if (world_rank == 0)
        send_bytes(77, 1, MPI_COMM_WORLD);
    else
        recv_bytes(77, 0, MPI_COMM_WORLD);
    return end();
}
