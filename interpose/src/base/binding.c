#define _GNU_SOURCE
#include "base/binding.h"

#include "base/base.h"
#include "base/mpi_include.h"
#include "base/symbol.h"
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

// If two MPIs are loaded and neither was called yet, a wrapper does not know which one its caller
// means. The wrapper uses the MPI in the global scope, so names of the other MPI must not lead to it.
static void bind(bool loading)
{
    void *mpis[2];
    int saved = errno;
    if (mt_bind_is_due()) {
        bool ambiguous = mt_bind_loaded_mpis(mpis, 2) > 1;
        mt_binder binder = {.serves = serves, .wrappers = {(const void *)(uintptr_t)serves, NULL}, .hides = true, .undoes = ambiguous};
        if (!ambiguous || !mt_mpi.Get_library_version) // not looked up yet: see resolve.c
            mt_bind(&binder, loading);
    }
    errno = saved;
}

// The runtime of AddressSanitizer, with which tests build this library, is not ready before our
// constructor runs.
#ifdef __SANITIZE_ADDRESS__
static bool ready;
#else
enum { ready = true };
#endif

// Called by the _init of each file that is loaded, as the profiler of gmon.h would be.
__attribute__((no_sanitize("address", "undefined"))) MT_EXPORT void __gmon_start__(void)
{
    if (ready)
        bind(true);
}

// If the program was built for that profiler, it defines the function itself.
__attribute__((constructor)) static void start(void)
{
#ifdef __SANITIZE_ADDRESS__
    ready = true;
#endif
    bind(true);
}

void mt_binding_update(void)
{
    bind(false);
}
