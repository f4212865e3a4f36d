#include "base/base.h"

#include "base/lock.h"
#include "base/settings.h"
#include "base/stderr.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The number of lines that a process may write, whatever goes wrong.
enum { MT_LOG_LIMIT = 8 };

// Writes to stderr, unless the write would block. If the reader of a pipe is gone, or a
// file has reached its size limit, the kernel sends this thread SIGPIPE or SIGXFSZ,
// which would end the program. So both signals are blocked, and one that the write
// raised is removed from the pending signals.
static void write_line(const char *line, size_t size)
{
    static const struct timespec now;
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    sigset_t ours, before, pending;
    if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT))
        return;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0)
        return;
    int signal = write(STDERR_FILENO, line, size) >= 0 ? 0 : errno == EPIPE ? SIGPIPE : errno == EFBIG ? SIGXFSZ : 0;
    if (signal && !sigismember(&pending, signal)) {
        sigemptyset(&ours);
        sigaddset(&ours, signal);
        sigtimedwait(&ours, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Messages that were kept before there was a recording.
static char early[MT_MAX_MESSAGES];
static _Atomic bool closed;

// Puts a line into the recording, from where `mpitrace` prints it.
static void keep_line(const char *line, size_t size)
{
    static _Atomic size_t kept;
    mt_l_header *header = mt_process.header;
    size_t at = atomic_fetch_add(&kept, size);
    if (mt_process.forked || atomic_load(&closed) || at >= MT_MAX_MESSAGES)
        return; // the recording is not this process's, complete, or full of messages
    memcpy((header ? (char *)header->messages : early) + at, line, size < MT_MAX_MESSAGES - at ? size : MT_MAX_MESSAGES - at);
}

void mt_log_recorded(void)
{
    memcpy(mt_process.header->messages, early, sizeof early);
}

void mt_log_open(bool open)
{
    atomic_store(&closed, !open);
}

static bool is_quiet(void)
{
    const char *text = mt_setting_text(MT_SETTING_QUIET);
    return text && strcmp(text, "off") != 0 && strcmp(text, "0") != 0;
}

void mt_log(const char *format, ...)
{
    static _Atomic int written;
    if (is_quiet() || atomic_fetch_add(&written, 1) >= MT_LOG_LIMIT)
        return;
    int saved = errno;
    char line[1024] = "mpitrace: ";
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + 10, sizeof line - 12, format, args);
    va_end(args);
    if (n < 0)
        n = 0;
    n = n > (int)sizeof line - 12 ? (int)sizeof line - 2 : n + 10;
    for (int i = 0; i < n; i++) // names and settings may contain control characters
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[n++] = '\n';
    mt_protect();
    if (mt_stderr_unchanged())
        write_line(line, (size_t)n);
    else
        keep_line(line + 10, (size_t)n - 10);
    mt_unprotect();
    errno = saved;
}
