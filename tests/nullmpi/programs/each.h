/* For the program that TestEachCall writes: a call of each function that is recorded. */
#ifndef EACH_H
#define EACH_H

#include "check.h"
#include "nullmpi.h"

#include <errno.h>
#include <mpitrace.h>
#include <string.h>

/* What pointers among the arguments point to. */
static struct objects {
    char memory[256];
    int ints[16];
    MPI_Aint addresses[16];
    MPI_Count counts[16];
    MPI_Comm comm;
    MPI_Datatype types[4], type;
    MPI_Errhandler errhandler;
    MPI_File file;
    MPI_Group group;
    MPI_Info infos[4];
    MPI_Message message;
    MPI_Op op;
    MPI_Request request;
    MPI_Session session;
    MPI_Status status;
    MPI_Win win;
    char *text, **texts;
} o;

typedef struct each {
    const char *name;
    int (*call)(void);
    int (*null)(void); /* with null pointers and invalid handles */
} each;

static void make_objects(void)
{
    mpitrace_phase("objects");
    memset(&o, 0, sizeof o);
    for (int i = 0; i < 4; i++) {
        o.types[i] = MPI_INT;
        o.infos[i] = MPI_INFO_NULL;
    }
    o.message = MPI_MESSAGE_NO_PROC;
    MPI_Comm_dup(MPI_COMM_WORLD, &o.comm);
    MPI_Comm_group(MPI_COMM_WORLD, &o.group);
    MPI_Type_contiguous(3, MPI_INT, &o.type);
    MPI_Send_init(o.memory, 5, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &o.request);
    MPI_Win_create(o.memory, sizeof o.memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &o.win);
    MPI_File_open(MPI_COMM_WORLD, "file", 0, MPI_INFO_NULL, &o.file);
}

/* The calls of all functions but that of MPI_Error_class, which mpitrace's library asks
 * whether a receive was truncated. */
static long calls_that_matter(void)
{
    return null_all_calls() - null_calls("Error_class");
}

/* Each call fails: the library passes it on once, makes no other call, and changes neither
 * the result, nor the arguments, nor errno. */
static void fail(const each *e, const char *phase, int (*call)(void))
{
    static struct objects before;
    make_objects();
    mpitrace_phase(phase);
    memcpy(&before, &o, sizeof o);
    null_fail(e->name, MPI_ERR_OTHER);
    long calls = calls_that_matter();
    errno = 77;
    int rc = call();
    if (rc != MPI_ERR_OTHER || errno != 77 || calls_that_matter() != calls + 1 || memcmp(&before, &o, sizeof o) != 0) {
        fprintf(stderr, "%s: %d, errno %d, %ld calls, arguments %s\n", e->name, rc, errno, calls_that_matter() - calls,
                memcmp(&before, &o, sizeof o) ? "changed" : "kept");
        exit(1);
    }
}

static void succeed(const each *e)
{
    make_objects();
    mpitrace_phase("succeeded");
    long calls = null_calls(e->name);
    errno = 77;
    int rc = e->call();
    if (rc != MPI_SUCCESS || errno != 77 || null_calls(e->name) < calls + 1) {
        fprintf(stderr, "%s: %d, errno %d, %ld calls\n", e->name, rc, errno, null_calls(e->name) - calls);
        exit(1);
    }
}

static inline int try_each(const each *all)
{
    begin(0, NULL, 1);
    for (const each *e = all; e->name; e++)
        fail(e, "failed", e->call);
    for (const each *e = all; e->name; e++)
        fail(e, "null", e->null);
    for (const each *e = all; e->name; e++)
        succeed(e);
    return end();
}

#endif
