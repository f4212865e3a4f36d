/* A program without MPI that opens files with RTLD_LOCAL, one after the
 * other, and calls run() in those that have it: opens FILE... Files that
 * cannot be opened are skipped. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int runs = 0, skipped = 0;
    for (int i = 1; i < argc; i++) {
        void *file = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        skipped += !file;
        if (!file)
            continue;
        int (*run)(void);
        *(void **)&run = dlsym(file, "run");
        if (!run)
            continue;
        runs++;
        if (run() != 0)
            return 3;
    }
    printf("ok %d runs, %d skipped\n", runs, skipped);
    return 0;
}
