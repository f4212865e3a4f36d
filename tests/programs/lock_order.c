/* Takes two of the library's locks in the given order, for example
 * `lock_order SLICE COMM`. It is compiled with interpose/src/base/lock.c and
 * -DMT_CHECK_LOCKS, which makes the library abort if the order is wrong. It uses
 * no MPI. */
#include "base/lock.h"

#include <stdio.h>
#include <string.h>

#define NAME(name, rank, what) #name,
static const char *const names[] = {MT_LOCKS(NAME)};

static mt_lock_id lock_of(const char *name)
{
    int id = 0;
    while (id < MT_LOCKS_COUNT && strcmp(names[id], name) != 0)
        id++;
    return (mt_lock_id)id;
}

int main(int argc, char **argv)
{
    mt_lock_id first = lock_of(argv[1]), second = lock_of(argv[argc - 1]);
    if (first == MT_LOCKS_COUNT || second == MT_LOCKS_COUNT)
        return 2;
    mt_lock(first);
    mt_lock(second);
    mt_unlock(second);
    mt_unlock(first);
    mt_lock(second); /* it is free again */
    mt_unlock(second);
    puts("ok");
    return 0;
}
