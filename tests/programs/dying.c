/* Each rank sends 100 bytes to its right neighbour by MPI_Sendrecv. It adds a
 * byte to the file DIRECTORY/<rank> after each call that has returned, so that
 * the test knows the number of calls. After CALLS calls, rank RANK ends in the
 * way WAY, and the others make one more call. With the way "go" no rank ends, and
 * all ranks send until they are killed.
 *
 *     dying DIRECTORY WAY RANK CALLS
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void overflow(volatile int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    if (depth >= 0)
        overflow(depth + 1);
    frame[1] = frame[0];
}

static void die(const char *way)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"SIGTERM", SIGTERM}, {"SIGKILL", SIGKILL}, {"SIGXCPU", SIGXCPU},
                   {"SIGINT", SIGINT},   {"SIGFPE", SIGFPE}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(way, signals[i].name) == 0)
            kill(getpid(), signals[i].number);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "SIGSEGV") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(way, "stack overflow") == 0)
        overflow(0);
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
    if (strcmp(way, "MPI_Abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(way, "hang") == 0)
        for (;;)
            pause();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(argc == 5);
    const char *way = argv[2];
    int victim = atoi(argv[3]);
    long calls = atol(argv[4]);
    char path[4096], out[100] = "", in[100];
    snprintf(path, sizeof path, "%s/%d", argv[1], world_rank);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(file >= 0);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (long i = 0; i < calls || strcmp(way, "go") == 0; i++) {
        MPI_Sendrecv(out, 100, MPI_CHAR, right, 0, in, 100, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(write(file, ".", 1) == 1);
    }
    if (strcmp(way, "return") == 0 && world_rank == victim)
        return 5;
    if (strcmp(way, "Finalize") != 0) {
        if (world_rank == victim)
            die(way);
        MPI_Sendrecv(out, 100, MPI_CHAR, right, 0, in, 100, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (world_rank == victim) {
        die("hang"); /* the others are in MPI_Finalize, which does not return */
    }
    MPI_Finalize();
    return 0;
}
