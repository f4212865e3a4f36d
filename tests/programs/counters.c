/* Three messages to itself, and two more once a line can be read: until then
 * somebody may change what was counted (1 rank). */
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
