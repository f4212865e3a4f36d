#define _GNU_SOURCE
#include "base/symbol.h"

#include "base/loader.h"
#include "base/lock.h"

#include <dlfcn.h>

mt_pmpi_table mt_pmpi, mt_mpi;
mt_constants mt_const;

const char *mt_mpi_family(void)
{
#ifdef OPEN_MPI
    return "Open MPI";
#elif defined(MT_STANDARD_ABI)
    return "MPI's standard ABI";
#else
    return "MPICH";
#endif
}

void *mt_resolve_module(uint64_t caller)
{
    mt_lock_acquired(MT_LOCK_LINKER);
    void *module = mt_loader_module(caller);
    mt_lock_released(MT_LOCK_LINKER);
    return module;
}

void mt_resolve_release(void *module)
{
    if (!module)
        return;
    mt_lock_acquired(MT_LOCK_LINKER);
    mt_dlclose(module);
    mt_lock_released(MT_LOCK_LINKER);
}

void *mt_resolve_symbol(const char *name, void *module)
{
    mt_lock_acquired(MT_LOCK_LINKER);
    void *p = mt_loader_next(name);
    if (!p && module)
        p = dlsym(module, name);
    mt_lock_released(MT_LOCK_LINKER);
    return p;
}

// Uses a handle on the program, not RTLD_DEFAULT. For a symbol found through
// RTLD_DEFAULT, glibc records that our library refers to the file that defines it. Our
// library is never unloaded, so that file could not be unloaded either.
void *mt_resolve_global(const char *name)
{
    void *program = dlopen(NULL, RTLD_LAZY), *p = program ? dlsym(program, name) : NULL;
    mt_resolve_release(program);
    return p;
}

void *mt_resolve_variable(const char *name, void *module)
{
    void *p = mt_resolve_global(name);
    return p || !module ? p : dlsym(module, name);
}
