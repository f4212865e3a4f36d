/* Phases of a program, a static library, a shared library and a plugin
 * (1 rank): phase_parts PLUGIN. Each sends a different power of two. */
#include "check.h"
#include <dlfcn.h>
#include <mpitrace.h>

void static_part(int bytes);
void shared_part(int bytes);

int main(int argc, char **argv)
{
    void (*plugin_part)(int) = NULL;
    begin(argc, argv, 1);
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (plugin)
        *(void **)&plugin_part = dlsym(plugin, "plugin_part");
    REQUIRE(plugin_part);
    mpitrace_phase("program");
    MPI_Sendrecv("x", 1, MPI_BYTE, 0, 0, argv[0], 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    static_part(2);
    shared_part(4);
    plugin_part(8);
    return end();
}
