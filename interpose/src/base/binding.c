#define _GNU_SOURCE
#include "base/binding.h"

#include "base/base.h"
#include "base/mpi_include.h"
#include "bind/bind.h"

#include <errno.h>
#include <string.h>

// Reports whether this library was built for the MPI, without calling it: its constructors have
// not run. mt_resolve checks it again.
static bool serves(const mt_image *mpi)
{
    bool open_mpi = mt_image_find(mpi, mt_image_hash("ompi_mpi_comm_world"));
#ifdef OPEN_MPI
    return open_mpi;
#else
    bool standard = mpi->soname && strncmp(mpi->soname, "libmpi_abi.", 11) == 0;
#ifdef MT_STANDARD_ABI
    return standard && !open_mpi;
#else
    return !standard && !open_mpi;
#endif
#endif
}

static void bind(bool loading)
{
    static const mt_binder binder = {.serves = serves, .wrappers = {&binder, NULL}, .hides = true};
    int saved = errno;
    if (mt_bind_is_due())
        mt_bind(&binder, loading);
    errno = saved;
}

// Called by the _init of each file that is loaded, as the profiler of gmon.h would be.
MT_EXPORT void __gmon_start__(void)
{
    bind(true);
}

// If the program was built for that profiler, it defines the function itself.
__attribute__((constructor)) static void start(void)
{
    bind(true);
}

void mt_binding_update(void)
{
    bind(false);
}
