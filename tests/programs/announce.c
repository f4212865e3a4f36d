/* Rank 1 sends without end (2 ranks). After each send that has finished it
 * adds a byte to the file argv[1], so that a test that kills it knows the
 * number of finished sends. The file argv[1].pid holds its process id. */
#include "check.h"
#include <fcntl.h>
#include <unistd.h>

static void announce_pid(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.pid", path);
    FILE *f = fopen(name, "w");
    REQUIRE(f != NULL);
    fprintf(f, "%ld\n", (long)getpid());
    fclose(f);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    REQUIRE(argc == 2);
    if (world_rank == 0)
        for (;;)
            recv_bytes(100, 1, MPI_COMM_WORLD);
    int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(file >= 0);
    announce_pid(argv[1]);
    for (;;) {
        send_bytes(100, 0, MPI_COMM_WORLD);
        REQUIRE(write(file, ".", 1) == 1);
    }
}
