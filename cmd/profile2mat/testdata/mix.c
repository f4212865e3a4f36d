/*
 * On n ranks, each rank r sends 3+r, 8+r and 13+r bytes to r+1, 7 to itself,
 * writes 13 bytes into the window of r+1 and reads 17 from that of r+2. There
 * are collectives on all ranks and on the odd and the even ones.
 */
#include <mpi.h>

int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    static char buf[1 << 16], in[1 << 16];
    for (int k = 0; k < 3; k++)
        MPI_Sendrecv(buf, 3 + 5 * k + r, MPI_CHAR, (r + 1) % n, 0, in, sizeof in, MPI_CHAR, (r + n - 1) % n, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(buf, 7, MPI_CHAR, r, 1, in, 7, MPI_CHAR, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, r % 2, -r, &half);
    MPI_Comm_set_name(half, "odd and even");
    double x = r, y;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, half);
    MPI_Bcast(buf, 11, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Win w;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    MPI_Put(buf, 13, MPI_CHAR, (r + 1) % n, 0, 13, MPI_CHAR, w);
    MPI_Get(buf + 100, 17, MPI_CHAR, (r + 2) % n, 50, 17, MPI_CHAR, w);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
    MPI_Comm_free(&half);
    MPI_Finalize();
}
