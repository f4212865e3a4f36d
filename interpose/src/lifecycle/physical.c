#define _GNU_SOURCE
#include "lifecycle/physical.h"

#include "file/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The component appends ".<rank>.prof".
#define FILENAME "OMPI_MCA_pml_monitoring_filename"
#define ENABLE "OMPI_MCA_pml_monitoring_enable"

bool mt_physical_on(void)
{
    const char *on = getenv("MPITRACE_PHYSICAL");
    return on && strcmp(on, "on") == 0;
}

// Gives the file another name in the directory that it has.
static void name_file(const char *name, size_t length)
{
    const char *old = getenv(FILENAME), *slash = old ? strrchr(old, '/') : NULL;
    char path[4096];
    int n = slash ? snprintf(path, sizeof path, "%.*s%.*s", (int)(slash + 1 - old), old, (int)length, name) : 0;
    if (n > 0 && n < (int)sizeof path)
        setenv(FILENAME, path, 1);
}

// Whether a list of components, or of those to leave out (^), leaves out one.
static bool leaves_out(const char *list, const char *component)
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

// Where the file goes was decided by whoever launched this process, and may be
// the same for all jobs of a script, which would overwrite each other's. A
// recording's name is nobody else's.
//
// Open MPI sets variables of its environment in MPI_Init itself: a thread that
// reads the environment meanwhile is in no other danger than without us.
void mt_physical_name(void)
{
    const char *name = mt_recording_name(), *end = strrchr(name, '.'), *coll = getenv("OMPI_MCA_coll");
    if (!mt_physical_on() || !end)
        return;
    name_file(name, (size_t)(end - name));
    if (leaves_out(coll, "monitoring")) { // and the program would end when it frees a communicator
        setenv(ENABLE, "0", 1);
        mt_log("what the MPI library sends is not recorded: coll is %s, without monitoring", coll);
    }
}

// What is spawned inherits the environment: its rank 0 would write into our file.
void mt_physical_named(void)
{
    static const char nobody[] = "inherited";
    if (mt_physical_on())
        name_file(nobody, sizeof nobody - 1);
}
