// MPIs that are initialized, for a process whose calls did not reach us. Both functions
// call MPI_Initialized, which a program may do at any time.
#ifndef MT_INITIALIZED_H
#define MT_INITIALIZED_H

#include <stdbool.h>

enum { MT_FILE_SIZE = 4096 };

// Returns an MPI that is, or was, initialized. `file` must hold zeros.
bool mt_initialized_mpi(char file[static MT_FILE_SIZE]);

// Does what mt_initialized_mpi does, for the namespaces that the program opened with dlmopen.
// Nothing is preloaded in these namespaces. The files of a namespace must not be closed meanwhile.
bool mt_initialized_elsewhere(char file[static MT_FILE_SIZE]);

#endif
