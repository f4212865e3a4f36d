// Hands a process over to the library for the family of its MPI, if that is not ours.
//
// Where a program is linked to no MPI (an interpreter, env, a script), `mpitrace` preloads the
// library for the launcher's MPI. The process may then load an MPI of another family. If the
// environment names the directory of the dispatcher, which has a library for each family, this
// library opens the right one, and each of our functions becomes a jump to the function with the
// same name there. All calls are recorded then, also those that are newer than MPI 3.1, and a
// process with the launcher's MPI is not affected.
#ifndef MT_OTHER_FAMILY_H
#define MT_OTHER_FAMILY_H

#include <stdbool.h>

// A library for another family, and what has to be changed for it.
typedef struct mt_other_family mt_other_family;

// Opens the library for the MPI that has the function `mpi`. Returns NULL if there is none; the
// caller frees the result. It must not be called under a lock, because it calls the dynamic linker.
mt_other_family *mt_other_family_open(void *mpi);

// Makes the library record this process. Returns false if our functions cannot be replaced.
bool mt_other_family_take_over(const mt_other_family *f);

// Returns the function of the library that took over, or NULL.
void *mt_other_family_function(const char *name);

#endif
