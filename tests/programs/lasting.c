/* Ranks that do not end by themselves. Each writes its process id to the
 * file argv[2].<rank>. argv[1] selects what they do:
 *   ring      passes a message round a ring without end
 *   deaf      does the same, and ignores SIGINT and SIGTERM
 *   finalize  is in MPI_Finalize, which rank 0 never calls
 *   leave     rank 1 ends with status 5; the others continue
 *   exec      rank 1 executes another program, which ends with status 5 */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void write_pid(const char *prefix)
{
    char part[4096], name[4096];
    snprintf(part, sizeof part, "%s.%d.part", prefix, world_rank);
    snprintf(name, sizeof name, "%s.%d", prefix, world_rank);
    FILE *f = fopen(part, "w");
    REQUIRE(f != NULL);
    fprintf(f, "%ld\n", (long)getpid());
    fclose(f);
    REQUIRE(rename(part, name) == 0);
}

static void pass(void)
{
    char out[100] = "", in[100];
    MPI_Sendrecv(out, 100, MPI_CHAR, (world_rank + 1) % world_size, 0, in, 100, MPI_CHAR,
                 (world_rank + world_size - 1) % world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(argc == 3);
    for (int i = 0; i < 3; i++)
        pass();
    if (strcmp(argv[1], "deaf") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    write_pid(argv[2]);
    MPI_Barrier(MPI_COMM_WORLD); // all have written their process id before any ends
    if (strcmp(argv[1], "finalize") == 0 && world_rank > 0)
        MPI_Finalize();
    if (strcmp(argv[1], "leave") == 0 && world_rank == 1)
        _exit(5);
    if (strcmp(argv[1], "exec") == 0 && world_rank == 1)
        execlp("sh", "sh", "-c", "sleep 0.5; exit 5", (char *)NULL);
    for (;;) {
        usleep(1000);
        if (strcmp(argv[1], "ring") == 0 || strcmp(argv[1], "deaf") == 0)
            pass();
    }
}
