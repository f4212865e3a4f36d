#ifndef NAMES_H
#define NAMES_H

#include <mpi.h>

#include "line.h"

// What a constant of MPI_T is called: "user-basic", "comm", "highwatermark",
// "MPI_T_ERR_INVALID_INDEX". A value that has no name is written as a number,
// and one that the library did not set not at all.
void line_verbosity(struct line *l, int value);
void line_bind(struct line *l, int value);
void line_scope(struct line *l, int value);
void line_class(struct line *l, int value);
void line_reason(struct line *l, int code);

// How values of a datatype are kept.
enum form { FORM_UNKNOWN, FORM_SIGNED, FORM_UNSIGNED, FORM_FLOATING, FORM_TEXT };
struct type {
    MPI_Datatype handle;
    const char *name;
    enum form form;
    size_t size;
};
const struct type *type_of(MPI_Datatype handle); // never null
void line_type(struct line *l, const char *key, MPI_Datatype handle);

#endif
