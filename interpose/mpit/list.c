// Lists what an MPI library tells of itself through MPI_T, as lines (line.h):
//
//     library version=... standard=3.1
//     cvar index=0 name=... verbosity=user-basic type=int count=1 bind=none scope=all value=4096
//     enum id=... name=... value=0 item=auto value=1 item=flat
//     pvar | category | event | source index=... name=...
//     error kind=cvar index=7 call=MPI_T_cvar_read code=57 reason=MPI_T_ERR_INVALID_INDEX
//     end lines=...
//
// It calls MPI_T_init_thread, and MPI_Init only with the argument after-init: so
// without it starts no job, and works where none may be started. PMPI's names, as
// a tool that is preloaded has no part in this.
//
// An MPI may crash where it is asked (Open MPI 4.1 after MPI_Init, of variables of
// components that it has unloaded), and keep its locks. So the entries are asked
// for by a child of this process; if that dies, another goes on behind the entry
// that it died of.
#include "list.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "have.h"
#include "names.h"

// Where a child is: shared with its parent.
static struct place {
    int kind, index;
    int step;    // of what is asked about the entry, the first is 1
    int without; // the step that ended the last child, to be left out now; 0 for none
    long lines;
} * place;

static int list_file;
bool after_init;

static const struct kind {
    const char *name, *count_call;
    int (*count)(int *);
    void (*list)(int index);
} kinds[] = {
    {"cvar", "MPI_T_cvar_get_num", PMPI_T_cvar_get_num, list_cvar},
    {"pvar", "MPI_T_pvar_get_num", PMPI_T_pvar_get_num, list_pvar},
    {"category", "MPI_T_category_get_num", PMPI_T_category_get_num, list_category},
#if MT_HAVE_T_event_get_num && MT_HAVE_T_event_get_info
    {"event", "MPI_T_event_get_num", PMPI_T_event_get_num, list_event},
#endif
#if MT_HAVE_T_source_get_num && MT_HAVE_T_source_get_info
    {"source", "MPI_T_source_get_num", PMPI_T_source_get_num, list_source},
#endif
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

void emit(struct line *l)
{
    line_write(l, list_file);
    place->lines++;
}

// Begins the line of an error in the entry that is being listed.
static void error_start(struct line *l, const char *call)
{
    line_start(l, "error");
    line_text(l, "kind", kinds[place->kind].name);
    line_set(l, "index", place->index);
    line_text(l, "call", call);
}

bool failed(int code, const char *call)
{
    struct line l = {0};
    if (code == MPI_SUCCESS)
        return false;
    error_start(&l, call);
    line_reason(&l, code);
    emit(&l);
    free(l.text);
    return true;
}

bool may(enum step step)
{
    place->step = step;
    return place->without != (int)step;
}

// Seconds in which an MPI must have answered about an entry.
enum { PATIENCE = 10 };

// Lists all entries from the place on.
static void go_on(void)
{
    for (; place->kind < KINDS; place->kind++, place->index = 0) {
        int n = 0;
        if (failed(kinds[place->kind].count(&n), kinds[place->kind].count_call))
            continue;
        for (; place->index < n; place->index++) {
            alarm(PATIENCE);
            if (may(STEP_INFO))
                kinds[place->kind].list(place->index);
            place->without = 0;
        }
    }
}

// Says what ended a child, and goes on behind it. What had been asked before is
// asked again, as nothing of the entry has been written.
static void step_over(int signal)
{
    static const char *const calls[] = {"get_num", "get_info", "handle_alloc", "read"};
    char call[64];
    struct line l = {0};
    snprintf(call, sizeof call, "MPI_T_%s_%s", kinds[place->kind].name, calls[place->step]);
    error_start(&l, call);
    line_number(&l, "signal", signal);
    emit(&l);
    free(l.text);
    if (place->step > STEP_INFO) {
        place->without = place->step;
    } else {
        place->without = 0;
        place->index++;
    }
    place->step = STEP_COUNT;
}

// An MPI's own handlers would print a report of each crash.
static void die_quietly(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
}

// Tells whether all kinds were listed.
static bool list_all(void)
{
    while (place->kind < KINDS) {
        int status = 0, last_step;
        pid_t child = fork();
        if (child == 0) {
            die_quietly();
            go_on();
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return false;
        last_step = place->step;
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == 0 && place->kind == KINDS;
        if (last_step == STEP_COUNT) {
            failed(MPI_ERR_OTHER, kinds[place->kind].count_call);
            place->kind++;
            place->index = 0;
        } else {
            step_over(WTERMSIG(status));
        }
    }
    return true;
}

static void list_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", standard[32];
    int size = 0;
    struct line l = {0};
    PMPI_Get_library_version(version, &size);
    snprintf(standard, sizeof standard, "%d.%d", MPI_VERSION, MPI_SUBVERSION);
    line_start(&l, "library");
    line_text(&l, "version", version);
    line_text(&l, "standard", standard);
    emit(&l);
    free(l.text);
}

int main(int argc, char **argv)
{
    static const struct rlimit none;
    struct line l = {0};
    int provided;
    after_init = argc > 1 && strcmp(argv[1], "after-init") == 0;
    setrlimit(RLIMIT_CORE, &none);
    list_file = dup(STDOUT_FILENO); // what the MPI prints is no part of the list
    dup2(STDERR_FILENO, STDOUT_FILENO);
    place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (list_file < 0 || place == MAP_FAILED)
        return 1;
    int code = PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "MPI_T_init_thread: error %d\n", code);
        return 1;
    }
    if (after_init)
        PMPI_Init(NULL, NULL); // its error handler ends the process
    list_library();
    if (!list_all())
        return 1;
    line_start(&l, "end");
    line_number(&l, "lines", place->lines);
    line_write(&l, list_file);
    if (after_init)
        PMPI_Finalize();
    _exit(0); // MPI_T_finalize crashes after MPI_Finalize in Open MPI 4.1
}
