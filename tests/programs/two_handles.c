/* two_handles A B WHEN: takes functions from the handle of MPI A, which is opened with RTLD_LOCAL,
 * and opens MPI B with RTLD_GLOBAL, before or after ("before", "after") it initializes A. A's
 * functions must stay A's. Prints "ok". Compiled without an MPI. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
    do                                                                                                                 \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(2);                                                                                                   \
        }                                                                                                              \
    while (0)

static void *open_mpi(const char *path, int scope)
{
    void *mpi = dlopen(path, RTLD_NOW | scope);
    REQUIRE(mpi);
    return mpi;
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    REQUIRE(argc == 4);
    void *a = open_mpi(argv[1], RTLD_LOCAL), *b = NULL, *detached;
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(a, "MPI_Init");
    int (*attach)(void *, int) = (int (*)(void *, int))dlsym(a, "MPI_Buffer_attach");
    int (*detach)(void *, int *) = (int (*)(void *, int *))dlsym(a, "MPI_Buffer_detach");
    if (strcmp(argv[3], "before") == 0)
        b = open_mpi(argv[2], RTLD_GLOBAL);
    REQUIRE(init(NULL, NULL) == 0);
    if (!b)
        b = open_mpi(argv[2], RTLD_GLOBAL);
    int size = 0, is_a = 0, is_b = 1;
    for (int i = 0; i < 3; i++)
        REQUIRE(attach(buffer, sizeof buffer) == 0 && detach(&detached, &size) == 0 && detached == buffer);
    ((int (*)(int *))dlsym(a, "MPI_Initialized"))(&is_a);
    ((int (*)(int *))dlsym(b, "MPI_Initialized"))(&is_b);
    REQUIRE(is_a && !is_b);
    REQUIRE(((int (*)(void))dlsym(a, "MPI_Finalize"))() == 0);
    puts("ok");
    return 0;
}
