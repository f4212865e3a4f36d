/* Eight threads use all of MPI_T, while four others send, receive and call
 * v-collectives on communicators of their own (2 ranks): mpit_threads N,
 * where N is the number of rounds of each of the four. With MPIT_OFF in the
 * environment the four do the same, and MPI_T is not used. */
#include "mpit.h"
#include <pthread.h>

enum { TOOLS = 8, MOVERS = 4, BYTES_EACH = 16 };

static int off, rounds, other;
static atomic_int movers_left = MOVERS;
static pthread_barrier_t begun; /* no thread sends before all have begun */
static MPI_Comm comms[MOVERS];
static MPI_T_pvar_session shared; /* used by all threads */
static MPI_T_pvar_handle shared_sent, shared_calls;

/* check_own checks the count of a mover's own communicator, in the mover's own
 * session. Only the mover uses that communicator, so the count is exact at any
 * time. */
static void check_own(MPI_T_pvar_session session, MPI_T_pvar_handle own, int i)
{
    unsigned long n = 77;
    WORKS(MPI_T_pvar_read(session, own, &n));
    CHECK(n == (unsigned long)(i + 1));
}

static void *mover(void *arg)
{
    const int me = (int)(intptr_t)arg;
    char in[2 * BYTES_EACH], out[2 * BYTES_EACH] = "";
    const int each[2] = {BYTES_EACH, BYTES_EACH}, there[2] = {0, BYTES_EACH};
    MPI_T_pvar_session session;
    MPI_T_pvar_handle own = MPI_T_PVAR_HANDLE_NULL;
    int count;
    about = "mover";
    pthread_barrier_wait(&begun);
    if (!off) {
        WORKS(MPI_T_pvar_session_create(&session));
        WORKS(MPI_T_pvar_handle_alloc(session, offered_index[OPERATIONS + 2], &comms[me], &own, &count));
        WORKS(MPI_T_pvar_start(session, own));
    }
    for (int i = 0; i < rounds; i++) {
        MPI_Sendrecv(out, me, MPI_BYTE, other, 0, in, BYTES_EACH, MPI_BYTE, other, 0, comms[me], MPI_STATUS_IGNORE);
        MPI_Alltoallv(out, each, there, MPI_BYTE, in, each, there, MPI_BYTE, comms[me]);
        if (!off && i % 16 == 0)
            check_own(session, own, i);
    }
    if (!off)
        WORKS(MPI_T_pvar_session_free(&session));
    atomic_fetch_sub(&movers_left, 1);
    return NULL;
}

/* A handle of a counting variable, and the last value of one of its elements.
 * Values never decrease. */
typedef struct watched {
    MPI_T_pvar_handle handle;
    unsigned long last;
} watched;

static void read_variables(MPI_T_pvar_session session, watched *all, unsigned turn)
{
    for (int v = ARRAYS; v < OFFERED; v++) {
        unsigned long values[2] = {0, 0};
        double seconds = 0;
        about = all_offered[v].name;
        if (all_offered[v].type == 'd') {
            WORKS(MPI_T_pvar_read(session, all[v].handle, &seconds));
            CHECK(seconds >= 0);
            continue;
        }
        WORKS(MPI_T_pvar_read(session, all[v].handle, values));
        if (v < REQUESTS) {
            CHECK(values[0] + values[1] >= all[v].last);
            all[v].last = values[0] + values[1];
        }
        if (v >= REQUESTS || (turn + (unsigned)v) % 7 != 0)
            continue;
        if ((turn + (unsigned)v) % 2)
            WORKS(MPI_T_pvar_reset(session, all[v].handle));
        else
            WORKS(MPI_T_pvar_readreset(session, all[v].handle, values));
        all[v].last = 0;
    }
}

static void read_information(unsigned turn)
{
    char name[256], text[512];
    int n = 0, i = 0, length = sizeof name, described = sizeof text, class = 0, members[64], stamp;
    about = "indices";
    WORKS(MPI_T_pvar_get_num(&n));
    CHECK(n >= OFFERED);
    i = offered_index[turn % OFFERED];
    WORKS(MPI_T_pvar_get_info(i, name, &length, NULL, &class, NULL, NULL, text, &described, NULL, NULL, NULL, NULL));
    CHECK(strcmp(name, all_offered[turn % OFFERED].name) == 0);
    WORKS(MPI_T_pvar_get_index(name, class, &i));
    WORKS(MPI_T_category_get_index("mpitrace", &i));
    WORKS(MPI_T_category_get_pvars(i, 64, members));
    WORKS(MPI_T_category_changed(&stamp));
}

static void read_settings(void)
{
    MPI_T_cvar_handle h;
    char text[4096];
    int count = 0, value = -1, i = -1;
    about = "settings";
    WORKS(MPI_T_cvar_get_index("mpitrace_enabled", &i));
    WORKS(MPI_T_cvar_handle_alloc(i, NULL, &h, &count));
    WORKS(MPI_T_cvar_read(h, &value));
    CHECK(value == 1);
    WORKS(MPI_T_cvar_write(h, &value));
    WORKS(MPI_T_cvar_handle_free(&h));
    WORKS(MPI_T_cvar_get_index("mpitrace_timing", &i));
    WORKS(MPI_T_cvar_handle_alloc(i, NULL, &h, &count));
    if (CHECK(count <= (int)sizeof text))
        WORKS(MPI_T_cvar_read(h, text));
    IS(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(h, "off"));
    WORKS(MPI_T_cvar_handle_free(&h));
}

static void *tool(void *arg)
{
    unsigned turn = (unsigned)(intptr_t)arg;
    about = "tool";
    pthread_barrier_wait(&begun);
    do {
        MPI_T_pvar_session session;
        watched all[OFFERED] = {{0}};
        int provided, count = 0;
        WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
        WORKS(MPI_T_pvar_session_create(&session));
        for (int v = ARRAYS; v < OFFERED; v++) {
            about = all_offered[v].name;
            WORKS(MPI_T_pvar_handle_alloc(session, offered_index[v], v % 2 ? &comms[turn % MOVERS] : &comms[0],
                                          &all[v].handle, &count));
        }
        about = "all handles";
        WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        for (int i = 0; i < 4; i++) {
            unsigned long values[2] = {0, 0};
            read_variables(session, all, turn++);
            read_information(turn);
            read_settings();
            about = "shared";
            WORKS(MPI_T_pvar_start(shared, shared_sent)); /* it is started already */
            WORKS(MPI_T_pvar_read(shared, shared_sent, values));
            CHECK(values[world_rank] == 0);
            WORKS(MPI_T_pvar_read(shared, shared_calls, values));
        }
        about = "end";
        WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
        read_variables(session, all, turn);
        WORKS(MPI_T_pvar_handle_free(session, &all[ARRAYS + turn % 20].handle));
        WORKS(MPI_T_pvar_session_free(&session));
        WORKS(MPI_T_finalize());
    } while (movers_left > 0);
    return NULL;
}

static void open_shared(void)
{
    int provided, count;
    MPI_Comm world = MPI_COMM_WORLD;
    WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    find_offered();
    WORKS(MPI_T_pvar_session_create(&shared));
    WORKS(MPI_T_pvar_handle_alloc(shared, offered_index[ARRAYS], &world, &shared_sent, &count));
    WORKS(MPI_T_pvar_handle_alloc(shared, offered_index[CALLS], NULL, &shared_calls, &count));
    WORKS(MPI_T_pvar_start(shared, MPI_T_PVAR_ALL_HANDLES));
}

static void check_totals(void)
{
    unsigned long sent[2] = {77, 77}, calls = 0;
    about = "totals";
    WORKS(MPI_T_pvar_read(shared, shared_sent, sent));
    CHECK(sent[world_rank] == 0 && sent[other] == (unsigned long)(MOVERS * rounds));
    WORKS(MPI_T_pvar_read(shared, shared_calls, &calls));
    CHECK(calls == (unsigned long)(2 * MOVERS * rounds));
    WORKS(MPI_T_pvar_session_free(&shared));
    WORKS(MPI_T_finalize());
}

int main(int argc, char **argv)
{
    pthread_t threads[MOVERS + TOOLS];
    int provided, tools = getenv("MPIT_OFF") ? 0 : TOOLS;
    off = tools == 0;
    rounds = argc > 1 ? atoi(argv[1]) : 200;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(world_size == 2 && provided == MPI_THREAD_MULTIPLE);
    other = 1 - world_rank;
    for (int i = 0; i < MOVERS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!off)
        open_shared();
    pthread_barrier_init(&begun, NULL, (unsigned)(MOVERS + tools));
    for (int i = 0; i < MOVERS + tools; i++)
        REQUIRE(pthread_create(&threads[i], NULL, i < MOVERS ? mover : tool, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < MOVERS + tools; i++)
        pthread_join(threads[i], NULL);
    if (!off)
        check_totals();
    MPI_Finalize();
    return report();
}
