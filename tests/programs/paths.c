// Calls that move no data between calls that do, a call that is nested deeper than a thread
// keeps calls, and calls with handles that are 0 (1 rank).
#include "check.h"

enum { ROUNDS = 10, DEPTH = 14 };

static int depth;

static int duplicate_again(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    MPI_Comm dup;
    (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    if (depth == DEPTH)
        return MPI_SUCCESS;
    depth++;
    MPI_Comm_dup(old, &dup);
    MPI_Comm_free(&dup);
    return MPI_SUCCESS;
}

static void move_nothing_between_messages(void)
{
    int out[100] = {0}, in[100], none[1] = {0}, one[1] = {1};
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Group group;
        MPI_Request request;
        MPI_Info info;
        MPI_Sendrecv(out, 100, MPI_INT, 0, 1, in, 100, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Group_free(&group);
        MPI_Send_init(out, 100, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Alltoallv(out, one, none, MPI_INT, in, one, none, MPI_INT, MPI_COMM_WORLD);
        MPI_Info_create(&info);
        MPI_Info_free(&info);
    }
}

static void nest(void)
{
    int key;
    MPI_Comm copied, dup;
    MPI_Comm_create_keyval(duplicate_again, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &copied);
    MPI_Comm_set_attr(copied, key, NULL);
    MPI_Comm_dup(copied, &dup);
    REQUIRE(depth == DEPTH);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&copied);
    MPI_Comm_free_keyval(&key);
}

// A handle of 0 is invalid in each MPI. The MPI has to say so.
static void pass_invalid_handles(void)
{
    int x = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_SELF);
    REQUIRE(MPI_Send(&x, 1, MPI_INT, 0, 1, (MPI_Comm)0) != MPI_SUCCESS);
    REQUIRE(MPI_Barrier((MPI_Comm)0) != MPI_SUCCESS);
    REQUIRE(MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, (MPI_Win)0) != MPI_SUCCESS);
    REQUIRE(MPI_Win_fence(0, (MPI_Win)0) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    pass_invalid_handles();
    move_nothing_between_messages();
    nest();
    return end();
}
