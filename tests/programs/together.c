/* Runs several of these programs in one job, one after the other, each in a slice of
 * its own. The test that compiles it writes together.inc, with a line
 * PROGRAM("name of the slice", main function) for each, and renames their main
 * functions by -Dmain. Barriers in the slice "run" keep the programs apart. */
#include "check.h"
#include <mpitrace.h>

#define PROGRAM(slice, run) int run(int argc, char **argv);
#include "together.inc"
#undef PROGRAM

static const struct {
    const char *slice;
    int (*run)(int argc, char **argv);
} programs[] = {
#define PROGRAM(slice, run) {slice, run},
#include "together.inc"
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        mpitrace_phase(programs[i].slice);
        REQUIRE(programs[i].run(argc, argv) == 0);
        mpitrace_phase("run");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (world_rank == 0)
        puts("ok");
    return MPI_Finalize();
}
