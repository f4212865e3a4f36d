/* A program that has nothing to do with MPI. */
#include <stdio.h>

int main(void)
{
    puts("ok");
    return 0;
}
