/* A program that observes its own messages as with Open MPI's monitoring (4 ranks).
 * It has three phases, each of which it flushes. With "value" it binds communicators
 * by value, not by address.
 *
 *   prof/phase_1  a token goes round: 27 ints from rank 0, 26 from each other rank
 *   (between)     an Allreduce of the counts
 *   prof/phase_2  ranks 1 and 3 exchange a token: 52 and 51 ints; ranks 0 and 2
 *                 call an Alltoall of 2048 bytes and a Barrier
 *   (no name)     8 bytes to the next rank
 *
 * The program does not know which library offers the variables. Rank 0 prints ok,
 * the largest counts, the counts after the flush, and the lengths of the flush
 * variable: as bound first, and as bound while it has a name. */
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

enum { RANKS = 4, ROUNDS = 25, ROUNDS_OF_ODD = 50, INTS = 512 };

static MPI_T_pvar_session session;
static int by_value;

static int index_of(const char *name, int class)
{
    int index = -1;
    REQUIRE(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    return index;
}

static MPI_T_pvar_handle bind(const char *name, int class, int *count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    void *object = by_value ? (void *)(intptr_t)world : &world;
    REQUIRE(MPI_T_pvar_handle_alloc(session, index_of(name, class), object, &handle, count) == MPI_SUCCESS);
    return handle;
}

/* circulate passes a token round. The first rank sends rounds + 2 ints, the others
 * rounds + 1. */
static void circulate(int rounds, MPI_Comm comm)
{
    int rank = rank_in(comm), size, token = rounds;
    MPI_Comm_size(comm, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request sent;
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, to, 0, comm);
    for (int i = 0; i <= rounds; i++) {
        MPI_Recv(&token, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
        token -= rank == 0;
        MPI_Isend(&token, 1, MPI_INT, to, 0, comm, &sent);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    if (rank == 1)
        MPI_Recv(&token, 1, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
    REQUIRE(token == (rank < 2 ? -1 : 0));
}

static void apart(void)
{
    static char out[2 * 4 * INTS], in[2 * 4 * INTS];
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
    MPI_Comm_set_name(comm, world_rank % 2 ? "odd" : "even");
    if (world_rank % 2)
        circulate(ROUNDS_OF_ODD, comm);
    else {
        MPI_Alltoall(out, INTS, MPI_INT, in, INTS, MPI_INT, comm);
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
}

static void flush(MPI_T_pvar_handle handle, const char *name)
{
    REQUIRE(MPI_T_pvar_write(session, handle, (void *)name) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_stop(session, handle) == MPI_SUCCESS);
}

static void next_of_all(void)
{
    char out[8] = "", in[8];
    MPI_Sendrecv(out, 8, MPI_BYTE, (world_rank + 1) % RANKS, 0, in, 8, MPI_BYTE, (world_rank + RANKS - 1) % RANKS, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void print(const char *what, const unsigned long n[RANKS])
{
    printf("%s %lu %lu %lu %lu\n", what, n[0], n[1], n[2], n[3]);
}

int main(int argc, char **argv)
{
    int provided, none = -1, named = -1, members = -1;
    unsigned long most[RANKS] = {0}, after[RANKS] = {0};
    MPI_T_pvar_handle again;
    begin(argc, argv, RANKS);
    by_value = argc > 1 && strcmp(argv[1], "value") == 0;
    mkdir("prof", 0777);
    REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_T_pvar_handle file = bind("pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, &none);
    MPI_T_pvar_handle counts = bind("pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &members);
    REQUIRE(members == RANKS);

    REQUIRE(MPI_T_pvar_start(session, file) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_start(session, counts) == MPI_SUCCESS);
    circulate(ROUNDS, MPI_COMM_WORLD);
    REQUIRE(MPI_T_pvar_read(session, counts, most) == MPI_SUCCESS);
    flush(file, "prof/phase_1");
    REQUIRE(MPI_T_pvar_read(session, counts, after) == MPI_SUCCESS);
    MPI_Allreduce(MPI_IN_PLACE, most, RANKS, MPI_UNSIGNED_LONG, MPI_MAX, MPI_COMM_WORLD);

    REQUIRE(MPI_T_pvar_start(session, file) == MPI_SUCCESS);
    again = bind("pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, &named);
    apart();
    flush(file, "prof/phase_2");

    REQUIRE(MPI_T_pvar_start(session, file) == MPI_SUCCESS);
    next_of_all();
    flush(file, "");

    REQUIRE(MPI_T_pvar_handle_free(session, &again) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_handle_free(session, &counts) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_handle_free(session, &file) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    REQUIRE(MPI_T_finalize() == MPI_SUCCESS);
    if (world_rank == 0) {
        puts("ok");
        print("most", most);
        print("after", after);
        printf("lengths %d %d\n", none, named);
    }
    return MPI_Finalize();
}
