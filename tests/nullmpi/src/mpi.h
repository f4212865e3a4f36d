/* MPI with the ABI of MPI 5.0, as the null MPI declares it: see nullmpi.h. */
#ifndef NULLMPI_MPI_H
#define NULLMPI_MPI_H

#include <stddef.h>

#include "base/abi_abi.h" /* the types, and the constants that mpitrace's library uses */

/* Constants that only programs use: appendix A.2 of the Standard. */
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0
#define MPI_BOTTOM ((void *)0)
#define MPI_UNWEIGHTED ((int *)10)
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_ANY_TAG (-2)
#define MPI_IDENT 201
#define MPI_COMM_TYPE_SHARED 221
#define MPI_LOCK_SHARED 302
#define MPI_THREAD_FUNNELED 1024
#define MPI_MODE_CREATE 2
#define MPI_MODE_RDWR 32
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_OTHER 16
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_FILE_NULL ((MPI_File)0x118)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_SESSION_NULL ((MPI_Session)0x120)

#define MPI_FUNCTION(name, parameters, arguments, outputs) \
    int MPI_##name parameters;                             \
    int PMPI_##name parameters;
#include "functions_gen.h"
#undef MPI_FUNCTION

/* Functions that the library neither wraps nor calls. */
int MPI_Abi_get_version(int *major, int *minor);
int PMPI_Abi_get_version(int *major, int *minor);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count);
int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count);
int MPI_Type_size(MPI_Datatype datatype, int *size);
int PMPI_Type_size(MPI_Datatype datatype, int *size);
double MPI_Wtime(void);
double PMPI_Wtime(void);

#endif
