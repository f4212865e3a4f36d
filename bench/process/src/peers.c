// Makes the MPI calls of one rank, and prints how much memory the process holds at
// the end: peers WHAT N
//
//   halo N      exchanges with N neighbours on each of three communicators (the
//               world, a copy, every other rank), and collectives on each
//   shuffled N  the same, with a third communicator in shuffled order
//   peers N     one send to each of N ranks
//   dups N      makes, uses and frees a copy of the world N times
//   threads N   N threads send, one after the other
//   together N  N threads send, all at once
//   requests N  posts N receives, and then completes them all
//
// Before MPI_Finalize it prints the memory in KiB: the process's own memory,
// including the recording if that is on tmpfs; the resident pages of the file of
// mpitrace's library, which the processes of a node share; and what malloc has
// allocated. Pages of libc are not counted: all processes share them, and how many
// are resident depends on the state of the page cache.
#include <malloc.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, DOUBLES = 128, MAX_TOGETHER = 256 };

static double out[DOUBLES], in[DOUBLES];

static void exchange(MPI_Comm comm, int n)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Request *requests = malloc((size_t)n * 2 * sizeof *requests);
    MPI_Status *statuses = malloc((size_t)n * 2 * sizeof *statuses);
    for (int k = 0; k < ITERATIONS; k++) {
        for (int i = 0; i < n; i++)
            MPI_Irecv(in, DOUBLES, MPI_DOUBLE, (rank + 17 * (i + 1)) % size, 0, comm, &requests[i]);
        for (int i = 0; i < n; i++)
            MPI_Isend(out, DOUBLES, MPI_DOUBLE, (rank + 17 * (i + 1)) % size, 0, comm, &requests[n + i]);
        MPI_Waitall(2 * n, requests, statuses);
        MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Bcast(out, DOUBLES, MPI_DOUBLE, 0, comm);
        MPI_Barrier(comm);
    }
    free(requests);
    free(statuses);
}

static void halo(int n, int color)
{
    int rank;
    MPI_Comm copy, part;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &part);
    exchange(MPI_COMM_WORLD, n);
    exchange(copy, n);
    exchange(part, n);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
}

static void peers(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Send(out, DOUBLES, MPI_DOUBLE, i, 0, MPI_COMM_WORLD);
}

static void dups(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
}

static pthread_barrier_t gate;

static void *send_one(void *together)
{
    MPI_Send(out, DOUBLES, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    if (together)
        pthread_barrier_wait(&gate);
    return NULL;
}

static void threads(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, send_one, NULL);
        pthread_join(thread, NULL);
    }
}

static void together(int n)
{
    pthread_t all[MAX_TOGETHER];
    if (n > MAX_TOGETHER)
        n = MAX_TOGETHER;
    pthread_barrier_init(&gate, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&all[i], NULL, send_one, &gate);
    for (int i = 0; i < n; i++)
        pthread_join(all[i], NULL);
}

static void requests(int n)
{
    MPI_Request *all = malloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; i++)
        MPI_Irecv(in, DOUBLES, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &all[i]);
    MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
    free(all);
}

static long rollup(const char *key)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            sscanf(line + strlen(key), "%ld", &kib);
    if (f)
        fclose(f);
    return kib;
}

/* library_pages returns the resident size of the library's file in KiB, without
 * pages that the process has written, which are its own memory. */
static long library_pages(void)
{
    char line[4352];
    long kib = 0, n;
    int in_library = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            in_library = strstr(line, "/libmpitrace") != NULL;
        else if (in_library && sscanf(line, "Rss: %ld", &n) == 1)
            kib += n;
        else if (in_library && sscanf(line, "Anonymous: %ld", &n) == 1)
            kib -= n;
    }
    if (f)
        fclose(f);
    return kib;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    if (strcmp(what, "halo") == 0)
        halo(n, 0);
    else if (strcmp(what, "shuffled") == 0)
        halo(n, 1);
    else if (strcmp(what, "peers") == 0)
        peers(n);
    else if (strcmp(what, "dups") == 0)
        dups(n);
    else if (strcmp(what, "threads") == 0)
        threads(n);
    else if (strcmp(what, "together") == 0)
        together(n);
    else if (strcmp(what, "requests") == 0)
        requests(n);
    else
        return 2;
    struct mallinfo2 m = mallinfo2();
    size_t allocated = (m.uordblks + m.hblkhd) / 1024;
    printf("held: %ld %ld %zu\n", rollup("Pss_Anon:") + rollup("Pss_Shmem:"), library_pages(), allocated);
    MPI_Finalize();
    return 0;
}
