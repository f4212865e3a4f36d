#define _GNU_SOURCE
#include "bind/initialized.h"

#include "bind/image.h"

#include <string.h>

typedef int initialized(int *flag);

// The functions of the MPIs that are loaded. More than two in one process are not looked at.
typedef struct loaded {
    initialized *functions[2];
    const char *files[2];
    size_t count;
} loaded;

static void add(loaded *l, const mt_image *image)
{
    const ElfW(Sym) *s = mt_image_find(image, mt_image_hash("PMPI_Initialized"));
    if (!s || l->count == sizeof l->files / sizeof *l->files)
        return;
    l->files[l->count] = image->file;
    l->functions[l->count++] = (initialized *)(image->base + s->st_value);
}

static int visit(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    mt_image image;
    if (mt_image_read(info, &image))
        add(into, &image);
    return 0;
}

static bool is_initialized(const loaded *l, char file[static MT_FILE_SIZE])
{
    for (size_t i = 0; i < l->count; i++) {
        int flag = 0;
        if (l->functions[i](&flag) == 0 && flag) {
            strncpy(file, l->files[i], MT_FILE_SIZE - 1);
            return true;
        }
    }
    return false;
}

bool mt_initialized_mpi(char file[static MT_FILE_SIZE])
{
    loaded l = {.count = 0};
    dl_iterate_phdr(visit, &l);
    return is_initialized(&l, file);
}

// As r_debug_extended of link.h, which older versions of glibc lack. From version 2 on it
// describes one namespace, and leads to the next.
typedef struct linker_namespace {
    struct r_debug base;
    struct linker_namespace *next;
} linker_namespace;

extern struct r_debug _r_debug __attribute__((weak));

bool mt_initialized_elsewhere(char file[static MT_FILE_SIZE])
{
    linker_namespace *first = (linker_namespace *)(void *)&_r_debug;
    __asm__("" : "+r"(first)); // compilers know the size of _r_debug, and not that it may be part of more
    if (!first || first->base.r_version < 2)
        return false;
    for (linker_namespace *n = first->next; n; n = n->next) {
        loaded l = {.count = 0};
        for (const struct link_map *map = n->base.r_map; map; map = map->l_next) {
            mt_image image;
            if (mt_image_read_map(map, &image))
                add(&l, &image);
        }
        if (is_initialized(&l, file))
            return true;
    }
    return false;
}
