// Reads small text files of /proc and /sys.
#ifndef MT_PROCFS_H
#define MT_PROCFS_H

#include <stddef.h>
#include <sys/types.h>

// Reads the start of a file, at most size - 1 bytes, and terminates it with a NUL.
// Returns the number of bytes, or -1 if the file cannot be read.
ssize_t mt_procfs_read(const char *path, char *buffer, size_t size);

#endif
