/* A program without MPI that opens a plugin with MPI, by RTLD_LOCAL or
 * RTLD_GLOBAL: host PLUGIN [global]. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | (argc > 2 ? RTLD_GLOBAL : RTLD_LOCAL)) : NULL;
    if (!plugin) {
        fprintf(stderr, "host: %s\n", argc > 1 ? dlerror() : "which plugin?");
        return 1;
    }
    int (*plugin_main)(int, char **);
    *(void **)&plugin_main = dlsym(plugin, "plugin_main");
    return plugin_main ? plugin_main(argc, argv) : 1;
}
