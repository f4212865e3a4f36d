/* One-sided calls that onesided.c omits, to the next rank of a communicator in
 * reverse order, to itself and to MPI_PROC_NULL; each synchronization; each
 * kind of window (3 ranks). With LARGE, uses the large-count functions. */
#include "forms.h"

#ifdef LARGE
typedef MPI_Aint unit_type;
#else
typedef int unit_type;
#endif

static MPI_Comm comm;
static MPI_Datatype triple; /* three ints */
static int next, last, mine[16], got[16];

/* to_next uses the type of three ints on one side only, so the counts of the
 * two sides differ. Using the count of one side with the type of the other
 * would give a wrong size. */
static void to_next(MPI_Win win)
{
    MPI_Request q[5];
    int one = 1;
    MPI_Win_lock_all(0, win);
    CALL(Put, put, mine, 2, triple, next, 0, 6, MPI_INT, win);
    CALL(Get, get, got, 3, MPI_INT, next, 8, 1, triple, win);
    CALL(Accumulate, accumulate, mine, 3, triple, next, 16, 9, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_local(next, win);
    CALL(Raccumulate, raccumulate, mine, 4, MPI_INT, next, 32, 4, MPI_INT, MPI_SUM, win, &q[0]);
    CALL(Rget_accumulate, rget_accumulate, mine, 5, MPI_INT, got, 5, MPI_INT, next, 40, 5, MPI_INT, MPI_SUM, win,
         &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Win_flush_local_all(win);
    CALL(Rget_accumulate, rget_accumulate, NULL, 0, MPI_INT, got, 7, MPI_INT, next, 40, 7, MPI_INT, MPI_NO_OP, win,
         &q[2]);
    CALL(Rput, rput, mine, 8, MPI_INT, next, 48, 8, MPI_INT, win, &q[3]);
    MPI_Waitall(2, q + 2, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    CALL(Rget, rget, got, 6, MPI_INT, next, 8, 2, triple, win, &q[4]);
    MPI_Wait(&q[4], MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(&one, got, MPI_INT, next, 60, MPI_NO_OP, win);
    CALL(Get_accumulate, get_accumulate, mine, 1, triple, got, 3, MPI_INT, next, 56, 3, MPI_INT, MPI_SUM, win);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
}

static void to_self_and_nobody(MPI_Win win)
{
    MPI_Request q[4];
    int one = 1, self = rank_in(comm), nobody = MPI_PROC_NULL;
    MPI_Win_lock(MPI_LOCK_SHARED, self, 0, win);
    CALL(Put, put, mine, 1, MPI_INT, self, 62, 1, MPI_INT, win);
    CALL(Get, get, got, 2, MPI_INT, self, 8, 2, MPI_INT, win);
    MPI_Win_unlock(self, win);
    MPI_Win_lock_all(0, win);
    CALL(Get, get, got, 1, MPI_INT, nobody, 0, 1, MPI_INT, win);
    CALL(Accumulate, accumulate, mine, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, win);
    CALL(Get_accumulate, get_accumulate, mine, 1, MPI_INT, got, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Fetch_and_op(&one, got, MPI_INT, nobody, 0, MPI_SUM, win);
    MPI_Compare_and_swap(&one, mine, got, MPI_INT, nobody, 0, win);
    CALL(Rput, rput, mine, 1, MPI_INT, nobody, 0, 1, MPI_INT, win, &q[0]);
    CALL(Rget, rget, got, 1, MPI_INT, nobody, 0, 1, MPI_INT, win, &q[1]);
    CALL(Raccumulate, raccumulate, mine, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, win, &q[2]);
    CALL(Rget_accumulate, rget_accumulate, mine, 1, MPI_INT, got, 1, MPI_INT, nobody, 0, 1, MPI_INT, MPI_SUM, win,
         &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
}

/* active opens two epochs as target. It ends the first with Win_wait and the
 * second with Win_test. */
static void active(MPI_Win win)
{
    MPI_Group all, from, to;
    int flag = 0;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &last, &from);
    MPI_Group_incl(all, 1, &next, &to);
    for (int i = 0; i < 2; i++) {
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        CALL(Put, put, mine, 10, MPI_INT, next, 0, 10, MPI_INT, win);
        MPI_Win_complete(win);
        if (i == 0)
            MPI_Win_wait(win);
        else
            while (!flag)
                MPI_Win_test(win, &flag);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

static void dynamic(void)
{
    static int memory[16];
    MPI_Aint here, there;
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Get_address(memory, &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, last, 0, &there, 1, MPI_AINT, next, 0, comm, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    CALL(Put, put, mine, 11, MPI_INT, next, there, 11, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
}

static void shared(void)
{
    MPI_Aint size;
    unit_type unit;
    int *memory, *theirs;
    MPI_Win win;
    CALL(Win_allocate_shared, win_allocate_shared, 64, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    CALL(Win_shared_query, win_shared_query, win, next, &size, &unit, &theirs);
    REQUIRE(size == 64 && unit == sizeof(int));
    MPI_Win_fence(0, win);
    CALL(Put, put, mine, 12, MPI_INT, next, 0, 12, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void failed(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
}

static void manage(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, key, value;
    MPI_Errhandler handler, before;
    MPI_Info info;
    MPI_Win_set_name(win, "memory");
    MPI_Win_get_name(win, name, &length);
    REQUIRE(length == 6);
    MPI_Win_get_info(win, &info);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_delete_attr(win, key);
    MPI_Win_free_keyval(&key);
    MPI_Win_create_errhandler(failed, &handler);
    MPI_Win_get_errhandler(win, &before);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    /* This Put fails: it counts as a call without a message. */
    CALL(Put, put, mine, 1, MPI_INT, 99, 0, 1, MPI_INT, win);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&before);
}

int main(int argc, char **argv)
{
    static int memory[64];
    MPI_Win win;
    begin(argc, argv, 3);
    comm = reversed();
    next = (rank_in(comm) + 1) % 3;
    last = (rank_in(comm) + 2) % 3;
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    CALL(Win_create, win_create, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);
    to_next(win);
    MPI_Barrier(comm);
    to_self_and_nobody(win);
    MPI_Barrier(comm);
    active(win);
    manage(win);
    MPI_Win_free(&win);
    dynamic();
    shared();
    MPI_Type_free(&triple);
    MPI_Comm_free(&comm);
    return end();
}
