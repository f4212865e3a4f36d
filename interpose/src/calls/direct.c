#define _GNU_SOURCE
#include "calls/direct.h"

#include "base/loader.h"
#include "base/lock.h"
#include "bind/image.h"

#include <stdio.h>
#include <string.h>

static char direct[16384]; // the names of all MPI functions take 12 KiB

const char *mt_direct_calls(void)
{
    return direct;
}

typedef struct caller_file {
    uint64_t address;
    const char *name; // of the function that it calls
    char file[4096];  // "" if the address lies in no file
    bool passes_on;   // it is a tool or part of an MPI
} caller_file;

static bool defines(const mt_image *image, const char *name)
{
    return mt_image_find(image, mt_image_hash(name)) != NULL;
}

// Files of an MPI: its libraries, and the plug-ins of Open MPI.
static bool is_of_mpi(const mt_image *image)
{
    const char *base = strrchr(image->file, '/');
    return strncmp(base ? base + 1 : image->file, "mca_", 4) == 0 || (image->soname && strncmp(image->soname, "libmpi", 6) == 0) ||
           defines(image, "PMPI_Get_library_version") || defines(image, "pmpi_get_library_version_");
}

static bool is_tool(const mt_image *image, const char *name)
{
    return defines(image, name + 1) || defines(image, "MPI_Init") || defines(image, "MPI_Init_thread") || defines(image, "MPI_Finalize");
}

static int visit_caller(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    caller_file *c = into;
    mt_image image;
    if (!mt_image_read(info, &image) || !mt_image_contains(&image, c->address))
        return 0;
    snprintf(c->file, sizeof c->file, "%s", *image.file ? image.file : "the program");
    c->passes_on = is_of_mpi(&image) || is_tool(&image, c->name);
    return 1;
}

void mt_direct_called(const char *name, uint64_t caller)
{
    caller_file c = {.address = caller, .name = name};
    if (mt_loader_ours((void *)(uintptr_t)caller))
        return;
    mt_lock_acquired(MT_LOCK_LINKER_LIST);
    dl_iterate_phdr(visit_caller, &c);
    mt_lock_released(MT_LOCK_LINKER_LIST);
    if (c.passes_on)
        return;
    mt_lock(MT_LOCK_BINDINGS);
    size_t length = strlen(direct), left = sizeof direct - length;
    if (length == 0)
        snprintf(direct, left, "%s\n%s", *c.file ? c.file : "code without a file", name);
    else
        snprintf(direct + length, left, "\n%s", name);
    mt_unlock(MT_LOCK_BINDINGS);
}
