// The types and constants of Open MPI 4 and 5 (libmpi.so.40). TestABI compares them with each
// mpi.h. Handles of predefined objects are addresses of variables: see mt_constants.
#ifndef MT_ABI_OPENMPI_H
#define MT_ABI_OPENMPI_H

#include <stddef.h>

#define OPEN_MPI 1

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct ompi_file_t *MPI_File;
typedef struct ompi_group_t *MPI_Group;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_message_t *MPI_Message;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_instance_t *MPI_Session;
typedef struct ompi_win_t *MPI_Win;
typedef int MPI_Fint;
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Count, MPI_Offset;

typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int _cancelled;
    size_t _ucount;
} MPI_Status;

typedef struct mca_base_var_enum_t *MPI_T_enum;
typedef struct ompi_mpit_cvar_handle_t *MPI_T_cvar_handle;
typedef struct mca_base_pvar_handle_t *MPI_T_pvar_handle;
typedef struct mca_base_pvar_session_t *MPI_T_pvar_session;

#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_UNWEIGHTED ((int *)2)
#define MPI_T_PVAR_ALL_HANDLES ((MPI_T_pvar_handle)-1)
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_MAX_OBJECT_NAME 64
#define MPI_ANY_SOURCE (-1)
#define MPI_CART 1
#define MPI_DIST_GRAPH 3
#define MPI_ERR_ARG 13
#define MPI_ERR_COUNT 2
#define MPI_ERR_INTERN 17
#define MPI_ERR_IN_STATUS 18
#define MPI_ERR_PENDING 19
#define MPI_ERR_REQUEST 7
#define MPI_ERR_TRUNCATE 15
#define MPI_GRAPH 2
#define MPI_LOCK_EXCLUSIVE 1
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_SUCCESS 0
#define MPI_THREAD_MULTIPLE 3
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_SINGLE 0
#define MPI_T_BIND_MPI_COMM 1
#define MPI_T_BIND_MPI_WIN 8
#define MPI_T_BIND_NO_OBJECT 0
#define MPI_T_ERR_CVAR_SET_NEVER 64
#define MPI_T_ERR_CVAR_SET_NOT_NOW 63
#define MPI_T_ERR_INVALID 72
#define MPI_T_ERR_INVALID_HANDLE 59
#define MPI_T_ERR_INVALID_INDEX 57
#define MPI_T_ERR_INVALID_SESSION 62
#define MPI_T_ERR_MEMORY 54
#define MPI_T_ERR_NOT_INITIALIZED 55
#define MPI_T_ERR_OUT_OF_HANDLES 60
#define MPI_T_ERR_OUT_OF_SESSIONS 61
#define MPI_T_ERR_PVAR_NO_ATOMIC 67
#define MPI_T_ERR_PVAR_NO_STARTSTOP 65
#define MPI_T_ERR_PVAR_NO_WRITE 66
#define MPI_T_PVAR_CLASS_AGGREGATE 7
#define MPI_T_PVAR_CLASS_COUNTER 6
#define MPI_T_PVAR_CLASS_GENERIC 9
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 4
#define MPI_T_PVAR_CLASS_LEVEL 1
#define MPI_T_PVAR_CLASS_LOWWATERMARK 5
#define MPI_T_PVAR_CLASS_PERCENTAGE 3
#define MPI_T_PVAR_CLASS_SIZE 2
#define MPI_T_PVAR_CLASS_STATE 0
#define MPI_T_PVAR_CLASS_TIMER 8
#define MPI_T_SCOPE_ALL 5
#define MPI_T_SCOPE_ALL_EQ 6
#define MPI_T_SCOPE_CONSTANT 0
#define MPI_T_SCOPE_GROUP 3
#define MPI_T_SCOPE_GROUP_EQ 4
#define MPI_T_SCOPE_LOCAL 2
#define MPI_T_SCOPE_READONLY 1
#define MPI_T_VERBOSITY_USER_BASIC 0
#define MPI_T_VERBOSITY_USER_DETAIL 1
#define MPI_UNDEFINED (-32766)

#include "base/abi.h"

#endif
