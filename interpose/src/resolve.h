// The library links to no MPI: a preload reaches programs that have none, and
// an MPI that was opened with RTLD_LOCAL is not visible to it. The functions
// and handle constants of the MPI are looked up when they are first needed.
#ifndef MT_RESOLVE_H
#define MT_RESOLVE_H

#include "mt.h"
#include "pmpi_gen.h"

typedef struct mt_symbol {
    const char *name;
    size_t offset;  // in mt_pmpi_table
    void *wrapper;  // of ours, or NULL
} mt_symbol;

extern const mt_symbol mt_symbols[];

// Handles that mpi.h gives as the addresses of variables (Open MPI).
typedef struct mt_constants {
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Datatype byte, datatype_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Win win_null;
    MPI_Op op_null, op_no_op;
    MPI_Info info_null;
    MPI_Datatype (*type_f2c)(MPI_Fint); // NULL where handles are numbers anyway
} mt_constants;

extern MT_OURS mt_constants mt_const;

// The family of MPIs that this library was built for.
const char *mt_flavour(void);

// Fills mt_pmpi and mt_const, once. `caller` is an address inside the module
// that called us. False if the MPI found is not the one we were built for.
bool mt_resolve(uint64_t caller);

// A function of the MPI: in anybody's sight after us, else in that of `module`
// (which may be NULL), the one that `caller` is an address in.
void *mt_resolve_symbol(const char *name, void *module);
void *mt_resolve_module(uint64_t caller);

// A variable of the MPI: in anybody's sight from the program on, since a program
// that is not position-independent holds copies of them, and then the MPI library
// uses the copies too; else in that of `module`.
void *mt_resolve_variable(const char *name, void *module);

#endif
