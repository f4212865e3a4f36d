#ifndef NAMES_H
#define NAMES_H

#include "library.h"
#include "line.h"

// Write the name of an MPI_T constant: "user-basic", "comm", "highwatermark",
// "MPI_T_ERR_INVALID_INDEX". A value without a name is written as a number. A value
// that the library did not set is not written.
void line_verbosity(struct line *l, int value);
void line_bind(struct line *l, int value);
void line_scope(struct line *l, int value);
void line_class(struct line *l, int value);
void line_reason(struct line *l, int code);

// How a value of a datatype is stored.
enum form { FORM_UNKNOWN, FORM_SIGNED, FORM_UNSIGNED, FORM_FLOATING, FORM_TEXT };
struct type {
    MPI_Datatype handle;
    const char *name;
    enum form form;
    size_t size;
};
const struct type *type_of(MPI_Datatype handle); // never NULL
void line_type(struct line *l, const char *key, MPI_Datatype handle);

#endif
