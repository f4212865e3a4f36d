/* Starts MPI, and then opens a plugin with RTLD_LOCAL that uses it, and ends it:
 * initialized PLUGIN (2 ranks). */
#include "check.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    REQUIRE(argc == 2);
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin);
    int (*plugin_main)(int, char **);
    *(void **)&plugin_main = dlsym(plugin, "plugin_main");
    REQUIRE(plugin_main);
    return plugin_main(argc, argv);
}
