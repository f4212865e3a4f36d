/* Eight threads make the first call to mpitrace's library at the same time,
 * and then the first call of MPI_Sendrecv (1 rank). MPI is initialized in
 * main, or, if EARLY is defined, by a constructor. The functions are also
 * called by the addresses that dlsym finds. */
#define _GNU_SOURCE
#include "check.h"
#include "mpitrace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 8 };

static pthread_barrier_t together;
static MPI_Comm comms[THREADS];

static void start(void)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
}

#ifdef EARLY
__attribute__((constructor)) static void early(void)
{
    start();
}
#endif

static void *begin_phase(void *arg)
{
    pthread_barrier_wait(&together);
    mpitrace_phase("early");
    return arg;
}

static void *send(void *arg)
{
    char out[5] = "", in[5];
    pthread_barrier_wait(&together);
    MPI_Sendrecv(out, 5, MPI_CHAR, 0, 0, in, 5, MPI_CHAR, 0, 0, *(MPI_Comm *)arg, MPI_STATUS_IGNORE);
    return arg;
}

static void in_threads(void *f(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, f, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

typedef int (*barrier)(MPI_Comm);

/* Functions and variables that dlsym finds, as a program would use them. */
static void by_address(void)
{
    Dl_info info;
    void *mpi;
    barrier all, own;
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_library_version"), &info) && (mpi = dlopen(info.dli_fname, RTLD_NOW)));
    *(void **)&all = dlsym(RTLD_DEFAULT, "MPI_Barrier");
    *(void **)&own = dlsym(mpi, "MPI_Barrier");
    REQUIRE(all(MPI_COMM_WORLD) == MPI_SUCCESS); /* through mpitrace's library, if there is one */
    REQUIRE(own(MPI_COMM_WORLD) == MPI_SUCCESS); /* from the MPI's own handle */
    static const char *const names[] = {"MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_T_PVAR_ALL_HANDLES", "ompi_mpi_comm_world",
                                        "MPI_Send_c", "MPI_Session_init", "MPI_Isendrecv", "MPI_Abi_get_version"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *p = dlsym(RTLD_DEFAULT, names[i]);
        REQUIRE(!p == !dlsym(mpi, names[i]));
        REQUIRE(!p || (dladdr(p, &info) && !strstr(info.dli_fname, "mpitrace.so")));
    }
    dlclose(mpi);
}

int main(void)
{
    pthread_barrier_init(&together, NULL, THREADS);
    in_threads(begin_phase);
#ifndef EARLY
    start();
#endif
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    in_threads(send);
    by_address();
    return end();
}
