/* Makes rows without end (2 ranks). In each of argv[1] phases a rank sends
 * itself messages from 256 call sites, of i bytes at the i-th. argv[2]
 * limits the resources of the process from MPI_Init on: fsize limits the
 * length of its files, as its memory. */
#include "check.h"

#include <mpitrace.h>
#include <string.h>
#include <sys/resource.h>

static char out[256], in[256];

#define ONE(i)                                                                \
    MPI_Sendrecv(out, i, MPI_BYTE, world_rank, 0, in, 256, MPI_BYTE,          \
                 world_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#define FOUR(i) ONE(i) ONE(i + 1) ONE(i + 2) ONE(i + 3)
#define SIXTEEN(i) FOUR(i) FOUR(i + 4) FOUR(i + 8) FOUR(i + 12)
#define MANY(i) SIXTEEN(i) SIXTEEN(i + 16) SIXTEEN(i + 32) SIXTEEN(i + 48)

static void messages(void)
{
    MANY(0) MANY(64) MANY(128) MANY(192)
}

static rlim_t memory(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    REQUIRE(f && fscanf(f, "%lu", &pages) == 1);
    fclose(f);
    return pages * 4096;
}

static void limit(const char *what)
{
    struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};
    if (strcmp(what, "fsize") == 0) {
        l.rlim_cur = 300000;
        REQUIRE(setrlimit(RLIMIT_FSIZE, &l) == 0);
    } else if (strcmp(what, "as") == 0) {
        l.rlim_cur = memory() + 400000;
        REQUIRE(setrlimit(RLIMIT_AS, &l) == 0);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    messages();
    limit(argc > 2 ? argv[2] : "");
    for (int i = 1; i < atoi(argv[1]); i++) {
        char name[32];
        snprintf(name, sizeof name, "phase %d", i);
        mpitrace_phase(name);
        messages();
    }
    for (int i = 0; i < 256; i++)
        REQUIRE(in[i] == 0);
    return end();
}
