#define _GNU_SOURCE
#include "file/recording_path.h"

#include "base/clock.h"
#include "base/job.h"
#include "base/wrong_mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Reports whether another user may have made `path` so that we write into a place of his choice:
// `path` is a directory, or a link to one, whose owner is neither this user nor root, in a
// directory that all users can write to. (internal/rundir has the same rule.)
static bool is_planted(const char *path)
{
    char above[4200];
    struct stat own, st;
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    if (slash)
        slash[slash == above] = 0;
    return lstat(path, &own) == 0 && stat(above, &st) == 0 && (st.st_mode & S_IWOTH) && own.st_uid != 0 &&
           own.st_uid != geteuid();
}

// Reports whether this user owns the directory, but lacks rights.
static bool lacks_rights(const char *path, struct stat *st)
{
    return lstat(path, st) == 0 && S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 0700) != 0700;
}

// Makes a directory unless it exists. If the umask removed the owner's rights, adds them. If
// another process has just made the directory, waits until that process has added them.
static bool make_one(const char *path, mode_t mode)
{
    enum { MT_RECENT_S = 10, MT_RIGHTS_TRIES = 100 };
    static const struct timespec moment = {.tv_nsec = 1000000};
    struct stat st;
    bool made = mkdir(path, mode) == 0;
    if (made && lacks_rights(path, &st))
        chmod(path, (st.st_mode & 07777) | 0700);
    for (int i = 0; !made && i < MT_RIGHTS_TRIES && lacks_rights(path, &st); i++) {
        if (time(NULL) - st.st_ctime > MT_RECENT_S)
            break;
        nanosleep(&moment, NULL);
    }
    return made;
}

// Makes a directory and its parents. It follows no link that another user may have put
// there.
static bool make_directory(const char *path)
{
    char part[4200];
    struct stat st;
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode) && is_planted(part))
            return false;
        make_one(part, 0777);
        *slash = '/';
    }
    return (make_one(part, 0777) || (stat(part, &st) == 0 && S_ISDIR(st.st_mode))) && !is_planted(part);
}

// Finds the run directory. The path is absolute, because the program may change its
// working directory.
static bool run_directory(mt_recording_path *p)
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
    if (n <= 0 || n >= (int)sizeof p->directory)
        return false;
    while (n > 1 && p->directory[n - 1] == '/')
        p->directory[--n] = 0;
    return true;
}

static bool is_private(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static bool in_spool(mt_recording_path *p)
{
    const char *spool = getenv("MPITRACE_SPOOL_DIR");
    if (!spool || spool[0] != '/' || !is_private(spool))
        return false;
    return snprintf(p->path, sizeof p->path, "%s/%s", spool, p->name) < (int)sizeof p->path;
}

bool mt_recording_path_in_run_directory(mt_recording_path *p)
{
    char dir[4200];
    if (!run_directory(p) || !make_directory(p->directory))
        return false;
    snprintf(dir, sizeof dir, "%s/recordings", p->directory);
    if (!make_directory(dir))
        return false;
    p->shared = true;
    int n = snprintf(p->path, sizeof p->path, "%s/%s", dir, p->name);
    return n > 0 && n < (int)sizeof p->path;
}

static bool in_tmpdir(mt_recording_path *p)
{
    const char *tmp = getenv("TMPDIR");
    char dir[3000];
    int n = snprintf(dir, sizeof dir, "%s/mpitrace-%u", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
    if (n < 0 || n >= (int)sizeof dir)
        return false;
    if (!make_one(dir, 0700) && !is_private(dir))
        return false;
    p->in_tmpdir = true;
    return snprintf(p->path, sizeof p->path, "%s/%s", dir, p->name) < (int)sizeof p->path;
}

void mt_recording_path_own(int fd, const struct stat *st)
{
    if ((st->st_mode & 0600) != 0600 && fchmod(fd, (st->st_mode & 0777) | 0600) != 0) { /* the file can still be written through fd */ }
}

int mt_recording_path_create(mt_recording_path *p)
{
    struct stat st;
    mode_t mode = p->shared ? 0666 : 0600;
    int fd = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        p->inode = st.st_ino;
        p->device = st.st_dev;
        mt_recording_path_own(fd, &st);
    }
    return fd;
}

int mt_recording_path_reopen(const mt_recording_path *p)
{
    int fd = open(p->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != p->inode || st.st_dev != p->device)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool mt_recording_path_removed(const mt_recording_path *p)
{
    struct stat st;
    if (lstat(p->path, &st) != 0)
        return errno == ENOENT;
    return st.st_ino != p->inode || st.st_dev != p->device;
}

void mt_recording_path_host(char *host, size_t size)
{
    if (gethostname(host, size - 1) != 0)
        snprintf(host, size, "node");
    host[size - 1] = 0;
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '_';
}

static void name_file(mt_recording_path *p)
{
    char host[256];
    mt_recording_path_host(host, sizeof host);
    p->start = mt_clock_ns(CLOCK_REALTIME);
    snprintf(p->name, sizeof p->name, "%s-%d-%llu.rec", host, (int)getpid(), (unsigned long long)p->start);
}

bool mt_recording_path_set_ending(mt_recording_path *p, const char *ending)
{
    char *path = strrchr(p->path, '.'), *name = strrchr(p->name, '.');
    if (!path || !name || (size_t)(path - p->path) + strlen(ending) >= sizeof p->path)
        return false;
    strcpy(path, ending);
    strcpy(name, ending); // a few bytes longer than the old extension
    return true;
}

bool mt_recording_path_next(mt_recording_path *p)
{
    static bool (*const places[])(mt_recording_path *) = {in_spool, mt_recording_path_in_run_directory, in_tmpdir};
    if (p->tried == 0)
        name_file(p);
    while (p->tried < (int)(sizeof places / sizeof *places)) {
        errno = 0;
        p->shared = false;
        if (places[p->tried++](p))
            return true;
        if (errno)
            p->why = strerror(errno);
    }
    if (!p->why)
        p->why = "no directory can be written to";
    return false;
}

bool mt_recording_path_allows(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

static bool copy(int from, int to, uint64_t size)
{
    char buffer[1 << 16];
    if (!mt_recording_path_allows(size))
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

// Leaves a note for `mpitrace run` where this process's recording would be: a symbolic
// link NAME<suffix> to the text. Does nothing without a run directory in the
// environment.
static void leave_note(const char *suffix, const char *text)
{
    static mt_recording_path p; // too large for the stack
    const char *dir = getenv("MPITRACE_DIR");
    if (!dir || !*dir)
        return;
    name_file(&p);
    char *end = strrchr(p.name, '.');
    snprintf(end, (size_t)(p.name + sizeof p.name - end), "%s", suffix);
    if (in_spool(&p) && symlink(text, p.path) == 0)
        return;
    if (mt_recording_path_in_run_directory(&p) && symlink(text, p.path) != 0) { /* there is no place for the note */ }
}

// Leaves a note for readers of the run: which program is missing from it, which MPI
// it uses, and why.
static void note_wrong_mpi(const char *mpi, const char *reason)
{
    static char program[4096], text[4095]; // no symbolic link is longer
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    snprintf(text, sizeof text, "%.*s\n%s%s%s", n > 0 ? (int)n : 0, program, mpi, *reason ? "\n" : "", reason);
    leave_note(".wrong-mpi", text);
}

MT_REGISTER(wrong_mpi, note_wrong_mpi);

// The path of the note about a recording, which lies next to the recording's path in
// the run directory.
typedef struct note {
    char path[sizeof((mt_recording_path *)0)->path + 8];
} note;

static note note_of(const char *recording)
{
    note n;
    snprintf(n.path, sizeof n.path, "%s.at", recording);
    return n;
}

void mt_recording_path_note(const mt_recording_path *p)
{
    mt_recording_path home = *p;
    char host[256] = "node", where[sizeof p->path + sizeof host];
    if (!p->in_tmpdir || !mt_recording_path_in_run_directory(&home))
        return;
    gethostname(host, sizeof host - 1);
    snprintf(where, sizeof where, "%s:%s", host, p->path);
    if (symlink(where, note_of(home.path).path) != 0) { /* there is no place for the note */ }
}

bool mt_recording_path_deliver(mt_recording_path *p, int fd, uint64_t size)
{
    mt_recording_path target = *p;
    char final[sizeof target.path];
    if (!mt_recording_path_in_run_directory(&target))
        return false;
    memcpy(final, target.path, sizeof final);
    strncat(target.path, ".part", sizeof target.path - strlen(target.path) - 1);
    int to = mt_recording_path_create(&target);
    bool done = to >= 0 && copy(fd, to, size);
    if (to >= 0)
        done = close(to) == 0 && done;
    if (done && rename(target.path, final) == 0) {
        if (unlink(p->path) != 0)
            mt_log("the recording was copied to %s, but %s cannot be removed", p->directory, p->path);
        unlink(note_of(final).path);
        return true;
    }
    if (to >= 0)
        unlink(target.path);
    return false;
}
