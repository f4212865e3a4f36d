/* Probes for 60 ms after MPI_Init, without a pause between calls (1 rank). */
#include "check.h"

int main(int argc, char **argv)
{
    int flag = 0;
    begin(argc, argv, 1);
    for (double begun = MPI_Wtime(); MPI_Wtime() - begun < 0.06 && !flag;)
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return end();
}
