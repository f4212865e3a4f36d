// The system calls that the library makes while it is fuzzed. Files, links and
// directories are those of the input; nothing on the disk is changed. A new system
// call in the library's sources needs a replacement here.
#ifndef MT_FUZZ_WORLD_H
#define MT_FUZZ_WORLD_H

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int world_open(const char *path, int flags, ...);
int world_mkdir(const char *path, mode_t mode);
int world_chmod(const char *path, mode_t mode);
int world_stat(const char *path, struct stat *st);
int world_rename(const char *from, const char *to);
int world_symlink(const char *target, const char *path);
int world_unlink(const char *path);
ssize_t world_readlink(const char *path, char *buffer, size_t size);
int world_gethostname(char *name, size_t size);
char *world_getcwd(char *buffer, size_t size);
void *world_mmap(size_t size);

#endif
