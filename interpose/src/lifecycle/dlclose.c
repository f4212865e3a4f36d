// dlclose is wrapped, as it is the one moment at which a file and the addresses
// of its calls can part: see modules.h. The wrapper passes the handle on and looks
// afterwards whether a file is gone, and whether it was the MPI. A process that
// does not use MPI pays two comparisons.
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
    if ((!mt_process.header && !mt_resolve_known()) || mt_protected()) // later scans see what is gone
        return mt_dlclose(handle);
    if (mt_noted_call.call)
        mt_fortran_missed(); // its site may be in the file
    int rc = mt_dlclose(handle), saved = errno;
    if (mt_process.header && !mt_process.forked)
        mt_modules_unloaded();
    if (mt_resolve_unloaded())
        mt_mpi_unloaded();
    errno = saved;
    return rc;
}
