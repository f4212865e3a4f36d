/* A signal handler ends the program (1 rank). This program's posix_fallocate and
 * fallocate raise the signal. The library calls them to enlarge its file or its part
 * of a container, while it holds its locks. So does this program's pthread_mutex_unlock.
 *
 *   ends_in_handler abort      in MPI_Comm_dup; the handler calls MPI_Abort
 *   ends_in_handler finalize   in MPI_Send; the handler calls MPI_Finalize, and
 *                              the program continues
 *   ends_in_handler datatype   at the library's last pthread_mutex_unlock in
 *                              MPI_Type_free, which is that of the list of threads;
 *                              the handler calls MPI_Finalize and ends the program
 *   ends_in_handler thread     no signal: MPI_Abort is the first MPI call of a
 *                              thread */
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t armed;
static volatile sig_atomic_t counting, unlocks, raise_at; /* the library's calls in MPI_Type_free */
static const char *mode;

static void raise_once(void)
{
    if (armed) {
        armed = 0;
        raise(SIGUSR1);
    }
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    int (*next)(int, off_t, off_t) = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    raise_once();
    return next(fd, offset, length);
}

int fallocate(int fd, int flags, off_t offset, off_t length)
{
    int (*next)(int, int, off_t, off_t) = (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
    raise_once();
    return next(fd, flags, offset, length);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    Dl_info caller;
    int (*next)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    if (counting && dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "mpitrace") &&
        ++unlocks == raise_at)
        raise(SIGUSR1);
    return next(mutex);
}

static void handler(int unused)
{
    (void)unused;
    if (mode[0] == 'a')
        MPI_Abort(MPI_COMM_WORLD, 7); /* in a signal handler */
    counting = 0;
    MPI_Finalize();
    if (mode[0] == 'd') {
        puts("ok");
        fflush(stdout);
        _exit(0);
    }
}

static void *aborting(void *unused)
{
    MPI_Abort(MPI_COMM_WORLD, 9); /* in a thread */
    return unused;
}

/* fill makes a row and a record for each communicator, so that the table of
 * rows and the log grow before the last one. Afterwards the communicators that
 * the library caches for the thread do not include MPI_COMM_WORLD. */
static void fill(void)
{
    static MPI_Comm comms[1000];
    for (int i = 0; i < 400; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < 100; i++)
        MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comms[i]);
    armed = 1;
    for (int i = 100; i < 400 && mode[0] == 'f' && armed; i++)
        MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, comms[i]);
    for (int i = 400; i < 1000 && armed; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
}

/* The second time, the signal comes at the last of the unlocks that the first had. */
static void free_datatypes(void)
{
    for (int i = 0; i < 2; i++) {
        MPI_Datatype type;
        MPI_Type_contiguous(3, MPI_INT, &type);
        raise_at = unlocks;
        unlocks = 0;
        counting = 1;
        MPI_Type_free(&type);
        counting = 0;
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int provided, finalized;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    REQUIRE(argc == 2);
    mode = argv[1];
    if (mode[0] == 't') {
        REQUIRE(pthread_create(&thread, NULL, aborting, NULL) == 0);
        pthread_join(thread, NULL);
    }
    signal(SIGUSR1, handler);
    alarm(20); /* ends a deadlock */
    if (mode[0] == 'd')
        free_datatypes();
    else
        fill();
    MPI_Finalized(&finalized);
    if (finalized)
        puts("ok");
    return !finalized;
}
