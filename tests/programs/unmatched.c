/* Sends that are never received, and larger than any machine could move: 1024
 * of 1 GiB, one of 1 TiB, and with MPI 4's counts one of 2^32 + 5 bytes. The
 * program ends without MPI_Finalize, which would wait for them. */
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

enum { MESSAGES = 1024, MIB = 1 << 20 };

/* Returns a datatype that contains the same block n times. */
static MPI_Datatype repeated(int n, MPI_Datatype of, int block)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(n, block, 0, of, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char **argv)
{
    static char data[MIB];
    MPI_Request q;
    begin(argc, argv, 2);
    MPI_Datatype gib = repeated(1024, MPI_BYTE, MIB), tib = repeated(1024, gib, 1);
    if (world_rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(data, 1, gib, 1, 1, MPI_COMM_WORLD, &q);
        MPI_Isend(data, 1, tib, 1, 1, MPI_COMM_WORLD, &q);
#ifdef LARGE
        size_t bytes = ((size_t)1 << 32) + 5;
        void *sparse = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(sparse != MAP_FAILED);
        MPI_Isend_c(sparse, (MPI_Count)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &q);
#endif
        puts("ok");
        fflush(NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}
