/* A host without MPI, as an interpreter is. Its plug-ins call MPI in ways that
 * symbol interposition does not see.
 *   bypass deep PLUGIN PLUGIN2     PLUGIN2, opened with RTLD_DEEPBIND, makes 10 steps
 *   bypass early PLUGIN            the plug-in, opened with RTLD_DEEPBIND, starts MPI in its constructor
 *   bypass handle MPI PLUGIN       MPI functions are taken from the MPI's own handle
 *   bypass namespace PLUGIN        the MPI is in a namespace of its own
 * On each rank: 10 Allreduce, 10 Sendrecv, 1 Barrier. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *open_file(const char *path, int flags)
{
    void *file = dlopen(path, flags);
    if (!file)
        fprintf(stderr, "%s\n", dlerror());
    return file;
}

static int call(void *file, const char *name, int argument)
{
    int (*function)(int);
    *(void **)&function = dlsym(file, name);
    return function ? function(argument) : -1;
}

static int steps(void *file)
{
    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += call(file, "step", i);
    return sum;
}

static int run(void *starts, void *works)
{
    int bad = call(starts, "start", 0), sum = steps(works), size = 2;
    call(works, "barrier", 1);
    if (bad || sum != 45 * size)
        return 1;
    if (call(starts, "stop", 0) == 0)
        puts("ok");
    return 0;
}

/* Calls MPI_Barrier of the MPI's own handle, as ctypes does. */
static int run_handle(const char *mpi, const char *plugin)
{
    void *library = open_file(mpi, RTLD_LAZY | RTLD_LOCAL), *file = library ? open_file(plugin, RTLD_NOW) : NULL;
    int (*init)(int *, char ***), (*initialized)(int *), flag = 0;
    if (!file)
        return 5;
    *(void **)&init = dlsym(library, "MPI_Init");
    *(void **)&initialized = dlsym(library, "MPI_Initialized");
    if (init(NULL, NULL) || initialized(&flag) || !flag || steps(file) != 90)
        return 1;
    call(file, "barrier", 1);
    if (call(file, "stop", 0) == 0)
        puts("ok");
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    if (strcmp(how, "handle") == 0)
        return run_handle(argv[2], argv[3]);
    if (strcmp(how, "namespace") == 0) {
        void *file = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
        return file ? run(file, file) : 5;
    }
    if (strcmp(how, "early") == 0) {
        void *file = open_file(argv[2], RTLD_NOW | RTLD_DEEPBIND);
        if (!file || steps(file) != 90)
            return 1;
        dlclose(file);
        puts("ok");
        return 0;
    }
    void *starts = argc > 3 ? open_file(argv[2], RTLD_NOW) : NULL;
    void *works = starts ? open_file(argv[3], RTLD_LAZY | RTLD_DEEPBIND) : NULL;
    return works ? run(starts, works) : 5;
}
