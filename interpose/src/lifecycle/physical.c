#define _GNU_SOURCE
#include "lifecycle/physical.h"

#include "file/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Open MPI's component appends ".<rank>.prof" to this name.
#define FILENAME "OMPI_MCA_pml_monitoring_filename"
#define ENABLE "OMPI_MCA_pml_monitoring_enable"

bool mt_physical_on(void)
{
    const char *on = getenv("MPITRACE_PHYSICAL");
    return on && strcmp(on, "on") == 0;
}

// Changes the file's name and keeps its directory.
static void name_file(const char *name, size_t length)
{
    const char *old = getenv(FILENAME), *slash = old ? strrchr(old, '/') : NULL;
    char path[4096];
    int n = slash ? snprintf(path, sizeof path, "%.*s%.*s", (int)(slash + 1 - old), old, (int)length, name) : 0;
    if (n > 0 && n < (int)sizeof path)
        setenv(FILENAME, path, 1);
}

// Reports whether a list of Open MPI's components excludes a component. A list that
// begins with ^ names the components to exclude, any other list those to use.
static bool excludes(const char *list, const char *component)
{
    size_t length = strlen(component);
    if (!list || !*list)
        return false;
    bool except = *list == '^', listed = false;
    for (const char *at = list + except; at; at = strchr(at, ',')) {
        at += *at == ',';
        listed = listed || (strncmp(at, component, length) == 0 && (at[length] == ',' || !at[length]));
    }
    return listed == except;
}

// The launcher of this process chose the file's directory and name. They may be the
// same for all jobs of a script, which would then overwrite each other's files. So
// the file gets the recording's name, which no other process has.
//
// setenv is safe enough here: Open MPI's MPI_Init sets environment variables itself,
// so a thread that reads the environment meanwhile is in the same danger without this
// library.
void mt_physical_name(void)
{
    const char *name = mt_recording_name(), *end = strrchr(name, '.'), *coll = getenv("OMPI_MCA_coll");
    if (!mt_physical_on() || !end)
        return;
    name_file(name, (size_t)(end - name));
    // With pml/monitoring but without coll/monitoring, the program would crash when
    // it frees a communicator.
    if (excludes(coll, "monitoring")) {
        setenv(ENABLE, "0", 1);
        mt_log("the messages that the MPI library itself sends are not recorded: coll is %s, without monitoring", coll);
    }
}

// Changes the name again, because spawned processes inherit the environment: their
// rank 0 would overwrite our file.
void mt_physical_name_children(void)
{
    static const char nobody[] = "inherited";
    if (mt_physical_on())
        name_file(nobody, sizeof nobody - 1);
}
