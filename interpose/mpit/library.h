#ifndef LIBRARY_H
#define LIBRARY_H

#include <stdbool.h>

#include "base/mpi_include.h"
#if defined(MT_ABI_MPICH)
#include "abi_mpich.h"
#elif defined(MT_ABI_OPENMPI)
#include "abi_openmpi.h"
#elif defined(MT_ABI_ABI)
#include "abi_abi.h"
#endif
#if !defined(MPI_T_SOURCE_ORDERED) && (defined(MT_ABI_OPENMPI) || !MT_HAVE_T_source_get_info)
#define MPI_T_SOURCE_ORDERED 0 // Open MPI and MPIs before MPI 4 have no sources
#endif

// The functions that every MPI with MPI_T has, then those that some lack.
#define MPI_FUNCTIONS(X)                                                                                            \
    X(Init, (int *argc, char ***argv))                                                                              \
    X(Finalize, (void))                                                                                             \
    X(Get_version, (int *version, int *subversion))                                                                 \
    X(Get_library_version, (char *version, int *length))                                                            \
    X(T_init_thread, (int required, int *provided))                                                                 \
    X(T_enum_get_info, (MPI_T_enum items, int *n, char *name, int *name_size))                                      \
    X(T_enum_get_item, (MPI_T_enum items, int i, int *value, char *name, int *name_size))                           \
    X(T_cvar_get_num, (int *n))                                                                                     \
    X(T_cvar_get_info, (int index, char *name, int *name_size, int *verbosity, MPI_Datatype *datatype,              \
                        MPI_T_enum *items, char *description, int *description_size, int *bind, int *scope))        \
    X(T_cvar_handle_alloc, (int index, void *object, MPI_T_cvar_handle *handle, int *count))                        \
    X(T_cvar_handle_free, (MPI_T_cvar_handle *handle))                                                              \
    X(T_cvar_read, (MPI_T_cvar_handle handle, void *buffer))                                                        \
    X(T_pvar_get_num, (int *n))                                                                                     \
    X(T_pvar_get_info, (int index, char *name, int *name_size, int *verbosity, int *class, MPI_Datatype *datatype,  \
                        MPI_T_enum *items, char *description, int *description_size, int *bind, int *readonly,      \
                        int *continuous, int *atomic))                                                              \
    X(T_pvar_session_create, (MPI_T_pvar_session *session))                                                         \
    X(T_pvar_handle_alloc, (MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle,         \
                            int *count))                                                                            \
    X(T_pvar_handle_free, (MPI_T_pvar_session session, MPI_T_pvar_handle *handle))                                  \
    X(T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))                                         \
    X(T_pvar_read, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer))                            \
    X(T_category_get_num, (int *n))                                                                                 \
    X(T_category_get_info, (int index, char *name, int *name_size, char *description, int *description_size,        \
                            int *cvars, int *pvars, int *categories))                                               \
    X(T_category_get_cvars, (int index, int n, int members[]))                                                      \
    X(T_category_get_pvars, (int index, int n, int members[]))                                                      \
    X(T_category_get_categories, (int index, int n, int members[]))

#define MPI_4_FUNCTIONS(X)                                                                                          \
    X(T_category_get_num_events, (int index, int *n))                                                               \
    X(T_category_get_events, (int index, int n, int members[]))                                                     \
    X(T_event_get_num, (int *n))                                                                                    \
    X(T_event_get_info, (int index, char *name, int *name_size, int *verbosity, MPI_Datatype *types,                \
                         MPI_Aint *displacements, int *elements, MPI_T_enum *items, MPI_Info *info,                 \
                         char *description, int *description_size, int *bind))                                      \
    X(T_source_get_num, (int *n))                                                                                   \
    X(T_source_get_info, (int index, char *name, int *name_size, char *description, int *description_size,          \
                          int *order, MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info))

// The functions of the MPI library. They are looked up, so that one program serves all MPIs of a
// family. They are PMPI functions, so that a preloaded tool is not involved.
#define DECLARE_POINTER(name, parameters) int(*name) parameters;
extern struct mpi {
    MPI_FUNCTIONS(DECLARE_POINTER)
    MPI_4_FUNCTIONS(DECLARE_POINTER) // NULL if the library lacks them
} mpi;

// Loads the MPI library from a file and fills mpi. Returns false, with a message to stderr, if
// that is not possible.
bool library_load(const char *file);

// Calls MPI_Init, MPI_Barrier n times, and MPI_Finalize, which a preloaded tool may intercept.
// Returns 0 if all succeed.
int library_call_barriers(int n);

// In Open MPI, predefined objects are variables of the library.
#ifdef MT_ABI_OPENMPI
void *library_variable(const char *name);
#define MPI_COMM_WORLD ((MPI_Comm)library_variable("ompi_mpi_comm_world"))
#define DATATYPE(name) ((MPI_Datatype)library_variable("ompi_mpi_" name))
#define MPI_AINT DATATYPE("aint")
#define MPI_BYTE DATATYPE("byte")
#define MPI_CHAR DATATYPE("char")
#define MPI_COUNT DATATYPE("count")
#define MPI_C_BOOL DATATYPE("c_bool")
#define MPI_DATATYPE_NULL DATATYPE("datatype_null")
#define MPI_DOUBLE DATATYPE("double")
#define MPI_FLOAT DATATYPE("float")
#define MPI_INT DATATYPE("int")
#define MPI_INT16_T DATATYPE("int16_t")
#define MPI_INT32_T DATATYPE("int32_t")
#define MPI_INT64_T DATATYPE("int64_t")
#define MPI_INT8_T DATATYPE("int8_t")
#define MPI_LONG DATATYPE("long")
#define MPI_LONG_LONG DATATYPE("long_long_int")
#define MPI_SHORT DATATYPE("short")
#define MPI_UINT16_T DATATYPE("uint16_t")
#define MPI_UINT32_T DATATYPE("uint32_t")
#define MPI_UINT64_T DATATYPE("uint64_t")
#define MPI_UINT8_T DATATYPE("uint8_t")
#define MPI_UNSIGNED DATATYPE("unsigned")
#define MPI_UNSIGNED_LONG DATATYPE("unsigned_long")
#define MPI_UNSIGNED_LONG_LONG DATATYPE("unsigned_long_long")
#define MPI_UNSIGNED_SHORT DATATYPE("unsigned_short")
#endif

#endif
