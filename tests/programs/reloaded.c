/* A program without MPI that loads a plugin with MPI, calls it and unloads
 * it several times: reloaded PLUGIN local|global TIMES [PLUGIN]. MPI is unloaded
 * with the plugin, and starts again the next time. Then it calls the other plugin. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    for (int i = 0; i < atoi(argv[3]) + (argc > 4); i++) {
        const char *path = argv[i < atoi(argv[3]) ? 1 : 4];
        void *plugin = dlopen(path, RTLD_NOW | (argv[2][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL));
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*run)(void);
        *(void **)&run = dlsym(plugin, "run");
        if (run() != 0)
            return 3;
        dlclose(plugin);
        if (dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
            fprintf(stderr, "the plugin was not unloaded\n");
            return 4;
        }
    }
    puts("ok");
    return 0;
}
