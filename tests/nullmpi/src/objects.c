/* Of the null MPI: what the program chooses, starting and ending, communicators, groups and
 * datatypes. messages.c has the rest. */
#define _GNU_SOURCE
#include "objects.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- What the program chooses. --- */

static struct null_function {
    const char *name;
    long calls;
    int error;     /* of the next call; 0: none */
    bool does_work; /* the call does what it always does, too */
} functions[1024];

static long all_calls;

/* Held in each call, since several threads may make calls. Recursive, because exit() in a
 * call ends the recording. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct null_function *find(const char *name)
{
    struct null_function *f = functions;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    if (f == functions + sizeof functions / sizeof *functions - 1)
        null_die("functions[] is too small");
    f->name = f->name ? f->name : name;
    return f;
}

void null_fail(const char *function, int error)
{
    find(function)->error = error;
    find(function)->does_work = false;
}

void null_fail_after(const char *function, int error)
{
    find(function)->error = error;
    find(function)->does_work = true;
}

long null_calls(const char *function)
{
    return find(function)->calls;
}

long null_all_calls(void)
{
    return all_calls;
}

bool null_refused(const char *function, int *error)
{
    pthread_mutex_lock(&lock);
    struct null_function *f = find(function);
    all_calls++;
    f->calls++;
    if (!f->error || f->does_work)
        return false;
    *error = f->error;
    f->error = 0;
    pthread_mutex_unlock(&lock);
    return true;
}

int null_returned(const char *function, int rc)
{
    struct null_function *f = find(function);
    int error = f->error;
    f->error = 0;
    pthread_mutex_unlock(&lock);
    return error ? error : rc;
}

void null_die(const char *why)
{
    fprintf(stderr, "null MPI: %s\n", why);
    exit(70);
}

void *null_new(size_t size)
{
    void *object = calloc(1, size);
    if (!object)
        null_die("no memory");
    return object;
}

/* --- Communicators and groups. --- */

static struct MPI_ABI_Group world_group, self_group = {.size = 1};
static struct MPI_ABI_Comm world = {.group = &world_group}, self = {.group = &self_group};

struct MPI_ABI_Comm *null_comm(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? &world : comm == MPI_COMM_SELF ? &self : comm;
}

static int number_of(const char *variable, int otherwise)
{
    const char *value = getenv(variable);
    return value ? atoi(value) : otherwise;
}

/* The process is `rank` in the group; the member i is the process first + i of the world. */
static MPI_Group new_group(int size, int rank, int first)
{
    MPI_Group group = null_new(sizeof *group);
    *group = (struct MPI_ABI_Group){size, rank, first};
    return group;
}

static MPI_Comm new_comm(MPI_Group group, const struct MPI_ABI_Comm *like)
{
    MPI_Comm comm = null_new(sizeof *comm);
    if (like)
        *comm = *like;
    comm->group = new_group(group->size, group->rank, group->first);
    return comm;
}

void null_return(const char *function, null_kind kind, void *into)
{
    if (!into)
        return;
    switch (kind) {
    case NULL_INT: *(int *)into = 0; return;
    case NULL_COMM: *(MPI_Comm *)into = new_comm(&world_group, NULL); return;
    case NULL_GROUP: *(MPI_Group *)into = new_group(world_group.size, world_group.rank, 0); return;
    case NULL_STATUS: null_set_status(into, MPI_ANY_SOURCE, MPI_ANY_TAG, 0); return;
    case NULL_REQUEST: *(MPI_Request *)into = null_operation(strstr(function, "_init") != NULL); return;
    case NULL_OBJECT: *(void **)into = null_new(sizeof(struct MPI_ABI_Datatype)); return;
    case NULL_NOTHING: return;
    }
}

int null_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = null_comm(comm)->group->rank;
    return MPI_SUCCESS;
}

int null_Comm_size(MPI_Comm comm, int *size)
{
    *size = null_comm(comm)->group->size;
    return MPI_SUCCESS;
}

int null_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    MPI_Group of = null_comm(comm)->group;
    *group = new_group(of->size, of->rank, of->first);
    return MPI_SUCCESS;
}

int null_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    *newcomm = new_comm(null_comm(comm)->group, null_comm(comm));
    return MPI_SUCCESS;
}

/* All processes have the color of this one, and the order of the communicator. */
int null_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    (void)key;
    *newcomm = color == MPI_UNDEFINED ? MPI_COMM_NULL : new_comm(null_comm(comm)->group, NULL);
    return MPI_SUCCESS;
}

int null_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    (void)comm;
    *newcomm = new_comm(group, NULL);
    return MPI_SUCCESS;
}

int null_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    (void)tag;
    return null_Comm_create(comm, group, newcomm);
}

int null_Comm_free(MPI_Comm *comm)
{
    if (*comm != null_comm(*comm))
        return MPI_ERR_COMM; /* it is predefined */
    free((*comm)->group);
    free(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int null_Comm_disconnect(MPI_Comm *comm)
{
    return null_Comm_free(comm);
}

int null_Comm_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int null_Group_size(MPI_Group group, int *size)
{
    *size = group->size;
    return MPI_SUCCESS;
}

int null_Group_rank(MPI_Group group, int *rank)
{
    *rank = group->rank;
    return MPI_SUCCESS;
}

int null_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    for (int i = 0; i < n; i++)
        ranks2[i] = group1->first + ranks1[i] - group2->first;
    return MPI_SUCCESS;
}

int null_Group_free(MPI_Group *group)
{
    free(*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* A periodic ring in each dimension. */
int null_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *made)
{
    (void)periods;
    (void)reorder;
    *made = new_comm(null_comm(comm)->group, NULL);
    (*made)->dimensions = ndims;
    for (int i = 0; i < ndims && i < NULL_DIMENSIONS; i++)
        (*made)->extents[i] = dims[i];
    return MPI_SUCCESS;
}

int null_Topo_test(MPI_Comm comm, int *status)
{
    *status = null_comm(comm)->dimensions > 0 ? MPI_CART : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int null_Cartdim_get(MPI_Comm comm, int *ndims)
{
    *ndims = null_comm(comm)->dimensions;
    return MPI_SUCCESS;
}

int null_Cart_shift(MPI_Comm comm, int direction, int disp, int *source, int *dest)
{
    const struct MPI_ABI_Comm *c = null_comm(comm);
    int stride = 1, extent = c->extents[direction], rank = c->group->rank;
    for (int i = c->dimensions - 1; i > direction; i--)
        stride *= c->extents[i];
    int place = rank / stride % extent;
    *dest = rank + ((place + disp + extent) % extent - place) * stride;
    *source = rank + ((place - disp + extent) % extent - place) * stride;
    return MPI_SUCCESS;
}

/* --- Windows. --- */

static int new_window(MPI_Comm comm, MPI_Win *win)
{
    *win = null_new(sizeof **win);
    (*win)->group = null_comm(comm)->group;
    return MPI_SUCCESS;
}

int null_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    (void)base;
    (void)size;
    (void)unit;
    (void)info;
    return new_window(comm, win);
}

int null_Win_get_group(MPI_Win win, MPI_Group *group)
{
    MPI_Group of = win->group ? win->group : &world_group;
    *group = new_group(of->size, of->rank, of->first);
    return MPI_SUCCESS;
}

int null_Win_free(MPI_Win *win)
{
    free(*win);
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

/* --- Datatypes. --- */

/* The Standard puts the size of a type of fixed size into its handle. */
MPI_Count null_size(MPI_Datatype type)
{
    uintptr_t handle = (uintptr_t)type;
    if (handle >= 0x240 && handle < 0x400)
        return (MPI_Count)1 << (handle >> 3 & 7);
    if (type == MPI_LONG || type == MPI_UNSIGNED_LONG || type == MPI_LONG_LONG || type == MPI_UNSIGNED_LONG_LONG ||
        type == MPI_DOUBLE || type == MPI_AINT || type == MPI_COUNT || type == MPI_OFFSET || type == MPI_2INT ||
        type == MPI_FLOAT_INT || type == MPI_C_FLOAT_COMPLEX || type == MPI_DOUBLE_PRECISION)
        return 8;
    if (type == MPI_SHORT || type == MPI_UNSIGNED_SHORT)
        return 2;
    if (type == MPI_PACKED || type == MPI_C_BOOL || type == MPI_CXX_BOOL || type == MPI_CHARACTER)
        return 1;
    if (type == MPI_C_DOUBLE_COMPLEX || type == MPI_LONG_DOUBLE)
        return 16;
    return handle < 0x400 ? 4 : type->size;
}

int null_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    *size = null_size(datatype);
    return MPI_SUCCESS;
}

int null_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    *newtype = null_new(sizeof **newtype);
    (*newtype)->size = count * null_size(oldtype);
    return MPI_SUCCESS;
}

int null_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    (void)stride;
    return null_Type_contiguous(count * blocklength, oldtype, newtype);
}

/* Handles of types that are freed are given out again. */
int null_Type_free(MPI_Datatype *datatype)
{
    free(*datatype);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* --- Starting and ending. --- */

static bool initialized, finalized;
static int thread_level;

int null_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    world_group = (struct MPI_ABI_Group){number_of("NULLMPI_SIZE", 1), number_of("NULLMPI_RANK", 0), 0};
    self_group.first = world_group.rank;
    thread_level = *provided = required;
    initialized = true;
    return MPI_SUCCESS;
}

int null_Init(int *argc, char ***argv)
{
    int provided;
    return null_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int null_Query_thread(int *provided)
{
    *provided = thread_level;
    return MPI_SUCCESS;
}

int null_Initialized(int *flag)
{
    *flag = initialized;
    return MPI_SUCCESS;
}

int null_Finalized(int *flag)
{
    *flag = finalized;
    return MPI_SUCCESS;
}

int null_Finalize(void)
{
    finalized = true;
    return MPI_SUCCESS;
}

int null_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm;
    exit(errorcode);
}

int null_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "null MPI");
    return MPI_SUCCESS;
}

int null_Error_class(int error, int *class)
{
    *class = error;
    return MPI_SUCCESS;
}

int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
extern __typeof(PMPI_Abi_get_version) MPI_Abi_get_version __attribute__((alias("PMPI_Abi_get_version")));

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    *size = (int)null_size(datatype);
    return MPI_SUCCESS;
}
extern __typeof(PMPI_Type_size) MPI_Type_size __attribute__((alias("PMPI_Type_size")));

double PMPI_Wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
extern __typeof(PMPI_Wtime) MPI_Wtime __attribute__((alias("PMPI_Wtime")));
