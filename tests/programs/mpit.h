/* Shared by the programs that test MPI_T: checks that count failures and continue, and
 * the variables that the library offers, as listed in docs/mpi_t.md. */
#ifndef MPIT_H
#define MPIT_H

#include "check.h"
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static atomic_int checks, failed;
static _Thread_local const char *about = ""; /* what is being tested */

static inline const char *error_name(int rc)
{
#define NAME(e) {e, #e}
    static const struct {
        int rc;
        const char *name;
    } names[] = {
        NAME(MPI_SUCCESS), NAME(MPI_T_ERR_INVALID), NAME(MPI_T_ERR_MEMORY), NAME(MPI_T_ERR_NOT_INITIALIZED),
        NAME(MPI_T_ERR_CANNOT_INIT), NAME(MPI_T_ERR_INVALID_INDEX), NAME(MPI_T_ERR_INVALID_ITEM),
        NAME(MPI_T_ERR_INVALID_HANDLE), NAME(MPI_T_ERR_OUT_OF_HANDLES), NAME(MPI_T_ERR_OUT_OF_SESSIONS),
        NAME(MPI_T_ERR_INVALID_SESSION), NAME(MPI_T_ERR_CVAR_SET_NOT_NOW), NAME(MPI_T_ERR_CVAR_SET_NEVER),
        NAME(MPI_T_ERR_PVAR_NO_STARTSTOP), NAME(MPI_T_ERR_PVAR_NO_WRITE), NAME(MPI_T_ERR_PVAR_NO_ATOMIC),
        NAME(MPI_T_ERR_INVALID_NAME),
    };
#undef NAME
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].rc == rc)
            return names[i].name;
    return "another code";
}

static inline int check_at(const char *file, int line, int holds, const char *what)
{
    checks++;
    if (!holds && failed++ < 40)
        fprintf(stderr, "%s:%d: rank %d: %s%snot so: %s\n", file, line, world_rank, about, *about ? ": " : "", what);
    return holds;
}

static inline int check_code(const char *file, int line, int want, int got, const char *what)
{
    checks++;
    if (want != got && failed++ < 40)
        fprintf(stderr, "%s:%d: rank %d: %s%s%s is %s (%d), want %s\n", file, line, world_rank, about,
                *about ? ": " : "", what, error_name(got), got, error_name(want));
    return want == got;
}

#define CHECK(condition) check_at(__FILE__, __LINE__, !!(condition), #condition)
/* IS checks the return code of a call, and WORKS that it is MPI_SUCCESS. Both
 * return whether the check holds. */
#define IS(want, call) check_code(__FILE__, __LINE__, want, call, #call)
#define WORKS(call) IS(MPI_SUCCESS, call)

/* report prints the result and returns the exit status of the program. */
static inline int report(void)
{
    if (failed)
        fprintf(stderr, "rank %d: %d of %d checks failed\n", world_rank, failed, checks);
    else if (world_rank == 0)
        printf("ok\n%d checks\n", checks);
    return failed != 0;
}

/* A variable that the library offers. */
typedef struct offered {
    const char *name;
    int class, type; /* 'u' unsigned long, 'd' double, 'c' char */
    int bound, read_only, continuous, atomic; /* atomic: -1 if not specified */
} offered;

enum {
    FLUSH, ARRAYS, OPERATIONS = ARRAYS + 8, VOLUMES = OPERATIONS + 3, TIME = VOLUMES + 3, CALLS, BYTES,
    REQUESTS = BYTES + 6, MOST_REQUESTS, CALL_AGE, OFFERED
};

#define ARRAY(name) {name, MPI_T_PVAR_CLASS_SIZE, 'u', MPI_T_BIND_MPI_COMM, 1, 0, 1}
#define OF_COMM(name, class) {name, MPI_T_PVAR_CLASS_##class, 'u', MPI_T_BIND_MPI_COMM, 1, 0, 1}
#define UNBOUND(name, class, type, continuous, atomic)                                                                 \
    {name, MPI_T_PVAR_CLASS_##class, type, MPI_T_BIND_NO_OBJECT, 1, continuous, atomic}

static const offered all_offered[OFFERED] = {
    {"pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, 'c', MPI_T_BIND_MPI_COMM, 0, 0, 0},
    ARRAY("pml_monitoring_messages_count"), ARRAY("pml_monitoring_messages_size"),
    ARRAY("osc_monitoring_messages_sent_count"), ARRAY("osc_monitoring_messages_sent_size"),
    ARRAY("osc_monitoring_messages_recv_count"), ARRAY("osc_monitoring_messages_recv_size"),
    ARRAY("coll_monitoring_messages_count"), ARRAY("coll_monitoring_messages_size"),
    OF_COMM("coll_monitoring_o2a_count", COUNTER), OF_COMM("coll_monitoring_a2o_count", COUNTER),
    OF_COMM("coll_monitoring_a2a_count", COUNTER), OF_COMM("coll_monitoring_o2a_size", AGGREGATE),
    OF_COMM("coll_monitoring_a2o_size", AGGREGATE), OF_COMM("coll_monitoring_a2a_size", AGGREGATE),
    UNBOUND("mpitrace_time", TIMER, 'd', 0, 1), UNBOUND("mpitrace_calls", COUNTER, 'u', 0, 1),
    UNBOUND("mpitrace_bytes_p2p", AGGREGATE, 'u', 0, 1), UNBOUND("mpitrace_bytes_o2a", AGGREGATE, 'u', 0, 1),
    UNBOUND("mpitrace_bytes_a2o", AGGREGATE, 'u', 0, 1), UNBOUND("mpitrace_bytes_a2a", AGGREGATE, 'u', 0, 1),
    UNBOUND("mpitrace_bytes_one_sided", AGGREGATE, 'u', 0, 1), UNBOUND("mpitrace_bytes_io", AGGREGATE, 'u', 0, 1),
    UNBOUND("mpitrace_requests", LEVEL, 'u', 1, -1), UNBOUND("mpitrace_requests_most", HIGHWATERMARK, 'u', 0, 0),
    UNBOUND("mpitrace_call_age", LEVEL, 'd', 1, -1),
};

/* pvar_name writes the name of the variable at an index. It fails if the MPI no
 * longer has the variable. */
static inline int pvar_name(int i, char name[256])
{
    int length = 256;
    name[0] = 0;
    return MPI_T_pvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* offered_at returns the index of one of our variables. It looks among the
 * members of our category, because the MPI may have a variable of the same name
 * at a lower index. */
static inline int offered_at(int variable)
{
    enum { MOST = 200 };
    int category = -1, n = 0, members[MOST];
    if (!WORKS(MPI_T_category_get_index("mpitrace", &category)))
        return -1;
    WORKS(MPI_T_category_get_info(category, NULL, NULL, NULL, NULL, NULL, &n, NULL));
    if (!CHECK(n >= OFFERED && n <= MOST))
        return -1;
    WORKS(MPI_T_category_get_pvars(category, n, members));
    for (int i = 0; i < n; i++) {
        char name[256];
        if (pvar_name(members[i], name) == MPI_SUCCESS && strcmp(name, all_offered[variable].name) == 0)
            return members[i];
    }
    CHECK(!"a variable in our category");
    return -1;
}

/* offered_index holds the results of offered_at. */
static int offered_index[OFFERED];

static inline void find_offered(void)
{
    for (int v = 0; v < OFFERED; v++) {
        about = all_offered[v].name;
        offered_index[v] = offered_at(v);
    }
    about = "";
}

#endif
