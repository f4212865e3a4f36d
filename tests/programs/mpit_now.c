/* Tests variables of the current state of the process (2 ranks): requests in flight
 * and their maximum, the time in MPI, and the age of a call that another thread is
 * in. With MPIT_OFF in the environment it does the same without MPI_T. */
#include "mpit.h"
#include <pthread.h>
#include <unistd.h>

enum { SESSIONS = 3 };

static int off, other;
static char in[8], out[8];
static MPI_T_pvar_session sessions[SESSIONS];

/* renew frees all handles. */
static void renew(void)
{
    for (int s = 0; s < SESSIONS && !off; s++) {
        WORKS(MPI_T_pvar_session_free(&sessions[s]));
        WORKS(MPI_T_pvar_session_create(&sessions[s]));
    }
}

static MPI_T_pvar_handle process_handle(int s, int variable)
{
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
    int count;
    if (!off)
        WORKS(MPI_T_pvar_handle_alloc(sessions[s], offered_index[variable], NULL, &h, &count));
    return h;
}

static void apply(int (*call)(MPI_T_pvar_session, MPI_T_pvar_handle), int s, MPI_T_pvar_handle h)
{
    if (!off)
        WORKS(call(sessions[s], h));
}

static void number(int line, int s, MPI_T_pvar_handle h, unsigned long want)
{
    unsigned long got = 77;
    if (off)
        return;
    WORKS(MPI_T_pvar_read(sessions[s], h, &got));
    check_at(__FILE__, line, got == want, "a number of requests");
    if (got != want)
        fprintf(stderr, "  it is %lu, want %lu\n", got, want);
}

#define NUMBER(s, h, want) number(__LINE__, s, h, want)

/* Receives that are posted. finish completes them. */
static MPI_Request posted[16];
static int pending;

static void post(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Irecv(in, 8, MPI_BYTE, 0, 9, MPI_COMM_SELF, &posted[pending++]);
}

static void finish(void)
{
    for (int i = 0; i < pending; i++)
        MPI_Send(out, 8, MPI_BYTE, 0, 9, MPI_COMM_SELF);
    MPI_Waitall(pending, posted, MPI_STATUSES_IGNORE);
    pending = 0;
}

static void levels(void)
{
    MPI_T_pvar_handle now = process_handle(0, REQUESTS), most = process_handle(0, MOST_REQUESTS),
                      all = process_handle(1, MOST_REQUESTS), never = process_handle(2, MOST_REQUESTS);
    about = "requests";
    apply(MPI_T_pvar_start, 1, all);
    NUMBER(0, now, 0);
    post(3);
    NUMBER(0, now, 3);
    NUMBER(0, most, 0); /* not started, so it is 0 */
    NUMBER(1, all, 3);
    apply(MPI_T_pvar_start, 0, most);
    NUMBER(0, most, 3);
    post(2);
    NUMBER(0, now, 5);
    finish();
    NUMBER(0, now, 0);
    NUMBER(0, most, 5);
    apply(MPI_T_pvar_reset, 0, most);
    apply(MPI_T_pvar_reset, 0, now);
    NUMBER(0, most, 0);
    NUMBER(1, all, 5);
    post(2);
    NUMBER(0, most, 2);
    apply(MPI_T_pvar_stop, 0, most);
    post(2);
    NUMBER(0, most, 2);
    apply(MPI_T_pvar_reset, 0, most);
    NUMBER(0, most, 4);
    finish();
    NUMBER(0, most, 4);
    NUMBER(1, all, 5);
    NUMBER(2, never, 0);
    MPI_Request q;
    MPI_Recv_init(in, 8, MPI_BYTE, 0, 9, MPI_COMM_SELF, &q);
    MPI_Start(&q);
    NUMBER(0, now, 1);
    MPI_Send(out, 8, MPI_BYTE, 0, 9, MPI_COMM_SELF);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    NUMBER(0, now, 0);
    renew();
    about = "";
}

static double seconds(int s, MPI_T_pvar_handle h)
{
    double got = -1;
    if (!off)
        WORKS(MPI_T_pvar_read(sessions[s], h, &got));
    return got;
}

static void pass_time(void)
{
    for (int i = 0; i < 20; i++)
        MPI_Sendrecv(out, 8, MPI_BYTE, other, 0, in, 8, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void times(void)
{
    MPI_T_pvar_handle a = process_handle(0, TIME), b = process_handle(1, TIME);
    const double from = MPI_Wtime();
    double last = 0, at_reset = 0;
    about = "time";
    apply(MPI_T_pvar_start, 0, a);
    pass_time();
    if (!off)
        CHECK(seconds(0, a) > 0 && seconds(1, b) == 0 && seconds(0, a) <= (MPI_Wtime() - from) * 1.01 + 1e-3);
    apply(MPI_T_pvar_start, 1, b);
    pass_time();
    apply(MPI_T_pvar_stop, 0, a);
    last = seconds(0, a);
    pass_time();
    if (!off) {
        CHECK(seconds(0, a) == last && seconds(1, b) > 0);
        WORKS(MPI_T_pvar_readreset(sessions[0], a, &at_reset));
        CHECK(at_reset == last && seconds(0, a) == 0 && seconds(1, b) > 0);
    }
    apply(MPI_T_pvar_start, 0, a);
    pass_time();
    if (!off)
        CHECK(seconds(0, a) > 0 && seconds(0, a) < seconds(1, b));
    renew();
    about = "";
}

static void *wait_for_word(void *arg)
{
    char word;
    (void)arg;
    MPI_Recv(&word, 1, MPI_BYTE, other, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* age keeps a thread in MPI_Recv until both processes have read the age of that call,
 * and seen it grow. The message comes from the other process: MPICH 4.0.2 does not
 * deliver a message to itself while a thread waits for it. */
static void age(void)
{
    pthread_t thread;
    MPI_T_pvar_handle h = process_handle(0, CALL_AGE);
    about = "age";
    if (!off)
        CHECK(seconds(0, h) == 0);
    REQUIRE(pthread_create(&thread, NULL, wait_for_word, NULL) == 0);
    if (!off) {
        double young = 0, old = 0;
        for (int i = 0; i < 20000 && young <= 0; i++, usleep(1000))
            young = seconds(0, h);
        for (int i = 0; i < 20000 && old <= young; i++, usleep(1000))
            old = seconds(0, h);
        CHECK(young > 0 && old > young);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* both have read it */
    MPI_Send(out, 1, MPI_BYTE, other, 11, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    if (!off) {
        CHECK(seconds(0, h) == 0);
        WORKS(MPI_T_pvar_handle_free(sessions[0], &h));
    }
    about = "";
}

int main(int argc, char **argv)
{
    int provided;
    off = getenv("MPIT_OFF") != NULL;
    if (!off)
        WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(world_size == 2 && provided == MPI_THREAD_MULTIPLE);
    other = 1 - world_rank;
    if (!off)
        find_offered();
    for (int s = 0; s < SESSIONS && !off; s++)
        WORKS(MPI_T_pvar_session_create(&sessions[s]));
    levels();
    times();
    age();
    if (!off)
        WORKS(MPI_T_finalize());
    MPI_Finalize();
    return report();
}
