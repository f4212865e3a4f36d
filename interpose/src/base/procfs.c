#define _GNU_SOURCE
#include "base/procfs.h"

#include <fcntl.h>
#include <unistd.h>

ssize_t mt_procfs_read(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    if (n >= 0)
        buffer[n] = 0;
    return n;
}
