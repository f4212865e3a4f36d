/* Begins N phases, all twice: many_phases N (1 rank). Each sends its number
 * modulo 8 in bytes. */
#include "check.h"
#include <mpitrace.h>

int main(int argc, char **argv)
{
    char in[8], out[8] = "", name[32];
    begin(argc, argv, 1);
    int phases = argc == 2 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 2 * phases; i++) {
        int k = i % phases;
        snprintf(name, sizeof name, "phase %d", k);
        mpitrace_phase(name);
        MPI_Sendrecv(out, k % 8, MPI_BYTE, 0, 0, in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    return end();
}
