/* Each rank sends argv[1] messages of 8 bytes round a ring, then as many again. Between
 * them, rank 0 makes the file argv[2].half, and all wait for the file argv[2].go. */
#include "check.h"

#include <unistd.h>

static void send_half(int messages)
{
    long out = 0, in;
    for (int i = 0; i < messages; i++)
        MPI_Sendrecv(&out, 8, MPI_BYTE, (world_rank + 1) % world_size, 0, &in, 8, MPI_BYTE, (world_rank + world_size - 1) % world_size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    char half[4096], go[4096];
    begin(argc, argv, 2);
    REQUIRE(argc == 3);
    snprintf(half, sizeof half, "%s.half", argv[2]);
    snprintf(go, sizeof go, "%s.go", argv[2]);
    send_half(atoi(argv[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        FILE *f = fopen(half, "w");
        REQUIRE(f != NULL && fclose(f) == 0);
    }
    while (access(go, F_OK) != 0)
        usleep(10000);
    send_half(atoi(argv[1]));
    return end();
}
