#define _GNU_SOURCE
#include "base/job.h"

#include "base/base.h"
#include "base/procfs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Returns the process id of the parent of a process, or 0.
static int parent_of(int pid)
{
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (mt_procfs_read(path, stat, sizeof stat) <= 0)
        return 0;
    // The command name, in parentheses, may contain any character: parse after its end.
    const char *end = strrchr(stat, ')');
    int parent = 0;
    if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

// Returns the port of the job's control connection in the command line of Hydra's
// proxy, which is an ancestor of the rank, or NULL. Hydra passes no name of the job to
// its ranks, but this port is the same on all nodes.
static const char *hydra_port(char *line, size_t size)
{
    int pid = getppid();
    for (int up = 0; up < 16 && pid > 1; up++, pid = parent_of(pid)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
        ssize_t n = mt_procfs_read(path, line, size);
        for (const char *arg = line; n > 0 && arg < line + n; arg += strlen(arg) + 1)
            if (strcmp(arg, "--control-port") == 0 && arg + 15 < line + n)
                return arg + 15;
    }
    return NULL;
}

static const char *first_set(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value)
            return value;
    }
    return NULL;
}

static void find_name(char *name, size_t size)
{
    static const char *const ids[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "PALS_APID", NULL};
    static const char *const intel_ids[] = {"I_MPI_HYDRA_UUID", NULL};
    const char *id = first_set(ids), *intel = first_set(intel_ids), *group = getenv("HYDRA_BSTRAP_PGID");
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    char line[8192];
    if (id)
        snprintf(name, size, "%s", id);
    else if (intel) // processes that are spawned later are another group under the same id
        snprintf(name, size, "intel-%s.%s", intel, group ? group : "0");
    else if (job && step)
        snprintf(name, size, "slurm-%s.%s", job, step);
    else if (getenv("PMI_RANK") && (id = hydra_port(line, sizeof line)))
        snprintf(name, size, "hydra-%s", id);
    else if (getenv("PMI_RANK"))
        snprintf(name, size, "parent-%d", (int)getppid());
    else
        snprintf(name, size, "single-%d", (int)getpid());
}

// The name is needed twice, and finding it may take many system calls.
static char job_name[512]; // empty until it is needed, under MT_LOCK_LIFECYCLE

void mt_job_name(char *name, size_t size)
{
    if (!*job_name)
        find_name(job_name, sizeof job_name);
    snprintf(name, size, "%s", job_name);
}

static bool number(const char *const *names, int *n)
{
    const char *value = first_set(names);
    char *end;
    long parsed = value ? strtol(value, &end, 10) : -1;
    if (parsed < 0 || parsed > INT_MAX || *end)
        return false;
    *n = (int)parsed;
    return true;
}

bool mt_job_rank(int *rank, int *size)
{
    static const char *const ranks[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                        "FLUX_TASK_RANK", NULL};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "FLUX_JOB_SIZE", NULL};
    *size = -1;
    number(sizes, size);
    return number(ranks, rank);
}

int mt_job_local_rank(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
                                        "PMI_LOCAL_RANK", "SLURM_LOCALID", "FLUX_TASK_LOCAL_ID", NULL};
    int rank;
    return number(ranks, &rank) ? rank : -1;
}

int mt_job_local_size(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE",
                                        "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE", NULL};
    int size;
    return number(sizes, &size) ? size : -1;
}

int mt_job_rank_for_messages(void)
{
    int rank, size;
    if (mt_process.world_rank >= 0)
        return mt_process.world_rank;
    return mt_job_rank(&rank, &size) ? rank : -1;
}

void mt_job_directory(char *name, size_t size)
{
    static const char *const ids[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", NULL};
    const char *id = first_set(ids);
    if (id)
        snprintf(name, size, "mpitrace-%s", id);
    else
        snprintf(name, size, "mpitrace-%d", (int)getppid());
}
