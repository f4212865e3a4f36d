/* All messages go through one function that has two callers, which only stacks
 * distinguish. With an argument, there are that many callers (1 rank). */
#include "check.h"
#include <string.h>

#define KEEP __attribute__((noinline, noclone)) static
#define NO_JUMP __asm__ volatile("")

KEEP void pass(int n)
{
    static char data[64];
    MPI_Sendrecv(data, n, MPI_BYTE, 0, 0, data + 32, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    NO_JUMP;
}

KEEP void often(int n)
{
    for (int i = 0; i < 30; i++)
        pass(n);
    NO_JUMP;
}

KEEP void seldom(int n)
{
    pass(n);
    NO_JUMP;
    often(n + 1);
    NO_JUMP;
}

/* turn makes 2^levels different stacks: each bit of path selects one of two call
 * sites at a level. */
KEEP void turn(unsigned path, int levels)
{
    if (levels == 0) {
        pass(1);
    } else if (path & 1) {
        turn(path >> 1, levels - 1);
        __asm__ volatile("nop"); /* so that the compiler does not merge the two calls */
    } else {
        turn(path >> 1, levels - 1);
    }
    NO_JUMP;
}

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    if (argc > 1) {
        int levels = atoi(argv[1]);
        for (unsigned path = 0; path < 1u << levels; path++)
            turn(path, levels);
    } else {
        often(2);
        seldom(5);
    }
    return end();
}
