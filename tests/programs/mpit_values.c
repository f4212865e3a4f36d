/* Tests the counts of the variables that the library offers (2 ranks): mpit_values
 * ROUNDS. It compares them with a record of all messages, and with a model of start,
 * stop, reset, read, readreset, new and freed handles and MPI_T_PVAR_ALL_HANDLES, in
 * three sessions. With MPIT_OFF in the environment it sends the same without MPI_T. */
#include "mpit.h"

enum { WORLD, REVERSED, SELF, BETWEEN, COMMS };
enum { P2P, PUT, GET, COLL, KINDS };
enum { O2A, A2O, A2A, CLASSES };
enum { SESSIONS = 3, HANDLES = 12, ROOM = 512 };

static int off, other;
static MPI_Comm comms[COMMS];
static MPI_Win window;
static MPI_File file;
static char in[4 * ROOM], out[4 * ROOM], *memory;

/* The expected values: messages and bytes by kind and world rank; operations
 * and bytes by communicator and class; bytes as in mpitrace_bytes_*; and calls. */
static unsigned long messages[KINDS][2], bytes[KINDS][2], operations[COMMS][CLASSES], volume[COMMS][CLASSES],
    moved[6], calls;

enum { TO_P2P, TO_O2A, TO_A2O, TO_A2A, TO_ONE_SIDED, TO_IO };

static void message(int kind, int to, int n)
{
    const int total[] = {TO_P2P, TO_ONE_SIDED, TO_ONE_SIDED};
    messages[kind][to]++;
    bytes[kind][to] += (unsigned long)n;
    if (kind != COLL)
        moved[total[kind]] += (unsigned long)n;
}

/* collective records a collective in which this process sends to the other, or
 * receives as the root. */
static void collective(int comm, int class, int root, int n)
{
    const int sends = class == A2A || (class == O2A) == root;
    if (sends) {
        message(COLL, other, n);
        moved[TO_O2A + class] += (unsigned long)n;
    }
    if (class == A2A || root) {
        operations[comm][class]++;
        volume[comm][class] += (unsigned long)n;
    }
}

static unsigned long next(unsigned long *seed)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return *seed >> 33;
}

static void point_to_point(int how, int n)
{
    MPI_Request q[2];
    switch (how) {
    case 0:
        MPI_Sendrecv(out, n, MPI_BYTE, other, 0, in, ROOM, MPI_BYTE, other, 0, comms[WORLD], MPI_STATUS_IGNORE);
        calls += 1;
        break;
    case 1:
        MPI_Isend(out, n, MPI_BYTE, world_rank, 1, comms[REVERSED], &q[0]); /* that is the other process there */
        MPI_Irecv(in, ROOM, MPI_BYTE, world_rank, 1, comms[REVERSED], &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        calls += 3;
        break;
    case 2:
        MPI_Isend(out, n, MPI_BYTE, 0, 2, comms[SELF], &q[0]);
        MPI_Recv(in, ROOM, MPI_BYTE, 0, 2, comms[SELF], MPI_STATUS_IGNORE);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        message(P2P, world_rank, n);
        calls += 3;
        return;
    case 3:
        MPI_Sendrecv(out, n, MPI_BYTE, 0, 3, in, ROOM, MPI_BYTE, 0, 3, comms[BETWEEN], MPI_STATUS_IGNORE);
        calls += 1;
        break;
    case 4:
        MPI_Send_init(out, n, MPI_BYTE, other, 4, comms[WORLD], &q[0]);
        MPI_Recv_init(in, ROOM, MPI_BYTE, other, 4, comms[WORLD], &q[1]);
        MPI_Startall(2, q);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        MPI_Request_free(&q[0]);
        MPI_Request_free(&q[1]);
        calls += 6;
        break;
    }
    message(P2P, other, n);
}

static void between(int how, int root, int n)
{
    const int as = root == world_rank ? MPI_ROOT : 0;
    switch (how) {
    case 0:
        MPI_Bcast(out, n, MPI_BYTE, as, comms[BETWEEN]);
        collective(BETWEEN, O2A, root == world_rank, n);
        break;
    case 1:
        MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, as, comms[BETWEEN]);
        collective(BETWEEN, A2O, root == world_rank, n);
        break;
    case 2:
        MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, comms[BETWEEN]);
        collective(BETWEEN, A2A, 0, n);
        break;
    }
    calls++;
}

static void among(int how, int root, int n)
{
    const int there[2] = {0, ROOM};
    const int send[2] = {n + world_rank, n + world_rank}, receive[2] = {n + 1, n}; /* reversed order */
    MPI_Request q;
    switch (how) {
    case 0:
        MPI_Bcast(out, n, MPI_BYTE, root, comms[WORLD]);
        collective(WORLD, O2A, root == world_rank, n);
        break;
    case 1:
        MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, 1 - root, comms[REVERSED]);
        collective(REVERSED, A2O, root == world_rank, n);
        break;
    case 2:
        MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, comms[WORLD]);
        collective(WORLD, A2A, 0, 4 * n);
        break;
    case 3:
        MPI_Alltoallv(out, send, there, MPI_BYTE, in, receive, there, MPI_BYTE, comms[REVERSED]);
        collective(REVERSED, A2A, 0, n + world_rank);
        break;
    case 4:
        MPI_Barrier(comms[WORLD]);
        collective(WORLD, A2A, 0, 0);
        break;
    case 5: /* a communicator without other processes */
        MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, comms[SELF]);
        operations[SELF][A2A]++;
        break;
    case 6:
        MPI_Ibcast(out, n, MPI_BYTE, root, comms[WORLD], &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        collective(WORLD, O2A, root == world_rank, n);
        calls++;
        break;
    case 7:
        MPI_Reduce(out, in, n, MPI_INT, MPI_MAX, root, comms[WORLD]);
        collective(WORLD, A2O, root == world_rank, 4 * n);
        break;
    }
    calls++;
}

/* one_sided accesses the other process through a window. The window's
 * communicator has reversed order, so the other process has this process's world
 * rank there. Each process uses a part of the memory of its own. */
static void one_sided(int how, int n)
{
    static int one = 1;
    const MPI_Aint place = world_rank * ROOM;
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window);
    switch (how) {
    case 0:
        MPI_Put(out, n, MPI_BYTE, world_rank, place, n, MPI_BYTE, window);
        message(PUT, other, n);
        break;
    case 1:
        MPI_Get(in, n, MPI_BYTE, world_rank, place, n, MPI_BYTE, window);
        message(GET, other, n);
        break;
    case 2:
        MPI_Fetch_and_op(&one, in, MPI_INT, world_rank, 3 * ROOM, MPI_SUM, window);
        message(PUT, other, sizeof one);
        message(GET, other, sizeof one);
        break;
    }
    MPI_Win_unlock(world_rank, window);
    calls += 3;
}

static void input_output(int how, int n)
{
    if (how == 0)
        MPI_File_write_at(file, 0, out, n, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        MPI_File_read_at(file, 0, in, n, MPI_BYTE, MPI_STATUS_IGNORE);
    moved[TO_IO] += (unsigned long)n;
    calls++;
}

static void move(unsigned long *seed)
{
    const int what = (int)(next(seed) % 21), n = (int)(next(seed) % 200), root = (int)(next(seed) % 2);
    if (what < 5)
        point_to_point(what, n);
    else if (what < 8)
        between(what - 5, root, n);
    else if (what < 16)
        among(what - 8, root, n);
    else if (what < 19)
        one_sided(what - 16, n);
    else
        input_output(what - 19, n);
}

/* Writes the values that a variable must have for a handle that was started at the beginning.
 * Returns how many values these are. */
static int from_start(int variable, int comm, unsigned long *values)
{
    const int members[COMMS][2] = {{0, 1}, {1, 0}, {world_rank}, {other}};
    const int n = comm == WORLD || comm == REVERSED ? 2 : 1;
    if (variable >= CALLS) {
        values[0] = variable == CALLS ? calls : moved[variable - BYTES];
        return 1;
    }
    if (variable >= OPERATIONS) {
        const int class = (variable - OPERATIONS) % CLASSES;
        values[0] = (variable < VOLUMES ? operations : volume)[comm][class];
        return 1;
    }
    const int kind = (variable - ARRAYS) / 2;
    for (int i = 0; i < n; i++)
        values[i] = ((variable - ARRAYS) % 2 ? bytes : messages)[kind][members[comm][i]];
    return n;
}

/* A handle, and its expected state. */
typedef struct tracked {
    MPI_T_pvar_handle handle;
    int variable, comm, open, started;
    unsigned long kept[2], from[2]; /* count at the latest stop, and total of all messages at the latest start */
} tracked;

static struct {
    MPI_T_pvar_session id;
    tracked handles[HANDLES];
} sessions[SESSIONS];

static void expected(const tracked *t, unsigned long *values)
{
    unsigned long now[2] = {0, 0};
    const int n = from_start(t->variable, t->comm, now);
    for (int i = 0; i < n; i++)
        values[i] = t->kept[i] + (t->started ? now[i] - t->from[i] : 0);
}

static void model(tracked *t, int started, int reset)
{
    expected(t, t->kept);
    if (reset)
        t->kept[0] = t->kept[1] = 0;
    t->started = started;
    from_start(t->variable, t->comm, t->from);
}

static void open_handle(MPI_T_pvar_session session, tracked *t, int variable, int comm)
{
    int count = -1;
    unsigned long values[2] = {0, 0};
    if (off)
        return;
    memset(t, 0, sizeof *t);
    t->variable = variable, t->comm = comm;
    about = all_offered[variable].name;
    t->open = WORKS(MPI_T_pvar_handle_alloc(session, offered_index[variable], &comms[comm], &t->handle, &count));
    CHECK(count == from_start(variable, comm, values));
}

/* compare reads a handle, with readreset if `reset`, and checks the values. */
static void compare(MPI_T_pvar_session session, tracked *t, int reset)
{
    unsigned long want[2] = {0, 0}, got[3] = {77, 77, 77};
    if (off)
        return;
    about = all_offered[t->variable].name;
    WORKS((reset ? MPI_T_pvar_readreset : MPI_T_pvar_read)(session, t->handle, got));
    expected(t, want);
    const int n = from_start(t->variable, t->comm, (unsigned long[2]){0});
    for (int i = 0; i < n; i++)
        if (!CHECK(got[i] == want[i]))
            fprintf(stderr, "  %s[%d] of communicator %d is %lu, want %lu\n", about, i, t->comm, got[i], want[i]);
    CHECK(got[n] == 77);
    if (reset)
        model(t, t->started, 1);
}

static void all_handles(int s, int how)
{
    int (*const does[])(MPI_T_pvar_session, MPI_T_pvar_handle) = {MPI_T_pvar_start, MPI_T_pvar_stop, MPI_T_pvar_reset};
    about = "all handles";
    WORKS(does[how](sessions[s].id, MPI_T_PVAR_ALL_HANDLES));
    for (int h = 0; h < HANDLES; h++) {
        tracked *t = &sessions[s].handles[h];
        if (t->open)
            model(t, how == 2 ? t->started : how == 0, how == 2);
    }
}

static void renew(int s)
{
    about = "session";
    WORKS(MPI_T_pvar_session_free(&sessions[s].id));
    CHECK(sessions[s].id == MPI_T_PVAR_SESSION_NULL);
    for (int h = 0; h < HANDLES; h++)
        sessions[s].handles[h].open = 0;
    WORKS(MPI_T_pvar_session_create(&sessions[s].id));
}

static void one_step(int s, unsigned long *seed)
{
    MPI_T_pvar_session id = sessions[s].id;
    tracked *t = &sessions[s].handles[next(seed) % HANDLES];
    const unsigned long what = next(seed) % 100;
    if (what == 0) {
        renew(s);
    } else if (what < 7) {
        all_handles(s, (int)(what - 1) / 2);
    } else if (!t->open) {
        int variable = ARRAYS + (int)(next(seed) % (REQUESTS - ARRAYS));
        open_handle(id, t, variable == TIME ? ARRAYS : variable, (int)(next(seed) % COMMS));
    } else if (what < 11) {
        compare(id, t, 0);
        WORKS(MPI_T_pvar_handle_free(id, &t->handle));
        CHECK(t->handle == MPI_T_PVAR_HANDLE_NULL);
        t->open = 0;
    } else if (what < 36) {
        WORKS(MPI_T_pvar_start(id, t->handle));
        if (!t->started)
            model(t, 1, 0);
    } else if (what < 50) {
        WORKS(MPI_T_pvar_stop(id, t->handle));
        model(t, 0, 0);
    } else if (what < 60) {
        WORKS(MPI_T_pvar_reset(id, t->handle));
        model(t, t->started, 1);
    } else {
        compare(id, t, what >= 90);
    }
}

static void any_order(int rounds)
{
    unsigned long traffic = 2024, steps = 7 + (unsigned long)world_rank;
    for (int i = 0; i < rounds; i++) {
        move(&traffic);
        for (int k = 0; !off && k < 8; k++)
            one_step((int)(next(&steps) % SESSIONS), &steps);
        about = "";
    }
    for (int s = 0; s < SESSIONS; s++)
        for (int h = 0; h < HANDLES; h++)
            if (sessions[s].handles[h].open)
                compare(sessions[s].id, &sessions[s].handles[h], 0);
    about = "";
}

/* Handles of all variables on all communicators, started before the first message
 * and read after the last. */
static tracked whole[COMMS][REQUESTS];

static void watch_whole(MPI_T_pvar_session session, int begin)
{
    for (int c = 0; c < COMMS; c++)
        for (int v = ARRAYS; v < REQUESTS; v++) {
            tracked *t = &whole[c][v];
            if (off || v == TIME)
                continue;
            if (!begin) {
                compare(session, t, 0);
                continue;
            }
            open_handle(session, t, v, c);
            WORKS(MPI_T_pvar_start(session, t->handle));
            model(t, 1, 0);
        }
    about = "";
}

/* three_sessions checks step by step that handles are independent of each other,
 * in one session and in several. */
static void three_sessions(void)
{
    tracked a, b, c, d;
    const int n = 10;
    open_handle(sessions[0].id, &a, ARRAYS + 1, WORLD);
    open_handle(sessions[0].id, &b, ARRAYS + 1, WORLD); /* a second handle in the same session */
    open_handle(sessions[1].id, &c, ARRAYS + 1, REVERSED);
    open_handle(sessions[2].id, &d, ARRAYS + 1, BETWEEN);
    struct {
        tracked *t;
        int session, sum; /* expected value */
    } of[] = {{&a, 0, 0}, {&b, 0, 0}, {&c, 1, 0}, {&d, 2, 0}};
    enum { START, STOP, RESET, READRESET };
    static const int steps[][2] = {{0, START}, {1, START}, {0, STOP}, {2, START}, {1, RESET}, {3, START}, {0, RESET},
                                   {2, READRESET}, {3, STOP}, {0, START}, {1, STOP}, {3, START}, {2, RESET}, {0, STOP}};
    int started[4] = {0};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const int i = steps[k][0], index = i == 2 ? world_rank : i == 3 ? 0 : other;
        unsigned long got[2] = {0, 0};
        MPI_T_pvar_session id = sessions[of[i].session].id;
        if (!off && steps[k][1] == READRESET)
            WORKS(MPI_T_pvar_readreset(id, of[i].t->handle, got)), CHECK(got[index] == (unsigned long)of[i].sum);
        else if (!off)
            WORKS((steps[k][1] == START  ? MPI_T_pvar_start
                   : steps[k][1] == STOP ? MPI_T_pvar_stop
                                         : MPI_T_pvar_reset)(id, of[i].t->handle));
        if (steps[k][1] == START || steps[k][1] == STOP)
            started[i] = steps[k][1] == START;
        else
            of[i].sum = 0;
        point_to_point(0, n);
        for (int j = 0; j < 4; j++) {
            of[j].sum += started[j] ? n : 0;
            if (off)
                continue;
            WORKS(MPI_T_pvar_read(sessions[of[j].session].id, of[j].t->handle, got));
            CHECK(got[j == 2 ? world_rank : j == 3 ? 0 : other] == (unsigned long)of[j].sum);
        }
    }
    for (int j = 0; j < 4 && !off; j++)
        WORKS(MPI_T_pvar_handle_free(sessions[of[j].session].id, &of[j].t->handle));
}

static void set_up(void)
{
    char name[64];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[WORLD]);
    comms[REVERSED] = reversed();
    MPI_Comm_dup(MPI_COMM_SELF, &comms[SELF]);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, 5, &comms[BETWEEN]);
    MPI_Win_allocate(4 * ROOM, 1, MPI_INFO_NULL, comms[REVERSED], &memory, &window);
    snprintf(name, sizeof name, "mpit_values.%d", world_rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at(file, 0, out, ROOM, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (off)
        return;
    find_offered();
    for (int s = 0; s < SESSIONS; s++)
        WORKS(MPI_T_pvar_session_create(&sessions[s].id));
}

static void tear_down(void)
{
    MPI_File_close(&file);
    MPI_Win_free(&window);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&comms[c]);
}

int main(int argc, char **argv)
{
    int provided;
    const int rounds = argc > 1 ? atoi(argv[1]) : 300;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    off = getenv("MPIT_OFF") != NULL;
    if (!off)
        WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    begin(argc, argv, 2);
    other = 1 - world_rank;
    set_up();
    if (!off)
        WORKS(MPI_T_pvar_session_create(&session));
    watch_whole(session, 1);
    any_order(rounds);
    three_sessions();
    watch_whole(session, 0);
    if (!off)
        WORKS(MPI_T_finalize());
    tear_down();
    MPI_Finalize();
    return report();
}
