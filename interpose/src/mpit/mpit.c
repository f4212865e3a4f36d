#define _GNU_SOURCE
#include "mpit/mpit.h"

#include "base/loader.h"
#include "base/lock.h"

#include <string.h>

static enum { UNOPENED, OPEN, REFUSED } state;

// In Open MPI a handle of a datatype is the address of a variable: see resolve.c.
#ifdef OPEN_MPI
#define MT_TYPE(variable, constant) "ompi_mpi_" #variable, NULL
#else
#define MT_TYPE(variable, constant) NULL, constant
#endif

static struct {
    const char *variable;
    MPI_Datatype handle;
    mt_mpit_type type;
} types[] = {
    {MT_TYPE(int, MPI_INT), {"int", sizeof(int), MT_PVAR_SIGNED}},
    {MT_TYPE(unsigned, MPI_UNSIGNED), {"unsigned int", sizeof(unsigned), MT_PVAR_UNSIGNED}},
    {MT_TYPE(unsigned_long, MPI_UNSIGNED_LONG), {"unsigned long", sizeof(unsigned long), MT_PVAR_UNSIGNED}},
    {MT_TYPE(unsigned_long_long, MPI_UNSIGNED_LONG_LONG),
     {"unsigned long long", sizeof(unsigned long long), MT_PVAR_UNSIGNED}},
    {MT_TYPE(count, MPI_COUNT), {"MPI_Count", sizeof(MPI_Count), MT_PVAR_SIGNED}},
    {MT_TYPE(char, MPI_CHAR), {"text", 1, MT_PVAR_TEXT}},
    {MT_TYPE(double, MPI_DOUBLE), {"double", sizeof(double), MT_PVAR_DOUBLE}},
    // Types that MPI 4.1 added, and those that Open MPI uses beyond the Standard.
    {MT_TYPE(int32_t, MPI_INT32_T), {"int32_t", 4, MT_PVAR_SIGNED}},
    {MT_TYPE(uint32_t, MPI_UINT32_T), {"uint32_t", 4, MT_PVAR_UNSIGNED}},
    {MT_TYPE(int64_t, MPI_INT64_T), {"int64_t", 8, MT_PVAR_SIGNED}},
    {MT_TYPE(uint64_t, MPI_UINT64_T), {"uint64_t", 8, MT_PVAR_UNSIGNED}},
    {MT_TYPE(long, MPI_LONG), {"long", sizeof(long), MT_PVAR_SIGNED}},
    {MT_TYPE(c_bool, MPI_C_BOOL), {"bool", sizeof(bool), MT_PVAR_UNSIGNED}},
};

enum { TYPES = sizeof types / sizeof *types };

#ifdef OPEN_MPI
static _Atomic bool found;
#endif

static void find_types(uint64_t caller)
{
#ifdef OPEN_MPI
    if (atomic_load_explicit(&found, memory_order_acquire))
        return;
    // Looked up without the lock: see LINKER in lock.h.
    MPI_Datatype handles[TYPES];
    void *module = mt_loader_next("PMPI_Init") ? NULL : mt_resolve_module(caller);
    for (int i = 0; i < TYPES; i++)
        handles[i] = mt_resolve_variable(types[i].variable, module);
    mt_resolve_release(module);
    mt_lock(MT_LOCK_MPIT);
    for (int i = 0; i < TYPES && !found; i++)
        types[i].handle = handles[i];
    atomic_store_explicit(&found, true, memory_order_release);
    mt_unlock(MT_LOCK_MPIT);
#else
    (void)caller;
#endif
}

MPI_Datatype mt_mpit_handle_of(const char *name, uint64_t caller)
{
    find_types(caller);
    int i = 0;
    while (strcmp(types[i].type.name, name) != 0)
        i++;
    return types[i].handle;
}

// Opens the interface with MPI_THREAD_MULTIPLE, so that it does not restrict the
// program, which may open it before or after.
bool mt_mpit_open(uint64_t caller)
{
    if (state != UNOPENED)
        return state == OPEN;
    state = REFUSED;
    int provided, rc;
    find_types(caller);
    if ((rc = mt_pmpi.T_init_thread(MPI_THREAD_MULTIPLE, &provided)) != MPI_SUCCESS) {
        mt_log("this MPI cannot open its tool interface (MPI_T error %d): its variables are neither set nor read",
               rc);
        return false;
    }
    state = OPEN;
    return true;
}

void mt_mpit_close(void)
{
    if (state != OPEN)
        return;
    mt_pmpi.T_finalize();
    state = REFUSED;
}

void mt_mpit_forget(void)
{
    if (state == OPEN)
        mt_log("the MPI library was unloaded: if it is loaded again, its variables are neither set nor read");
    state = state == UNOPENED ? UNOPENED : REFUSED;
#ifdef OPEN_MPI
    found = false;
#endif
}

const mt_mpit_type *mt_mpit_type_of(MPI_Datatype type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].handle == type && type)
            return &types[i].type;
    return NULL;
}

uint64_t mt_mpit_word(const mt_mpit_type *type, const void *value)
{
    uint64_t word = 0;
    int narrow;
    if (type->kind == MT_PVAR_SIGNED && type->size == sizeof narrow) {
        memcpy(&narrow, value, sizeof narrow);
        return (uint64_t)(int64_t)narrow;
    }
    memcpy(&word, value, type->size); // the low bytes, as machines are little-endian: see base.h
    return word;
}
