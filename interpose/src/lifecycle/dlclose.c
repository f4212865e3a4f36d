// Wraps dlclose, the function that unloads files. Another file may be loaded to the
// same addresses later, so the call sites in an unloaded file have to be moved: see
// modules.h. The wrapper passes the handle on, and then checks whether a file is gone
// and whether it was the MPI. In a process that does not use MPI it costs two
// comparisons.
#define _GNU_SOURCE
#include "base/loader.h"
#include "base/lock.h"
#include "base/resolve.h"
#include "record/modules.h"
#include "calls/fortran.h"
#include "lifecycle/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>

MT_EXPORT int dlclose(void *handle)
{
    if ((!mt_process.header && !mt_resolve_found()) || mt_protected()) // a later scan notices what is gone
        return mt_dlclose(handle);
    if (mt_fortran_noted.call)
        mt_fortran_missed(); // its site may be in the file
    int rc = mt_dlclose(handle), saved = errno;
    if (mt_process.header && !mt_process.forked)
        mt_modules_unloaded();
    if (mt_resolve_unloaded())
        mt_mpi_unloaded();
    errno = saved;
    return rc;
}
