/* Initializes MPI, opens with RTLD_LOCAL a plugin that uses MPI, and
 * finalizes: initialized PLUGIN (2 ranks). */
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
