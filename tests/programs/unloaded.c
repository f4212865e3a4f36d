/* Loads, calls and unloads plugins, one after the other: unloaded TIMES
 * PLUGIN... The dynamic linker loads each at the addresses of the one before
 * (1 rank). The i-th plugin makes 10 i Sendrecvs and i Alltoallvs on the main
 * thread, and i Barriers on a thread that lives until the end. The receive of
 * 100 i bytes that it posts completes after the next one is loaded. */
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>

enum { PLUGINS = 8 };

static pthread_barrier_t turn;
static void (*on_thread)(int);
static int argument;

static void *thread(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_barrier_wait(&turn);
        if (!on_thread)
            return NULL;
        on_thread(argument);
        pthread_barrier_wait(&turn);
    }
}

static void complete(MPI_Request *request, int bytes)
{
    static char data[100 * PLUGINS];
    if (*request == MPI_REQUEST_NULL)
        return;
    MPI_Send(data, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void use(const char *path, int i, MPI_Request *left)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    complete(left, 100 * (i - 1));
    MPI_Request (*step)(int, void *, int);
    static char data[2][100 * PLUGINS];
    *(void **)&step = dlsym(plugin, "step");
    *(void **)&on_thread = dlsym(plugin, "step_on_thread");
    *left = step(i, data[i % 2], 100 * i);
    argument = i;
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    REQUIRE(dlclose(plugin) == 0);
    REQUIRE(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

int main(int argc, char **argv)
{
    int level;
    pthread_t other;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    REQUIRE(level == MPI_THREAD_MULTIPLE && argc > 2 && argc - 2 < PLUGINS);
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&other, NULL, thread, NULL);
    for (int k = 0; k < atoi(argv[1]); k++) {
        MPI_Request left = MPI_REQUEST_NULL;
        for (int i = 1; i < argc - 1; i++)
            use(argv[i + 1], i, &left);
        complete(&left, 100 * (argc - 2));
    }
    on_thread = NULL;
    pthread_barrier_wait(&turn);
    pthread_join(other, NULL);
    return end();
}
