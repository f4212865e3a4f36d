/* Each function of the null MPI: null_x does its work, and PMPI_x, also called MPI_x, counts
 * the call and returns the error that the program has chosen. nullmpi.c defines null_x for
 * those that do something. The others return success and new handles. */
#include "nullmpi.h"

#include <stdint.h>

#define KIND(p)                           \
    _Generic((p),                         \
        int *: NULL_INT,                  \
        MPI_Comm *: NULL_COMM,            \
        MPI_Group *: NULL_GROUP,          \
        MPI_Request *: NULL_REQUEST,      \
        MPI_Status *: NULL_STATUS,        \
        MPI_Datatype *: NULL_OBJECT,      \
        MPI_Errhandler *: NULL_OBJECT,    \
        MPI_File *: NULL_OBJECT,          \
        MPI_Info *: NULL_OBJECT,          \
        MPI_Op *: NULL_OBJECT,            \
        MPI_Session *: NULL_OBJECT,       \
        MPI_Win *: NULL_OBJECT,           \
        MPI_T_cvar_handle *: NULL_OBJECT, \
        MPI_T_pvar_handle *: NULL_OBJECT, \
        MPI_T_pvar_session *: NULL_OBJECT, \
        default: NULL_NOTHING)
#define OUT(p) null_return(function, KIND(p), (void *)(uintptr_t)(p));

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MPI_FUNCTION(name, parameters, arguments, outputs)          \
    __attribute__((weak)) int null_##name parameters                \
    {                                                               \
        static const char function[] = #name;                       \
        (void)function;                                             \
        outputs                                                     \
        return MPI_SUCCESS;                                         \
    }                                                               \
    int PMPI_##name parameters                                      \
    {                                                               \
        int rc;                                                     \
        if (null_refused(#name, &rc))                               \
            return rc;                                              \
        return null_returned(#name, null_##name arguments);         \
    }                                                               \
    extern __typeof(PMPI_##name) MPI_##name __attribute__((alias("PMPI_" #name)));
#include "functions_gen.h"
