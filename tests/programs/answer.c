/* Makes many kinds of calls for which the library needs memory:
 * communicators, windows, vectors, requests, phases, threads, and more rows
 * than fit into the first table (1 rank). Rank 0 prints the number of calls,
 * and a result that is wrong if any call did not work. */
#include "check.h"

#include <mpitrace.h>
#include <pthread.h>

enum { CROWD = 2100, PHASES = 35, MAKINGS = 15 };

static long calls, answer;

/* CALL makes an MPI call that is recorded, and changes the answer if it fails. */
#define CALL(call) (calls++, MPI_##call == MPI_SUCCESS ? (void)0 : (void)(answer += 1000000007))

static int left, right;

static void points(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[2];
    MPI_Message message;
    MPI_Datatype pairs;
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, flag;
    CALL(Type_contiguous(2, MPI_INT, &pairs));
    CALL(Type_commit(&pairs));
    CALL(Irecv(in, 2, pairs, left, 1, MPI_COMM_WORLD, &requests[0]));
    CALL(Send(out, 2, pairs, right, 1, MPI_COMM_WORLD));
    CALL(Wait(&requests[0], MPI_STATUS_IGNORE));
    answer += in[3];
    CALL(Send_init(out, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[0]));
    CALL(Recv_init(in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 3; i++) {
        out[0] = i;
        CALL(Startall(2, requests));
        CALL(Waitall(2, requests, statuses));
        answer += in[0];
    }
    CALL(Request_free(&requests[0]));
    CALL(Request_free(&requests[1]));
    CALL(Isend(out, 4, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]));
    CALL(Mprobe(left, 3, MPI_COMM_WORLD, &message, statuses));
    CALL(Mrecv(in, 4, MPI_INT, &message, MPI_STATUS_IGNORE));
    CALL(Wait(&requests[0], MPI_STATUS_IGNORE));
    answer += in[2];
    CALL(Sendrecv(out, 3, MPI_INT, right, 4, in, 3, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, statuses));
    CALL(Iprobe(left, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CALL(Type_free(&pairs));
}

/* crowd posts more requests at a time than the first table of requests has room
 * for. */
static void crowd(void)
{
    static MPI_Request requests[CROWD];
    static int in[CROWD];
    for (int i = 0; i < CROWD; i++)
        CALL(Irecv(&in[i], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < CROWD; i++)
        CALL(Send(&i, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
    CALL(Waitall(CROWD, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < CROWD; i++)
        answer += in[i];
}

static void collective(MPI_Comm comm)
{
    int n, one = 1, sum = 0, *counts, *places, *data;
    MPI_Request request;
    MPI_Comm_size(comm, &n);
    counts = calloc((size_t)n * 4, sizeof *counts);
    places = counts + n;
    data = places + n;
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        places[i] = i;
        data[i] = 10 + i;
    }
    CALL(Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CALL(Alltoallv(data, counts, places, MPI_INT, data + n, counts, places, MPI_INT, comm));
    answer += sum * data[n];
    CALL(Gatherv(&one, 1, MPI_INT, data, counts, places, MPI_INT, 0, comm));
    CALL(Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    CALL(Wait(&request, MPI_STATUS_IGNORE));
    CALL(Bcast(&sum, 1, MPI_INT, 0, comm));
    CALL(Barrier(comm));
    answer += sum;
    free(counts);
}

/* neighbors uses a communicator with a ring topology, so that the library has to
 * read its neighbours. */
static void neighbors(MPI_Comm ring)
{
    int in[8] = {0};
    CALL(Comm_set_name(ring, "a ring of all"));
    CALL(Neighbor_allgather(&(int){5}, 1, MPI_INT, in, 1, MPI_INT, ring));
    answer += in[0];
    CALL(Comm_free(&ring));
}

static void communicators(void)
{
    MPI_Comm comm, made[MAKINGS];
    MPI_Group group;
    MPI_Request request;
    CALL(Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm));
    collective(comm);
    CALL(Comm_group(comm, &group));
    CALL(Comm_create_group(comm, group, 7, &made[0]));
    CALL(Group_free(&group));
    collective(made[0]);
    CALL(Comm_free(&made[0]));
    CALL(Comm_idup(comm, &made[0], &request));
    CALL(Wait(&request, MPI_STATUS_IGNORE));
    CALL(Barrier(made[0]));
    CALL(Comm_free(&made[0]));
    CALL(Comm_free(&comm));
    /* Each is a duplicate of the one before, so none shares another's record. */
    for (int i = 0; i < MAKINGS; i++)
        CALL(Comm_dup(i ? made[i - 1] : MPI_COMM_WORLD, &made[i]));
    for (int i = 0; i < MAKINGS; i++) {
        CALL(Barrier(made[i]));
        CALL(Comm_free(&made[i]));
    }
    CALL(Cart_create(MPI_COMM_WORLD, 1, &world_size, &(int){1}, 0, &comm));
    neighbors(comm);
    CALL(Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &comm));
    neighbors(comm);
}

static void window(void)
{
    int *base;
    MPI_Win win;
    CALL(Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    *base = 0;
    CALL(Win_fence(0, win));
    CALL(Put(&(int){77}, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    CALL(Win_fence(0, win));
    answer += *base;
    CALL(Win_free(&win));
}

/* Each phase has rows of its own, so the table of rows grows. */
static void phases(void)
{
    char name[32];
    for (int i = 0; i < PHASES; i++) {
        snprintf(name, sizeof name, "phase %d", i);
        mpitrace_phase(name);
        CALL(Barrier(MPI_COMM_WORLD));
        CALL(Sendrecv(&i, 1, MPI_INT, right, 6, &(int){0}, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void *beside(void *unused)
{
    for (int i = 0; i < 10; i++)
        CALL(Barrier(MPI_COMM_SELF));
    return unused;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    CALL(Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    left = (world_rank + world_size - 1) % world_size;
    right = (world_rank + 1) % world_size;
    points();
    crowd();
    communicators();
    window();
    REQUIRE(pthread_create(&thread, NULL, beside, NULL) == 0);
    pthread_join(thread, NULL);
    phases();
    CALL(Finalize());
    if (world_rank == 0)
        printf("%ld calls %ld\n", calls, answer);
    return 0;
}
