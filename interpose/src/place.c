#define _GNU_SOURCE
#include "place.h"

#include "clock.h"
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// Makes a directory and those above it.
static bool make_directory(const char *path)
{
    char part[4200];
    struct stat st;
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(part, 0777);
        *slash = '/';
    }
    return mkdir(part, 0777) == 0 || (stat(part, &st) == 0 && S_ISDIR(st.st_mode));
}

// The run directory as an absolute path: the program may change its own.
static bool run_directory(mt_place *p)
{
    const char *dir = getenv("MPITRACE_DIR");
    char name[256];
    if (!dir || !*dir) {
        mt_job_directory(name, sizeof name);
        dir = name;
    }
    char cwd[2048] = "";
    if (dir[0] != '/' && !getcwd(cwd, sizeof cwd))
        return false;
    int n = snprintf(p->directory, sizeof p->directory, "%s%s%s", cwd, *cwd ? "/" : "", dir);
    return n > 0 && n < (int)sizeof p->directory;
}

static bool is_private(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static bool in_spool(mt_place *p)
{
    const char *spool = getenv("MPITRACE_SPOOL");
    if (!spool || spool[0] != '/' || !is_private(spool))
        return false;
    return snprintf(p->path, sizeof p->path, "%s/%s", spool, p->name) < (int)sizeof p->path;
}

static bool in_run_directory(mt_place *p)
{
    char dir[4200];
    if (!run_directory(p) || !make_directory(p->directory))
        return false;
    snprintf(dir, sizeof dir, "%s/recordings", p->directory);
    if (!make_directory(dir))
        return false;
    int n = snprintf(p->path, sizeof p->path, "%s/%s", dir, p->name);
    return n > 0 && n < (int)sizeof p->path;
}

static bool in_tmpdir(mt_place *p)
{
    const char *tmp = getenv("TMPDIR");
    char dir[3000];
    int n = snprintf(dir, sizeof dir, "%s/mpitrace-%u", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
    if (n < 0 || n >= (int)sizeof dir)
        return false;
    if (mkdir(dir, 0700) != 0 && !is_private(dir))
        return false;
    p->elsewhere = true;
    return snprintf(p->path, sizeof p->path, "%s/%s", dir, p->name) < (int)sizeof p->path;
}

static int create(mt_place *p, mode_t mode)
{
    struct stat st;
    int fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        p->inode = st.st_ino;
        p->device = st.st_dev;
    }
    return fd;
}

int mt_place_next(mt_place *p)
{
    static bool (*const places[])(mt_place *) = {in_spool, in_run_directory, in_tmpdir};
    if (p->tried == 0) {
        char host[256] = "node";
        gethostname(host, sizeof host - 1);
        snprintf(p->name, sizeof p->name, "%s-%d-%llu.rec", host, (int)getpid(),
                 (unsigned long long)mt_clock_ns(CLOCK_REALTIME));
    }
    while (p->tried < (int)(sizeof places / sizeof *places)) {
        errno = 0;
        bool shared = p->tried == 1; // results follow the user's umask
        if (places[p->tried++](p)) {
            int fd = create(p, shared ? 0666 : 0600);
            if (fd >= 0)
                return fd;
        }
        if (errno)
            p->why = strerror(errno);
    }
    if (!p->why)
        p->why = "no directory can be written to";
    return -1;
}

static bool copy(int from, int to, uint64_t size)
{
    char buffer[1 << 16];
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        return false;
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pread(from, buffer, sizeof buffer, (off_t)done);
        if (n <= 0)
            return false;
        for (ssize_t written = 0; written < n;) {
            ssize_t w = write(to, buffer + written, (size_t)(n - written));
            if (w <= 0)
                return false;
            written += w;
        }
        done += (uint64_t)n;
    }
    return true;
}

void mt_place_deliver(mt_place *p, int fd, uint64_t size)
{
    mt_place target = *p;
    char final[sizeof target.path];
    if (!in_run_directory(&target)) {
        mt_say("the recording stays in %s", p->path);
        return;
    }
    memcpy(final, target.path, sizeof final);
    strncat(target.path, ".part", sizeof target.path - strlen(target.path) - 1);
    int to = create(&target, 0666);
    bool done = to >= 0 && copy(fd, to, size);
    if (to >= 0)
        done = close(to) == 0 && done;
    if (done && rename(target.path, final) == 0) {
        unlink(p->path);
        return;
    }
    if (to >= 0)
        unlink(target.path);
    mt_say("the recording stays in %s", p->path);
}
