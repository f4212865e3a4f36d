// The library links to no MPI: a preload reaches programs that have none, and
// an MPI that was opened with RTLD_LOCAL is not visible to it. The functions
// and handle constants of the MPI are looked up when they are first needed.
#ifndef MT_RESOLVE_H
#define MT_RESOLVE_H

#include "base/base.h"
#include "base/pmpi_gen.h"

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

// The MPI's own functions, for ourselves. mt_pmpi has what the wrappers pass calls
// on to: the same, or another tool's, which is loaded after us.
extern MT_OURS mt_pmpi_table mt_own;

// What another tool that comes before us hides, as layout.StringIntercepted; "" if
// it hides nothing.
const char *mt_intercepted(void);

// The family of MPIs that this library was built for.
const char *mt_flavour(void);

// Fills mt_pmpi and mt_const, once for each MPI that is loaded. `caller` is an
// address inside the module that called us. False if the MPI found is not the one
// we were built for.
bool mt_resolve(uint64_t caller);

// Whether an MPI was found, and whether it has been unloaded since: a program may
// load a plugin that uses MPI, unload it with its MPI, and load it again. Then what
// was found has to be forgotten.
bool mt_resolve_known(void);
bool mt_resolve_unloaded(void);
void mt_resolve_forget(void);

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
