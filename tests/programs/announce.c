/* Rank 1 sends without end, and after each send that has finished adds a byte
 * to the file in argv[1], whose name with ".pid" added holds its process id:
 * whoever kills it knows how many sends were done (2 ranks). */
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
