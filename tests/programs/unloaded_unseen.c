/* After a file is unloaded, a call comes from an unknown file before mpitrace's
 * dlclose has noticed the unloading (1 rank): unloaded_unseen FIRST SECOND
 * THIRD, three plugins of unloaded.c. With threads this is a race; this program
 * calls the C library's own dlclose, which mpitrace does not see. The third
 * plugin is at the addresses of the first. The i-th makes 10 i Sendrecvs. */
#include "check.h"

#include <dlfcn.h>

static void *load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return plugin;
}

/* use calls a plugin and returns its address. */
static void *use(void *plugin, int i)
{
    static char data[2][4];
    MPI_Request (*step)(int, void *, int);
    void *address = dlsym(plugin, "step");
    *(void **)&step = address;
    MPI_Request receive = step(i, data[0], 4);
    MPI_Send(data[1], 4, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    return address;
}

int main(int argc, char **argv)
{
    int (*unseen_dlclose)(void *);
    MPI_Init(&argc, &argv);
    REQUIRE(argc == 4);
    *(void **)&unseen_dlclose = dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");
    void *first = load(argv[1]);
    void *address = use(first, 1);
    void *second = load(argv[2]);
    REQUIRE(unseen_dlclose(first) == 0);
    use(second, 2);
    REQUIRE(use(load(argv[3]), 3) == address);
    return end();
}
