/* The handles of the null MPI, and what its files share. */
#ifndef NULLMPI_OBJECTS_H
#define NULLMPI_OBJECTS_H

#include "nullmpi.h"

enum { NULL_DIMENSIONS = 8 };

struct MPI_ABI_Group {
    int size, rank, first; /* member i is the process first + i of the world */
};

struct MPI_ABI_Comm {
    MPI_Group group;
    int dimensions, extents[NULL_DIMENSIONS]; /* of a Cartesian topology */
};

struct MPI_ABI_Datatype {
    MPI_Count size;
};

struct MPI_ABI_Win {
    MPI_Group group;
};

void null_die(const char *why) __attribute__((noreturn));
void *null_new(size_t size);

struct MPI_ABI_Comm *null_comm(MPI_Comm comm); /* of a predefined handle, too */
MPI_Count null_size(MPI_Datatype type);
void null_set_status(MPI_Status *status, int source, int tag, MPI_Count bytes);
MPI_Request null_operation(bool persistent); /* of something that is done at once */

#endif
