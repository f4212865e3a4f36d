/* Measures what it costs a program to read Open MPI's monitoring variables
 * (3 ranks); any number of ranks works: mpit_cost SLICES READS. In each slice rank 0
 * sends three sizes to each other rank, which makes three rows per peer. Then it reads
 * all 15 variables READS times. Prints ok, the number of rows of sends, and the median
 * and minimum time of reading all 15, in us. The other ranks sleep meanwhile. */
#include "check.h"

#include <time.h>
#include <unistd.h>

enum { VARIABLES = 15, SIZES = 3, MOST_READS = 100000 };

static const int sizes[SIZES] = {1, 100, 1000};

static const struct {
    const char *name;
    int class;
} variables[VARIABLES] = {
    {"pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC},
    {"pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE},
    {"pml_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE},
    {"osc_monitoring_messages_sent_count", MPI_T_PVAR_CLASS_SIZE},
    {"osc_monitoring_messages_sent_size", MPI_T_PVAR_CLASS_SIZE},
    {"osc_monitoring_messages_recv_count", MPI_T_PVAR_CLASS_SIZE},
    {"osc_monitoring_messages_recv_size", MPI_T_PVAR_CLASS_SIZE},
    {"coll_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE},
    {"coll_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE},
    {"coll_monitoring_o2a_count", MPI_T_PVAR_CLASS_COUNTER},
    {"coll_monitoring_o2a_size", MPI_T_PVAR_CLASS_AGGREGATE},
    {"coll_monitoring_a2o_count", MPI_T_PVAR_CLASS_COUNTER},
    {"coll_monitoring_a2o_size", MPI_T_PVAR_CLASS_AGGREGATE},
    {"coll_monitoring_a2a_count", MPI_T_PVAR_CLASS_COUNTER},
    {"coll_monitoring_a2a_size", MPI_T_PVAR_CLASS_AGGREGATE},
};

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[VARIABLES];
static unsigned long *values;
static double took[MOST_READS];

static void open_all(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int provided, index, count;
    values = calloc((size_t)world_size, sizeof *values);
    REQUIRE(values && MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    for (int i = 0; i < VARIABLES; i++) {
        REQUIRE(MPI_T_pvar_get_index(variables[i].name, variables[i].class, &index) == MPI_SUCCESS);
        REQUIRE(MPI_T_pvar_handle_alloc(session, index, &world, &handles[i], &count) == MPI_SUCCESS);
        REQUIRE(count <= world_size);
        if (i > 0) /* starting the flush variable would begin a phase */
            REQUIRE(MPI_T_pvar_start(session, handles[i]) == MPI_SUCCESS);
    }
}

/* wait_asleep waits for a request and leaves the processor to others. */
static void wait_asleep(MPI_Request *request)
{
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
        usleep(5000);
}

static void send_all(int slices)
{
    static char data[1000];
    MPI_Request request;
    for (int s = 0; s < slices; s++) {
        if (s > 0)
            MPI_Pcontrol(s + 1);
        for (int i = 0; i < SIZES; i++) {
            for (int to = 1; world_rank == 0 && to < world_size; to++)
                MPI_Send(data, sizes[i], MPI_BYTE, to, 0, MPI_COMM_WORLD);
            if (world_rank > 0) {
                MPI_Irecv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
                wait_asleep(&request);
            }
        }
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_length(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_all(int reads)
{
    for (int k = 0; k < reads; k++) {
        double start = now();
        for (int i = 0; i < VARIABLES; i++)
            REQUIRE(MPI_T_pvar_read(session, handles[i], values) == MPI_SUCCESS);
        took[k] = now() - start;
    }
    qsort(took, (size_t)reads, sizeof *took, by_length);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int slices = argc > 2 ? atoi(argv[1]) : 1, reads = argc > 2 ? atoi(argv[2]) : 100;
    REQUIRE(slices > 0 && reads > 0 && reads <= MOST_READS);
    if (world_rank == 0)
        open_all();
    send_all(slices);
    if (world_rank == 0) {
        read_all(reads);
        MPI_T_pvar_read(session, handles[1], values);
        for (int i = 1; i < world_size; i++)
            REQUIRE(values[i] == (unsigned long)(SIZES * slices));
        printf("ok\n%d rows, median %.2f us, least %.2f us\n", SIZES * slices * (world_size - 1), took[reads / 2],
               took[0]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_asleep(&request);
    return MPI_Finalize();
}
