/* Sends itself three messages, and two more once it can read a line
 * (1 rank). In between, the test may change the counters. */
#include "check.h"

static void messages(int n)
{
    double out = 1, in;
    for (int i = 0; i < n; i++)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 0, &in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    for (int n = 3; n > 1; n--) {
        messages(n);
        puts("ready");
        fflush(stdout);
        while (getchar() > '\n')
            ;
    }
    return end();
}
