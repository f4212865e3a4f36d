/* A program that does not use MPI. */
#include <stdio.h>

int main(void)
{
    puts("ok");
    return 0;
}
