/* Collectives with counts of 0 (4 ranks). In v-collectives, the counts of
 * odd ranks are 3. Along a line, 5 elements go up and none go down. */
#include "forms.h"

enum { N = 4 };

static char in[512], out[512];
static int numbers[64], sums[64];
static count_type counts[N], others[N];
static displ_type places[N] = {0, 64, 128, 192};

static void vectors(MPI_Comm comm)
{
    MPI_Datatype types[N];
    int odd = world_rank % 2;
    for (int i = 0; i < N; i++) {
        counts[i] = i % 2 ? 3 : 0;
        others[i] = odd ? 3 : 0;
        types[i] = MPI_INT;
    }
    CALL(Gatherv, gatherv, out, odd ? 3 : 0, MPI_BYTE, in, counts, places, MPI_BYTE, 1, comm);
    CALL(Scatterv, scatterv, out, counts, places, MPI_BYTE, in, odd ? 3 : 0, MPI_BYTE, 0, comm);
    CALL(Allgatherv, allgatherv, out, odd ? 3 : 0, MPI_BYTE, in, counts, places, MPI_BYTE, comm);
    CALL(Alltoallv, alltoallv, out, counts, places, MPI_BYTE, in, others, places, MPI_BYTE, comm);
    CALL(Alltoallw, alltoallw, out, counts, places, types, in, others, places, types, comm);
    CALL(Reduce_scatter, reduce_scatter, numbers, sums, counts, MPI_INT, MPI_SUM, comm);
}

static void line(void)
{
    const int dims[1] = {N}, open[1] = {0};
    MPI_Datatype types[2] = {MPI_SHORT, MPI_SHORT};
    MPI_Aint addresses[2] = {0, 64};
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, open, 0, &comm);
    counts[0] = 0, counts[1] = 5; /* to the lower and the higher neighbour */
    others[0] = 5, others[1] = 0;
    CALL(Neighbor_alltoallv, neighbor_alltoallv, out, counts, places, MPI_BYTE, in, others, places, MPI_BYTE, comm);
    CALL(Neighbor_alltoallw, neighbor_alltoallw, out, counts, addresses, types, in, others, addresses, types, comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    begin(argc, argv, N);
    CALL(Bcast, bcast, out, 0, MPI_BYTE, 2, MPI_COMM_WORLD);
    CALL(Gather, gather, out, 0, MPI_BYTE, in, 0, MPI_BYTE, 2, MPI_COMM_WORLD);
    CALL(Alltoall, alltoall, out, 0, MPI_BYTE, in, 0, MPI_BYTE, MPI_COMM_WORLD);
    CALL(Allreduce, allreduce, numbers, sums, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    vectors(MPI_COMM_WORLD);
    line();
    return end();
}
