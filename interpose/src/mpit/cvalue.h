// Values of the MPI's control variables: text as people give it, to what MPI_T
// takes, and back.
#ifndef MT_CVALUE_H
#define MT_CVALUE_H

#include "mpit/mpit.h"

enum {
    MT_CVAR_NAME = 512,     // bytes of a name
    MT_CVAR_WHY = 640,      // of why a value is refused
    MT_CVAR_ELEMENTS = 64,  // of a variable that is no text
    MT_CVAR_TEXT = 1 << 16, // of one that is
};

// A control variable as MPI_T describes it.
typedef struct mt_cvar {
    int index, scope, bind;
    int count; // of elements; known once there is a handle
    MPI_Datatype datatype;
    MPI_T_enum items;
    const mt_mpit_type *type;
} mt_cvar;

// Makes the value of its text: memory that the caller frees, with room for all
// that reading the variable gives. NULL if the text is no value of the variable,
// and why.
void *mt_cvar_parse(const mt_cvar *v, const char *text, char why[MT_CVAR_WHY]);

// The text of a value: memory that the caller frees, or NULL if there is none.
char *mt_cvar_text(const mt_cvar *v, const void *value);

#endif
