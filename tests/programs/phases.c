/* Named phases (2 ranks). Each sends a different power of two. The ranks
 * begin them for the first time in different orders. */
#include "check.h"
#include <mpitrace.h>
#include <string.h>

static void exchange(int bytes)
{
    if (world_rank == 0)
        send_bytes(bytes, 1, MPI_COMM_WORLD);
    else
        recv_bytes(bytes, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    char name[] = "solve", longest[301];
    mpitrace_phase("before MPI_Init");
    begin(argc, argv, 2);
    mpitrace_phase(world_rank == 0 ? "output" : "only rank 1");
    mpitrace_phase("run");
    exchange(1);
    mpitrace_phase(name);
    memcpy(name, "other", sizeof name); /* the library must have copied the name */
    exchange(2);
    mpitrace_phase("output");
    exchange(4);
    mpitrace_phase("solve");
    exchange(8);
    mpitrace_phase(NULL);
    mpitrace_phase("");
    exchange(16);
    MPI_Pcontrol(0);
    mpitrace_phase("later");
    exchange(32);
    MPI_Pcontrol(1);
    exchange(64);
    MPI_Pcontrol(7);
    exchange(128);
    mpitrace_phase("7");
    exchange(256);
    memset(longest, 'x', 300);
    longest[300] = 0;
    mpitrace_phase(longest);
    exchange(512);
    mpitrace_phase("caf\xe9"); /* not UTF-8 */
    exchange(1024);
    mpitrace_phase("run");
    exchange(2048);
    end();
    mpitrace_phase("after MPI_Finalize");
    return 0;
}
