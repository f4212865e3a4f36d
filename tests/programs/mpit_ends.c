/* Opens and closes MPI_T at different times (2 ranks): mpit_ends HOW. It frees none of its
 * sessions and handles unless HOW says so.
 *
 * early   closes it before MPI_Finalize
 * late    uses it, and closes it, after MPI_Finalize
 * left    opens it twice and closes it once, and uses it when the program exits
 * again   opens and closes it repeatedly, before, during and after MPI
 * only    uses MPI_T without MPI */
#include "mpit.h"

static MPI_T_pvar_session session;
static MPI_T_pvar_handle sent, calls;

static void open_it(void)
{
    int provided;
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    find_offered();
    WORKS(MPI_T_pvar_session_create(&session));
}

static void bind(void)
{
    int count;
    MPI_Comm world = MPI_COMM_WORLD;
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[ARRAYS], &world, &sent, &count));
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[CALLS], NULL, &calls, &count));
    WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
}

static void move(void)
{
    char in, out = 0;
    for (int i = 0; i < 5; i++)
        MPI_Sendrecv(&out, 1, MPI_BYTE, 1 - world_rank, 0, &in, 1, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

/* check_values checks that the variables return what was sent. */
static void check_values(unsigned long want)
{
    unsigned long n[2] = {77, 77};
    WORKS(MPI_T_pvar_read(session, sent, n));
    CHECK(n[world_rank] == 0 && n[1 - world_rank] == want);
    WORKS(MPI_T_pvar_read(session, calls, n));
    CHECK(n[0] >= want && n[0] <= want + 1);
}

static void is_closed(void)
{
    int n;
    unsigned long value[2];
    IS(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_num(&n));
    IS(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_read(session, sent, value));
    IS(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
}

static void at_exit(void)
{
    check_values(5);
    WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_session_free(&session));
    if (failed)
        _Exit(1);
}

static void open_and_close(int times)
{
    for (int i = 0; i < times; i++) {
        open_it();
        WORKS(MPI_T_finalize());
        is_closed();
    }
}

static int only(void)
{
    int count, n = -1;
    unsigned long value = 77;
    open_it();
    WORKS(MPI_T_pvar_get_num(&n));
    CHECK(n >= OFFERED);
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[CALLS], NULL, &calls, &count));
    WORKS(MPI_T_pvar_start(session, calls));
    WORKS(MPI_T_pvar_read(session, calls, &value));
    CHECK(value == 0);
    WORKS(MPI_T_finalize());
    is_closed();
    return report();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "late";
    const int again = strcmp(how, "again") == 0;
    if (strcmp(how, "only") == 0)
        return only();
    if (again)
        open_and_close(2);
    open_it();
    begin(argc, argv, 2);
    if (strcmp(how, "left") == 0) {
        int provided;
        WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
        atexit(at_exit);
    }
    bind();
    move();
    check_values(5);
    if (again || strcmp(how, "early") == 0) {
        WORKS(MPI_T_finalize());
        is_closed();
        move();
    }
    if (again) {
        open_and_close(2);
        open_it();
        bind();
        move();
        check_values(5);
    }
    MPI_Finalize();
    if (strcmp(how, "early") != 0) {
        check_values(5);
        WORKS(MPI_T_finalize());
    }
    if (strcmp(how, "left") != 0)
        is_closed();
    if (again)
        open_and_close(2);
    return report();
}
