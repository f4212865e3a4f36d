// Runs at the end of a process. If MPI was used and no call reached us, it leaves a note for
// readers of the run. If only MPI_Finalize did not reach us, it marks the recording as finalized.
// In a process without MPI it costs some comparisons.
#define _GNU_SOURCE
#include "base/binding.h"
#include "base/loader.h"
#include "base/lock.h"
#include "base/resolve.h"
#include "base/wrong_mpi.h"
#include "bind/bind.h"
#include "bind/initialized.h"
#include "calls/direct.h"
#include "lifecycle/lifecycle.h"

#include <errno.h>
#include <unistd.h>

static pid_t process; // a forked child inherits MPI and what was recorded of it

__attribute__((constructor)) static void begin(void)
{
    process = getpid();
}

static const char *why_unseen(void)
{
    if (*mt_direct_calls())
        return MT_UNSEEN_DIRECT;
    return mt_loader_dispatched() || *mt_bound_file() ? MT_UNSEEN_BYPASSED : "";
}

__attribute__((destructor)) static void end(void)
{
    static char file[MT_FILE_SIZE];
    int saved = errno;
    if (process != getpid())
        return;
    if (!mt_protected())
        mt_finalize_unseen();
    if (mt_initialized_elsewhere(file))
        mt_wrong_mpi_unseen(file, MT_UNSEEN_NAMESPACE);
    else if (mt_bind_saw_mpi() && !mt_process.header && mt_process.state == MT_NOT_STARTED && !mt_resolve_wrong() && mt_initialized_mpi(file))
        mt_wrong_mpi_unseen(file, why_unseen());
    errno = saved;
}
