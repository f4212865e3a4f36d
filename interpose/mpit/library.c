#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mpi mpi;

#define DESCRIBE(name, parameters) {"PMPI_" #name, offsetof(struct mpi, name)},
static const struct function {
    const char *name;
    size_t offset; // in struct mpi
} functions[] = {MPI_FUNCTIONS(DESCRIBE)}, mpi_4_functions[] = {MPI_4_FUNCTIONS(DESCRIBE)};

// Looks a function up. As for a program that is linked to MPI, a preloaded library may define it.
static bool find(const struct function *f)
{
    void *address = dlsym(RTLD_DEFAULT, f->name);
    *(void **)((char *)&mpi + f->offset) = address;
    return address != NULL;
}

// The components of Open MPI and plugins of other MPIs may need symbols of the library, hence
// RTLD_GLOBAL.
bool library_load(const char *file)
{
    if (!dlopen(file, RTLD_LAZY | RTLD_GLOBAL)) {
        fprintf(stderr, "load the MPI library: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (!find(&functions[i])) {
            fprintf(stderr, "%s has no %s\n", file, functions[i].name);
            return false;
        }
    for (size_t i = 0; i < sizeof mpi_4_functions / sizeof mpi_4_functions[0]; i++)
        find(&mpi_4_functions[i]);
    return true;
}

int library_call_barriers(int n)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_DEFAULT, "MPI_Init");
    int (*barrier)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Barrier");
    int (*finalize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "MPI_Finalize");
    if (!init || !barrier || !finalize || init(NULL, NULL) != MPI_SUCCESS)
        return 1;
    while (n-- > 0)
        if (barrier(MPI_COMM_WORLD) != MPI_SUCCESS)
            return 1;
    return finalize() != MPI_SUCCESS;
}

#ifdef MT_ABI_OPENMPI
void *library_variable(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
#endif
