#ifndef INFO_H
#define INFO_H

#include <stdbool.h>

#include "library.h"
#include "line.h"

// The name and description of an entry. The library is called twice: first for their
// lengths, then for the texts.
struct info {
    char *name, *description;
    int name_size, description_size;
};

// Called after each call of the library. After the first it allocates memory for the
// texts and returns true: call again. After the second it returns false.
bool info_ask_again(struct info *info);

// Begins the line of an entry with its name and description, and frees these.
void info_start(struct line *l, const char *kind, int index, struct info *info);

// list_enum lists an enumeration, unless it is listed already. line_enum writes its id
// to the line of a variable.
void list_enum(MPI_T_enum items);
void line_enum(struct line *l, MPI_T_enum items);

#endif
