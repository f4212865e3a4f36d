// Wrappers that only forward their call: the cost of interposition itself.

#include "mpi_fint.h"

#define CALL(name, parameters, arguments, book) \
    int MPI_##name parameters { return PMPI_##name arguments; }

#define FORWARD(name, mpis, parameters, arguments)           \
    void __attribute__((weak)) mpis parameters;              \
    void name parameters;                                    \
    void name parameters { mpis arguments; }

#ifdef OPEN_MPI
#define FORTRAN(name, parameters, arguments, book)                               \
    FORWARD(mpi_##name##_, pmpi_##name##_, parameters, arguments)                \
    FORWARD(mpi_##name##_f08_, pmpi_##name##_f08_, parameters, arguments)
#else
#define FORTRAN(name, parameters, arguments, book) \
    FORWARD(mpi_##name##_f08_, pmpir_##name##_f08_, parameters, arguments)
#endif

#include "calls.h"
