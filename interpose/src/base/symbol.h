// The functions and constants of the MPI library, and the lookup of its symbols.
#ifndef MT_SYMBOL_H
#define MT_SYMBOL_H

#include "base/base.h"
#include "base/mpi_include.h"
#include "base/pmpi_gen.h"

typedef struct mt_symbol {
    const char *name;
    size_t offset;  // in mt_pmpi_table
    bool wrapped;   // this library defines a wrapper of it: MPI_x
} mt_symbol;

extern const mt_symbol mt_symbols[];

// Handles of predefined objects. In Open MPI's mpi.h they are the addresses of
// variables.
typedef struct mt_constants {
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Datatype byte, datatype_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Win win_null;
    MPI_Op op_null, op_no_op;
    MPI_Info info_null;
    MPI_Datatype (*type_f2c)(MPI_Fint); // only for Open MPI: elsewhere handles are constants
} mt_constants;

extern MT_HIDDEN mt_constants mt_const;

// mt_mpi holds the MPI library's own functions, for calls that we make ourselves.
// mt_pmpi holds the functions that wrappers pass calls on to: the same ones, or those
// of another tool that is loaded after us.
extern MT_HIDDEN mt_pmpi_table mt_mpi;

// Returns the family of MPIs that this library was built for: "Open MPI", "MPICH" or "MPI's
// standard ABI".
const char *mt_mpi_family(void);

// Returns a handle on the module that contains the address `caller`, or NULL if there
// is none. An MPI that was opened with RTLD_LOCAL is visible only through such a
// module, among its dependencies. The handle keeps the module loaded until
// mt_resolve_release, which must follow soon, because the program may want to unload the
// module.
void *mt_resolve_module(uint64_t caller);
void mt_resolve_release(void *module);

// Returns a function of the MPI library, or NULL: the next definition after ours in the
// global scope, else the one that `module` sees. `module` may be NULL.
void *mt_resolve_symbol(const char *name, void *module);

// Returns the first definition of a name in the global scope, which begins with the
// program.
void *mt_resolve_global(const char *name);

// Returns a variable of the MPI library: its first definition in the global scope, else
// the one that `module` sees. The global scope begins with the program, because a
// program that is not position-independent holds copies of these variables, and the MPI
// library then uses the copies too.
void *mt_resolve_variable(const char *name, void *module);

#endif
