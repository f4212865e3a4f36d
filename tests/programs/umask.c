/* Takes all rights from new files, also the owner's, before MPI_Init ("early") or after it
 * (1 rank). Then it makes 100,000 calls, so that a trace has to be continued in a new file. */
#include "check.h"

#include <string.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    int early = argc > 1 && strcmp(argv[1], "early") == 0, out = 1, in = 0;
    if (early)
        umask(0777);
    begin(argc, argv, 1);
    umask(0777);
    for (int i = 0; i < 100000; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
