#define _GNU_SOURCE
#include "lifecycle/placement.h"

#include "base/procfs.h"
#include "file/recording.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MT_PROCESSORS = 1 << 16,  // most processors of an affinity mask
    MT_PLACEMENT_TEXT = 4096, // most bytes of a file that is read, and of a path
    MT_GROUP_DEPTH = 32,      // most levels of control groups that are read
};

// Returns the number of processors in a file that lists them, such as 0-3,8. Returns
// 0 if it is not known.
static uint32_t count_processors(const char *path)
{
    char text[MT_PLACEMENT_TEXT];
    uint32_t n = 0;
    if (mt_procfs_read(path, text, sizeof text) <= 0)
        return 0;
    for (char *at = text; *at >= '0' && *at <= '9';) {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-')
            last = strtoul(at + 1, &at, 10);
        if (last < first || last >= MT_PROCESSORS)
            return 0;
        n += (uint32_t)(last - first + 1);
        if (*at == ',')
            at++;
    }
    return n < MT_PROCESSORS ? n : 0;
}

// Reads the processors, cores and sockets of the node. It assumes that all cores and
// sockets are like those of processor 0, because reading each processor would take
// milliseconds on large nodes.
static void read_node(mt_l_placement *p)
{
    p->node_processors = count_processors("/sys/devices/system/cpu/online");
    uint32_t in_core = count_processors("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    uint32_t in_socket = count_processors("/sys/devices/system/cpu/cpu0/topology/core_siblings_list");
    if (in_core)
        p->node_cores = (p->node_processors + in_core - 1) / in_core;
    if (in_socket)
        p->node_sockets = (p->node_processors + in_socket - 1) / in_socket;
}

// Returns a control group's CPU limit in thousandths of a processor, or 0 if it has
// none. Quota and period are in one text (version 2: "max 100000") or in two (version
// 1).
static uint64_t thousandths(const char *quota, const char *period)
{
    char *end = NULL;
    uint64_t most = *quota >= '0' && *quota <= '9' ? strtoull(quota, &end, 10) : 0;
    if (most == 0 || most > 1ull << 40)
        return 0;
    uint64_t of = strtoull(period ? period : end, NULL, 10);
    return of && of < 1ull << 40 ? (most * 1000 + of - 1) / of : 0;
}

static uint64_t group_limit(const char *dir, bool unified)
{
    char path[MT_PLACEMENT_TEXT + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/%s", dir, unified ? "cpu.max" : "cpu.cfs_quota_us");
    if (mt_procfs_read(path, quota, sizeof quota) <= 0)
        return 0;
    if (unified)
        return thousandths(quota, NULL);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    return mt_procfs_read(path, period, sizeof period) > 0 ? thousandths(quota, period) : 0;
}

// Reads the limits of a control group and of the groups above it, and keeps the
// lowest, because a limit also holds for all groups below. In a container the path
// may be the host's and not exist; the container's own group is then the root of the
// mounted file system.
static void read_group(mt_l_placement *p, const char *mount, const char *group, bool unified)
{
    char dir[MT_PLACEMENT_TEXT];
    size_t root = strlen(mount);
    int n = snprintf(dir, sizeof dir, "%s%s", mount, group);
    if (n < 0 || (size_t)n >= sizeof dir)
        return;
    for (int depth = 0; depth < MT_GROUP_DEPTH; depth++) {
        struct stat st;
        uint64_t limit = group_limit(dir, unified);
        if (limit && (!p->cpu_limit || limit < p->cpu_limit) && stat(dir, &st) == 0) {
            p->cpu_limit = limit;
            p->limit_group = st.st_ino;
        }
        char *slash = strrchr(dir, '/');
        if (!slash || slash < dir + root)
            return;
        *slash = '\0';
    }
}

static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
        if ((at == controllers || at[-1] == ',') && (at[3] == '\0' || at[3] == ','))
            return true;
    return false;
}

// Reads the control groups of the process. Each line is ID:CONTROLLERS:PATH, or
// 0::PATH in version 2.
static void read_groups(mt_l_placement *p)
{
    char text[MT_PLACEMENT_TEXT], *rest = NULL;
    if (mt_procfs_read("/proc/self/cgroup", text, sizeof text) <= 0)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        if (strcmp(group, "/") == 0)
            group++;
        if (*controllers == '\0')
            read_group(p, "/sys/fs/cgroup", group, true);
        else if (has_cpu(controllers))
            read_group(p, "/sys/fs/cgroup/cpu", group, false);
    }
}

void mt_placement_log(void)
{
    uint64_t mask[MT_PROCESSORS / 64];
    uint32_t words = 0;
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) == 0)
        for (uint32_t i = 0; i < MT_PROCESSORS / 64; i++)
            if (mask[i])
                words = i + 1;
    mt_l_placement found = {.words = words};
    read_node(&found);
    read_groups(&found);
    mt_l_placement *p = mt_recording_begin(sizeof *p + words * sizeof *mask);
    if (!p)
        return;
    found.record = p->record;
    *p = found;
    memcpy(p + 1, mask, words * sizeof *mask);
    mt_recording_commit(p, MT_RECORD_PLACEMENT);
}
