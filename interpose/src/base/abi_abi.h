// The types and constants of the ABI that MPI 5.0 defines (libmpi_abi.so.1). One program runs
// under all MPIs that have it. TestStandardABI compares them with each mpi_abi.h.
#ifndef MT_ABI_ABI_H
#define MT_ABI_ABI_H

#include <stdint.h>

#define MT_STANDARD_ABI 1 // says which family this is

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_File *MPI_File;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct MPI_ABI_Win *MPI_Win;
typedef int MPI_Fint;
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count, MPI_Offset;

// Each MPI uses `reserved` in its own way: see mt_status_open.
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int reserved[5];
} MPI_Status;

typedef struct MPI_T_enum_t *MPI_T_enum;
typedef struct MPI_T_cvar_handle_t *MPI_T_cvar_handle;
typedef struct MPI_T_pvar_handle_t *MPI_T_pvar_handle;
typedef struct MPI_T_pvar_session_t *MPI_T_pvar_session;

#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_T_PVAR_ALL_HANDLES ((MPI_T_pvar_handle)1)
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_ANY_SOURCE (-1)
#define MPI_CART 211
#define MPI_DIST_GRAPH 213
#define MPI_ERR_ARG 13
#define MPI_ERR_COUNT 2
#define MPI_ERR_INTERN 17
#define MPI_ERR_IN_STATUS 19
#define MPI_ERR_PENDING 18
#define MPI_ERR_REQUEST 7
#define MPI_ERR_TRUNCATE 15
#define MPI_GRAPH 212
#define MPI_LOCK_EXCLUSIVE 301
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_SUCCESS 0
#define MPI_THREAD_MULTIPLE 4096
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_SINGLE 0
#define MPI_T_BIND_MPI_COMM 2
#define MPI_T_BIND_MPI_WIN 9
#define MPI_T_BIND_NO_OBJECT 1
#define MPI_T_ERR_CVAR_SET_NEVER 1015
#define MPI_T_ERR_CVAR_SET_NOT_NOW 1014
#define MPI_T_ERR_INVALID 1006
#define MPI_T_ERR_INVALID_HANDLE 1010
#define MPI_T_ERR_INVALID_INDEX 1007
#define MPI_T_ERR_INVALID_SESSION 1009
#define MPI_T_ERR_MEMORY 1005
#define MPI_T_ERR_NOT_INITIALIZED 1003
#define MPI_T_ERR_OUT_OF_HANDLES 1012
#define MPI_T_ERR_OUT_OF_SESSIONS 1013
#define MPI_T_ERR_PVAR_NO_ATOMIC 1018
#define MPI_T_ERR_PVAR_NO_STARTSTOP 1017
#define MPI_T_ERR_PVAR_NO_WRITE 1016
#define MPI_T_PVAR_CLASS_AGGREGATE 8
#define MPI_T_PVAR_CLASS_COUNTER 7
#define MPI_T_PVAR_CLASS_GENERIC 10
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 5
#define MPI_T_PVAR_CLASS_LEVEL 2
#define MPI_T_PVAR_CLASS_LOWWATERMARK 6
#define MPI_T_PVAR_CLASS_PERCENTAGE 4
#define MPI_T_PVAR_CLASS_SIZE 3
#define MPI_T_PVAR_CLASS_STATE 1
#define MPI_T_PVAR_CLASS_TIMER 9
#define MPI_T_SCOPE_ALL 6
#define MPI_T_SCOPE_ALL_EQ 7
#define MPI_T_SCOPE_CONSTANT 1
#define MPI_T_SCOPE_GROUP 4
#define MPI_T_SCOPE_GROUP_EQ 5
#define MPI_T_SCOPE_LOCAL 3
#define MPI_T_SCOPE_READONLY 2
#define MPI_T_VERBOSITY_USER_BASIC 9
#define MPI_T_VERBOSITY_USER_DETAIL 10

#define MPI_UNDEFINED (-32766)

#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_NO_OP ((MPI_Op)0x3d)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_WIN_NULL ((MPI_Win)0x110)

#include "base/abi.h"

#endif
