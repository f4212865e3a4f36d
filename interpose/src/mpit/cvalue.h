// Values of the MPI's control variables: converts the text that users write into the
// value that MPI_T expects, and back.
#ifndef MT_CVALUE_H
#define MT_CVALUE_H

#include "mpit/mpit.h"

enum {
    MT_CVAR_NAME = 512,     // bytes of a variable's name
    MT_CVAR_WHY = 640,      // bytes of the reason why a value is refused
    MT_CVAR_ELEMENTS = 64,  // most elements of a variable, except a text
    MT_CVAR_TEXT = 1 << 16, // most bytes of a text
};

// A control variable as MPI_T describes it.
typedef struct mt_cvar {
    int index, scope, bind;
    int count; // number of elements; known once a handle is allocated
    MPI_Datatype datatype;
    MPI_T_enum items;
    const mt_mpit_type *type;
} mt_cvar;

// Parses the text into a value of the variable. Returns memory that the caller frees;
// it is large enough to read the variable into. Returns NULL and writes the reason to
// `why` if the text is not a value of the variable.
void *mt_cvar_parse(const mt_cvar *v, const char *text, char why[MT_CVAR_WHY]);

// Returns the text of a value, in memory that the caller frees. Returns NULL if there
// is no memory.
char *mt_cvar_text(const mt_cvar *v, const void *value);

#endif
