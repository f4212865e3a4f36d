/* Makes the library's calls of the system fail as if resources were exhausted. It
 * is linked into the library (ld's --wrap) and affects only the library's own
 * calls. It is not an MPI program.
 *
 * FAULTS=malloc:3,write:1+ makes the third malloc fail, and all writes. With
 * mmap:2! the process is killed before the second mmap, with mmap:2? after it. At
 * the end, the number of calls of each function is written to the file FAULTS_COUNT,
 * so that a test can make each of them fail. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fault {
    const char *name;
    _Atomic long calls;
    struct fault *next;
};

static struct fault *all;

/* fails reports whether a call is to fail. It ends the process if it is to be
 * killed now. */
static bool fails(struct fault *f, long call, char moment)
{
    const char *plan = getenv("FAULTS");
    size_t length = strlen(f->name);
    for (; plan && *plan; plan = strchr(plan, ',') ? strchr(plan, ',') + 1 : NULL) {
        char *end;
        if (strncmp(plan, f->name, length) != 0 || plan[length] != ':')
            continue;
        long first = strtol(plan + length + 1, &end, 10);
        if (*end == '!' || *end == '?') {
            if (call == first && *end == moment)
                raise(SIGKILL);
        } else if (call == first || (call > first && *end == '+')) {
            return true;
        }
    }
    return false;
}

/* check_cancellation prints a message if the thread could be cancelled here,
 * because no thread may end inside the library. */
static void check_cancellation(const char *name)
{
    static const char points[] = " open close posix_fallocate fallocate read pread write pwrite poll sigtimedwait "
                                 "nanosleep fclose ";
    char word[32];
    int state;
    snprintf(word, sizeof word, " %s ", name);
    if (!strstr(points, word))
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (state == PTHREAD_CANCEL_ENABLE)
        fprintf(stderr, "a thread can be cancelled in %s\n", name);
    pthread_setcancelstate(state, NULL);
}

/* FAULT(name, type, return value on failure, errno on failure, parameters,
 * arguments) */
#define FAULT(name, type, failed, why, parameters, arguments)                 \
    extern type __real_##name parameters;                                     \
    type __wrap_##name parameters;                                            \
    static struct fault name##_fault = {#name, 0, NULL};                      \
    __attribute__((constructor)) static void name##_enlist(void)              \
    {                                                                         \
        name##_fault.next = all;                                              \
        all = &name##_fault;                                                  \
    }                                                                         \
    type __wrap_##name parameters                                             \
    {                                                                         \
        check_cancellation(#name);                                            \
        long call = ++name##_fault.calls;                                     \
        if (!fails(&name##_fault, call, '!')) {                               \
            type result = __real_##name arguments;                            \
            fails(&name##_fault, call, '?');                                  \
            return result;                                                    \
        }                                                                     \
        errno = why;                                                          \
        return failed;                                                        \
    }

FAULT(malloc, void *, NULL, ENOMEM, (size_t size), (size))
FAULT(calloc, void *, NULL, ENOMEM, (size_t n, size_t size), (n, size))
FAULT(realloc, void *, NULL, ENOMEM, (void *p, size_t size), (p, size))
FAULT(aligned_alloc, void *, NULL, ENOMEM, (size_t to, size_t size), (to, size))
FAULT(strdup, char *, NULL, ENOMEM, (const char *text), (text))
FAULT(mmap, void *, MAP_FAILED, ENOMEM, (void *at, size_t size, int may, int flags, int fd, off_t from),
      (at, size, may, flags, fd, from))
FAULT(open, int, -1, EMFILE, (const char *path, int flags, mode_t mode), (path, flags, mode))
FAULT(close, int, (__real_close(fd), -1), EIO, (int fd), (fd))
FAULT(posix_fallocate, int, ENOSPC, errno, (int fd, off_t from, off_t size), (fd, from, size))
FAULT(fallocate, int, -1, ENOSPC, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size))
FAULT(ftruncate, int, -1, EIO, (int fd, off_t size), (fd, size))
FAULT(fstat, int, -1, EIO, (int fd, struct stat *st), (fd, st))
FAULT(lstat, int, -1, EACCES, (const char *path, struct stat *st), (path, st))
FAULT(stat, int, -1, EACCES, (const char *path, struct stat *st), (path, st))
FAULT(read, ssize_t, -1, EIO, (int fd, void *to, size_t size), (fd, to, size))
FAULT(pread, ssize_t, -1, EIO, (int fd, void *to, size_t size, off_t from), (fd, to, size, from))
FAULT(pwrite, ssize_t, -1, ENOSPC, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
FAULT(write, ssize_t, -1, ENOSPC, (int fd, const void *from, size_t size), (fd, from, size))
FAULT(mkdir, int, -1, EACCES, (const char *path, mode_t mode), (path, mode))
FAULT(rename, int, -1, EACCES, (const char *from, const char *to), (from, to))
FAULT(link, int, -1, EPERM, (const char *from, const char *to), (from, to))
FAULT(unlink, int, -1, EACCES, (const char *path), (path))
FAULT(readlink, ssize_t, -1, EACCES, (const char *path, char *to, size_t size), (path, to, size))
FAULT(getcwd, char *, NULL, ENOENT, (char *to, size_t size), (to, size))
FAULT(gethostname, int, -1, ENAMETOOLONG, (char *to, size_t size), (to, size))
FAULT(open_memstream, FILE *, NULL, ENOMEM, (char **text, size_t *size), (text, size))
FAULT(fclose, int, (__real_fclose(file), EOF), ENOSPC, (FILE *file), (file))
FAULT(pthread_key_create, int, EAGAIN, errno, (pthread_key_t *key, void (*end)(void *)), (key, end))
FAULT(pthread_setspecific, int, ENOMEM, errno, (pthread_key_t key, const void *value), (key, value))
FAULT(__register_atfork, int, ENOMEM, errno, (void (*a)(void), void (*b)(void), void (*c)(void), void *d),
      (a, b, c, d))

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("FAULTS_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    for (const struct fault *f = all; out && f; f = f->next)
        fprintf(out, "%s %ld\n", f->name, f->calls);
    if (out)
        __real_fclose(out);
}
