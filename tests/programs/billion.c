/* Makes argv[1] million calls (1 rank): alternately a send to MPI_PROC_NULL
 * and a probe that finds no message. Prints the memory of the process, in
 * KiB, after the first million and at the end. */
#include "check.h"

static long resident(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) != 1)
            kb = -1;
    if (f)
        fclose(f);
    return kb;
}

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    int millions = argc > 1 ? atoi(argv[1]) : 1, flag;
    long before = 0;
    for (int m = 0; m < millions; m++) {
        for (int i = 0; i < 500000; i++) {
            MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
            MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        if (m == 0)
            before = resident();
    }
    printf("%ld %ld\n", before, resident());
    return MPI_Finalize();
}
