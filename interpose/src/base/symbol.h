// The functions and constants of the MPI, and how a symbol of it is found.
#ifndef MT_SYMBOL_H
#define MT_SYMBOL_H

#include "base/base.h"
#include "base/mpi_include.h"
#include "base/pmpi_gen.h"

typedef struct mt_symbol {
    const char *name;
    size_t offset;  // in mt_pmpi_table
    bool wrapped;   // there is a wrapper of ours: MPI_x
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

// The MPI's own functions, for ourselves. mt_pmpi has what the wrappers pass calls
// on to: the same, or another tool's, which is loaded after us.
extern MT_OURS mt_pmpi_table mt_own;

// The family of MPIs that this library was built for.
const char *mt_flavour(void);

// A handle on the module of the caller, whose own dependencies hold the MPI
// when it is in nobody else's sight; NULL if there is none. It keeps the module
// loaded until mt_resolve_done, which has to follow soon: the program may want to
// unload it.
void *mt_resolve_module(uint64_t caller);
void mt_resolve_done(void *module);

// A function of the MPI: in anybody's sight after us, else in that of `module`,
// which may be NULL.
void *mt_resolve_symbol(const char *name, void *module);

// The first definition of a name in anybody's sight, from the program on.
void *mt_resolve_first(const char *name);

// A variable of the MPI: in anybody's sight from the program on, since a program
// that is not position-independent holds copies of them, and then the MPI library
// uses the copies too; else in that of `module`.
void *mt_resolve_variable(const char *name, void *module);

#endif
