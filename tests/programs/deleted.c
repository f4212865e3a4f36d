// Deletes its own recording while it runs, as a job that cleans /dev/shm may
// do: "deleted FIRST" on all ranks from FIRST on; "deleted spool" deletes
// its directory as well.
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Finds the path of this process's recording, which is mapped.
static int find_recording(char *path)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    *path = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        char *found = strchr(line, '/');
        if (found && strstr(found, ".rec")) {
            found[strcspn(found, "\n")] = 0;
            strcpy(path, found);
        }
    }
    if (maps)
        fclose(maps);
    return *path != 0;
}

static void delete_directory(char *path)
{
    *strrchr(path, '/') = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char file[8192];
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        unlink(file);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

int main(int argc, char **argv)
{
    char path[4096];
    int rank, x = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    usleep(200000); // by then mpitrace has noticed the process
    MPI_Barrier(MPI_COMM_WORLD);
    int spool = argc > 1 && strcmp(argv[1], "spool") == 0;
    if (find_recording(path) && spool && rank == 0)
        delete_directory(path);
    else if (*path && !spool && argc > 1 && rank >= atoi(argv[1]))
        unlink(path);
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
    return 0;
}
