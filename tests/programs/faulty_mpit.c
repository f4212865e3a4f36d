// Preloaded before an MPI: control variables for which MPI_T crashes, hangs, or
// returns nothing. The last digits of the index select the fault:
//   07 reading it crashes          08 querying it crashes
//   17 reading it is an error      18 querying it is an error
//   27 its handle is an error      28 its info is not set
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int last;

int PMPI_T_cvar_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                         MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    if (index % 100 == 8)
        abort();
    if (index % 100 == 18)
        return MPI_T_ERR_INVALID_INDEX;
    if (index % 100 == 28)
        return MPI_SUCCESS;
    return NEXT(PMPI_T_cvar_get_info)(index, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind,
                                      scope);
}

int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    last = index;
    if (index % 100 == 27)
        return MPI_T_ERR_OUT_OF_HANDLES;
    return NEXT(PMPI_T_cvar_handle_alloc)(index, object, handle, count);
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buffer)
{
    if (last % 100 == 7)
        *(volatile int *)0 = 0;
    if (last % 100 == 17)
        return MPI_T_ERR_INVALID_HANDLE;
    return NEXT(PMPI_T_cvar_read)(handle, buffer);
}
