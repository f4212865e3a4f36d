/* Closes its standard streams and opens data files in their place, before MPI_Init or, if the
 * second argument is "late", after it. Descriptor 2 is then a data file. The program has a
 * wrapper of its own, about which mpitrace's library warns: own_stderr DIRECTORY [late] */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int MPI_Barrier(MPI_Comm comm)
{
    return PMPI_Barrier(comm);
}

static int open_data(const char *directory)
{
    int fd = -1;
    close(0);
    close(1);
    close(2);
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/part%d", directory, i);
        fd = open(path, O_CREAT | O_RDWR | O_APPEND, 0600);
    }
    return write(fd, "HEAD\n", 5) == 5 ? fd : -1;
}

int main(int argc, char **argv)
{
    int fd = -1;
    if (argc == 2)
        fd = open_data(argv[1]);
    MPI_Init(&argc, &argv);
    if (argc > 2)
        fd = open_data(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return fd == 2 && write(fd, "BODY\n", 5) == 5 ? 0 : 1;
}
