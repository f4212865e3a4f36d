// The types and constants of MPICH's ABI initiative (libmpi.so.12): MPICH, Intel MPI, MVAPICH,
// Cray MPICH. TestABI compares them with each mpi.h.
#ifndef MT_ABI_MPICH_H
#define MT_ABI_MPICH_H

#include <stddef.h>

#define MPICH_NUMVERSION 0 // says which family this is

typedef int MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Message, MPI_Op, MPI_Request, MPI_Session,
    MPI_Win;
typedef struct ADIOI_FileD *MPI_File;
typedef int MPI_Fint;
typedef long MPI_Aint;
typedef long long MPI_Count, MPI_Offset;

typedef struct MPI_Status {
    int count_lo, count_hi_and_cancelled;
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;

typedef struct MPIR_T_enum_s *MPI_T_enum;
typedef struct MPIR_T_cvar_handle_s *MPI_T_cvar_handle;
typedef struct MPIR_T_pvar_handle_s *MPI_T_pvar_handle;
typedef struct MPIR_T_pvar_session_s *MPI_T_pvar_session;

#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_STATUSES_IGNORE ((MPI_Status *)1)
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_ANY_SOURCE (-2)
#define MPI_CART 2
#define MPI_DIST_GRAPH 3
#define MPI_ERR_ARG 12
#define MPI_ERR_COUNT 2
#define MPI_ERR_INTERN 16
#define MPI_ERR_IN_STATUS 17
#define MPI_ERR_PENDING 18
#define MPI_ERR_REQUEST 19
#define MPI_ERR_TRUNCATE 14
#define MPI_GRAPH 1
#define MPI_LOCK_EXCLUSIVE 234
#define MPI_PROC_NULL (-1)
#define MPI_ROOT (-3)
#define MPI_SUCCESS 0
#define MPI_THREAD_MULTIPLE 3
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_SINGLE 0
#define MPI_T_BIND_MPI_COMM 9701
#define MPI_T_BIND_MPI_WIN 9708
#define MPI_T_BIND_NO_OBJECT 9700
#define MPI_T_ERR_CVAR_SET_NEVER 69
#define MPI_T_ERR_CVAR_SET_NOT_NOW 68
#define MPI_T_ERR_INVALID 74
#define MPI_T_ERR_INVALID_HANDLE 64
#define MPI_T_ERR_INVALID_INDEX 62
#define MPI_T_ERR_INVALID_SESSION 67
#define MPI_T_ERR_MEMORY 59
#define MPI_T_ERR_NOT_INITIALIZED 60
#define MPI_T_ERR_OUT_OF_HANDLES 65
#define MPI_T_ERR_OUT_OF_SESSIONS 66
#define MPI_T_ERR_PVAR_NO_ATOMIC 72
#define MPI_T_ERR_PVAR_NO_STARTSTOP 70
#define MPI_T_ERR_PVAR_NO_WRITE 71
#define MPI_T_PVAR_CLASS_AGGREGATE 247
#define MPI_T_PVAR_CLASS_COUNTER 246
#define MPI_T_PVAR_CLASS_GENERIC 249
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 244
#define MPI_T_PVAR_CLASS_LEVEL 241
#define MPI_T_PVAR_CLASS_LOWWATERMARK 245
#define MPI_T_PVAR_CLASS_PERCENTAGE 243
#define MPI_T_PVAR_CLASS_SIZE 242
#define MPI_T_PVAR_CLASS_STATE 240
#define MPI_T_PVAR_CLASS_TIMER 248
#define MPI_T_SCOPE_ALL 60443
#define MPI_T_SCOPE_ALL_EQ 60444
#define MPI_T_SCOPE_CONSTANT 60438
#define MPI_T_SCOPE_GROUP 60441
#define MPI_T_SCOPE_GROUP_EQ 60442
#define MPI_T_SCOPE_LOCAL 60440
#define MPI_T_SCOPE_READONLY 60439
#define MPI_T_VERBOSITY_USER_BASIC 221
#define MPI_T_VERBOSITY_USER_DETAIL 222
#define MPI_UNDEFINED (-32766)

#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x4c001023)
#define MPI_2INT ((MPI_Datatype)0x4c000816)
#define MPI_2INTEGER ((MPI_Datatype)0x4c000820)
#define MPI_2REAL ((MPI_Datatype)0x4c000821)
#define MPI_AINT ((MPI_Datatype)0x4c000843)
#define MPI_BYTE ((MPI_Datatype)0x4c00010d)
#define MPI_CHAR ((MPI_Datatype)0x4c000101)
#define MPI_CHARACTER ((MPI_Datatype)0x4c00011a)
#define MPI_COMM_NULL ((MPI_Comm)0x04000000)
#define MPI_COMM_SELF ((MPI_Comm)0x44000001)
#define MPI_COMM_WORLD ((MPI_Comm)0x44000000)
#define MPI_COMPLEX ((MPI_Datatype)0x4c00081e)
#define MPI_COMPLEX16 ((MPI_Datatype)0x4c00102a)
#define MPI_COMPLEX32 ((MPI_Datatype)0x4c00202c)
#define MPI_COMPLEX8 ((MPI_Datatype)0x4c000828)
#define MPI_COUNT ((MPI_Datatype)0x4c000845)
#define MPI_CXX_BOOL ((MPI_Datatype)0x4c000133)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x4c001035)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x4c000834)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x4c002036)
#define MPI_C_BOOL ((MPI_Datatype)0x4c00013f)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x4c001041)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x4c000840)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x4c002042)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x0c000000)
#define MPI_DOUBLE ((MPI_Datatype)0x4c00080b)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x4c001022)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x8c000001)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x4c00081f)
#define MPI_FLOAT ((MPI_Datatype)0x4c00040a)
#define MPI_FLOAT_INT ((MPI_Datatype)0x8c000000)
#define MPI_INFO_NULL ((MPI_Info)0x1c000000)
#define MPI_INT ((MPI_Datatype)0x4c000405)
#define MPI_INT16_T ((MPI_Datatype)0x4c000238)
#define MPI_INT32_T ((MPI_Datatype)0x4c000439)
#define MPI_INT64_T ((MPI_Datatype)0x4c00083a)
#define MPI_INT8_T ((MPI_Datatype)0x4c000137)
#define MPI_INTEGER ((MPI_Datatype)0x4c00041b)
#define MPI_INTEGER1 ((MPI_Datatype)0x4c00012d)
#define MPI_INTEGER2 ((MPI_Datatype)0x4c00022f)
#define MPI_INTEGER4 ((MPI_Datatype)0x4c000430)
#define MPI_INTEGER8 ((MPI_Datatype)0x4c000831)
#define MPI_LOGICAL ((MPI_Datatype)0x4c00041d)
#define MPI_LONG ((MPI_Datatype)0x4c000807)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x4c00100c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x8c000004)
#define MPI_LONG_INT ((MPI_Datatype)0x8c000002)
#define MPI_LONG_LONG ((MPI_Datatype)0x4c000809)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x6c000000)
#define MPI_MESSAGE_NULL ((MPI_Message)0x2c000000)
#define MPI_NO_OP ((MPI_Op)0x5800000e)
#define MPI_OFFSET ((MPI_Datatype)0x4c000844)
#define MPI_OP_NULL ((MPI_Op)0x18000000)
#define MPI_PACKED ((MPI_Datatype)0x4c00010f)
#define MPI_REAL ((MPI_Datatype)0x4c00041c)
#define MPI_REAL16 ((MPI_Datatype)0x4c00102b)
#define MPI_REAL4 ((MPI_Datatype)0x4c000427)
#define MPI_REAL8 ((MPI_Datatype)0x4c000829)
#define MPI_REQUEST_NULL ((MPI_Request)0x2c000000)
#define MPI_SHORT ((MPI_Datatype)0x4c000203)
#define MPI_SHORT_INT ((MPI_Datatype)0x8c000003)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x4c000118)
#define MPI_UINT16_T ((MPI_Datatype)0x4c00023c)
#define MPI_UINT32_T ((MPI_Datatype)0x4c00043d)
#define MPI_UINT64_T ((MPI_Datatype)0x4c00083e)
#define MPI_UINT8_T ((MPI_Datatype)0x4c00013b)
#define MPI_UNSIGNED ((MPI_Datatype)0x4c000406)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x4c000102)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x4c000808)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x4c000819)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x4c000204)
#define MPI_WCHAR ((MPI_Datatype)0x4c00040e)
#define MPI_WIN_NULL ((MPI_Win)0x20000000)

#include "base/abi.h"

#endif
