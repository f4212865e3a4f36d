// Lists what an MPI library reports through MPI_T, one entry on each line (line.h):
//
//     library version=... standard=3.1
//     cvar index=0 name=... verbosity=user-basic type=int count=1 bind=none scope=all value=4096
//     enum id=... name=... value=0 item=auto value=1 item=flat
//     pvar | category | event | source index=... name=...
//     error kind=cvar index=7 call=MPI_T_cvar_read code=57 reason=MPI_T_ERR_INVALID_INDEX
//     end lines=...
//
// The first argument is the file of the library. The program calls MPI_T_init_thread. It
// calls MPI_Init only with the second argument after-init. Without it no job is started,
// so the program also works where none may be started. With the second argument
// barriers and a number it lists nothing, but calls MPI_Barrier that many times.
//
// An MPI may crash in such a call and leave its locks taken. (Open MPI 4.1 does, after
// MPI_Init, for variables of components that it has unloaded.) Therefore a child
// process lists the entries. If it crashes, another child continues after the call
// that crashed.
#include "list.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"
#include "names.h"

// How far a child has come. It shares this memory with its parent.
static struct progress {
    int kind, index;
    int step;         // the step of the entry that was begun last: see enum step
    // the step in which the last child crashed; the next child leaves it out; 0 for none
    int skipped_step;
    long lines;
} * progress;

static int list_file;
bool after_init;

static const struct kind {
    const char *name, *count_call;
    int (**count)(int *); // points to NULL if the library lacks the function
    void (*list)(int index);
} kinds[] = {
    {"cvar", "MPI_T_cvar_get_num", &mpi.T_cvar_get_num, list_cvar},
    {"pvar", "MPI_T_pvar_get_num", &mpi.T_pvar_get_num, list_pvar},
    {"category", "MPI_T_category_get_num", &mpi.T_category_get_num, list_category},
    {"event", "MPI_T_event_get_num", &mpi.T_event_get_num, list_event},
    {"source", "MPI_T_source_get_num", &mpi.T_source_get_num, list_source},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

void list_line(struct line *l)
{
    line_write(l, list_file);
    progress->lines++;
}

// Begins the line for an error in the current entry.
static void error_start(struct line *l, const char *call)
{
    line_start(l, "error");
    line_text(l, "kind", kinds[progress->kind].name);
    line_number_if_set(l, "index", progress->index);
    line_text(l, "call", call);
}

bool failed(int code, const char *call)
{
    struct line l = {0};
    if (code == MPI_SUCCESS)
        return false;
    error_start(&l, call);
    line_reason(&l, code);
    list_line(&l);
    free(l.text);
    return true;
}

bool begin_step(enum step step)
{
    progress->step = step;
    return progress->skipped_step != (int)step;
}

// How long the calls for one entry may take, in seconds. A child that takes longer is
// ended by SIGALRM.
enum { TIMEOUT_SECONDS = 10 };

// Lists the entries that are left. Runs in a child.
static void list_remaining(void)
{
    for (; progress->kind < KINDS; progress->kind++, progress->index = 0) {
        int n = 0;
        if (!*kinds[progress->kind].count)
            continue;
        if (failed((*kinds[progress->kind].count)(&n), kinds[progress->kind].count_call))
            continue;
        for (; progress->index < n; progress->index++) {
            alarm(TIMEOUT_SECONDS);
            if (begin_step(STEP_INFO))
                kinds[progress->kind].list(progress->index);
            progress->skipped_step = 0;
        }
    }
}

// Lists the signal that ended a child, and makes the next child leave out the step in
// which that happened. The next child repeats the earlier steps of the entry, because
// no line has been written for it.
static void skip_crashed_step(int signal)
{
    static const char *const calls[] = {"get_num", "get_info", "handle_alloc", "read"};
    char call[64];
    struct line l = {0};
    snprintf(call, sizeof call, "MPI_T_%s_%s", kinds[progress->kind].name, calls[progress->step]);
    error_start(&l, call);
    line_number(&l, "signal", signal);
    list_line(&l);
    free(l.text);
    if (progress->step > STEP_INFO) {
        progress->skipped_step = progress->step;
    } else {
        progress->skipped_step = 0;
        progress->index++;
    }
    progress->step = STEP_COUNT;
}

// Removes the MPI's signal handlers, which would print a report of each crash.
static void reset_signal_handlers(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
}

// Lists all entries. Returns false if a child could not be started or failed.
static bool list_all(void)
{
    while (progress->kind < KINDS) {
        int status = 0, last_step;
        pid_t child = fork();
        if (child == 0) {
            reset_signal_handlers();
            list_remaining();
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return false;
        last_step = progress->step;
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == 0 && progress->kind == KINDS;
        if (last_step == STEP_COUNT) {
            failed(MPI_ERR_OTHER, kinds[progress->kind].count_call);
            progress->kind++;
            progress->index = 0;
        } else {
            skip_crashed_step(WTERMSIG(status));
        }
    }
    return true;
}

static void list_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", standard[32];
    int size = 0, major = 0, minor = 0;
    struct line l = {0};
    mpi.Get_library_version(version, &size);
    mpi.Get_version(&major, &minor);
    snprintf(standard, sizeof standard, "%d.%d", major, minor);
    line_start(&l, "library");
    line_text(&l, "version", version);
    line_text(&l, "standard", standard);
    list_line(&l);
    free(l.text);
}

int main(int argc, char **argv)
{
    static const struct rlimit none;
    struct line l = {0};
    int provided;
    if (argc > 3 && strcmp(argv[2], "barriers") == 0)
        return library_call_barriers(atoi(argv[3]));
    after_init = argc > 2 && strcmp(argv[2], "after-init") == 0;
    setrlimit(RLIMIT_CORE, &none);
    list_file = dup(STDOUT_FILENO); // the MPI may print to stdout, which is not to be in the list
    dup2(STDERR_FILENO, STDOUT_FILENO);
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (list_file < 0 || progress == MAP_FAILED || argc < 2 || !library_load(argv[1]))
        return 1;
    int code = mpi.T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "MPI_T_init_thread: error %d\n", code);
        return 1;
    }
    if (after_init)
        mpi.Init(NULL, NULL); // its error handler ends the process
    list_library();
    if (!list_all())
        return 1;
    line_start(&l, "end");
    line_number(&l, "lines", progress->lines);
    line_write(&l, list_file);
    if (after_init)
        mpi.Finalize();
    _exit(0); // MPI_T_finalize crashes after MPI_Finalize in Open MPI 4.1
}
