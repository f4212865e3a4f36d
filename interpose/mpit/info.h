#ifndef INFO_H
#define INFO_H

#include <mpi.h>
#include <stdbool.h>

#include "line.h"

// The name and description of an entry. A library is asked twice: for their
// lengths, then for them.
struct info {
    char *name, *about;
    int name_size, about_size;
};

// After the first answer makes room and is true; after the second it is false.
bool info_again(struct info *info);

// Begins the line of an entry with them, and frees them.
void info_start(struct line *l, const char *kind, int index, struct info *info);

// Lists an enumeration, unless that was done.
void emit_enum(MPI_T_enum items);
void line_enum(struct line *l, MPI_T_enum items);

#endif
