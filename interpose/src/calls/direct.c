#define _GNU_SOURCE
#include "calls/direct.h"

#include "base/loader.h"
#include "base/lock.h"
#include "bind/image.h"
#include "file/recording.h"

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

// Reports whether this is a plug-in of Open MPI: mca_io_romio.so defines mca_io_romio_component.
static bool is_component(const mt_image *image, const char *file)
{
    char symbol[256];
    if (strncmp(file, "mca_", 4) != 0)
        return false;
    snprintf(symbol, sizeof symbol, "%.*s_component", (int)strcspn(file, "."), file);
    return defines(image, symbol);
}

// Files of an MPI: its libraries in C and Fortran, and others that call PMPI functions. A user's
// library may lie beside them, and have a name like theirs.
static bool is_of_mpi(const mt_image *image)
{
    static const char *const others[] = {"libmpi_usempif08", "libmpi_usempi", "libmpi_usempi_ignore_tkr",
                                         "libmpi_cxx",       "libmpicxx",     "libmpichcxx",
                                         "libmpi_java",      "libmpijava",    "liboshmem"};
    const char *file = strrchr(image->file, '/'), *name = image->soname;
    file = file ? file + 1 : image->file;
    name = name ? name : file;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t n = strlen(others[i]);
        if (strncmp(name, others[i], n) == 0 && (name[n] == '.' || name[n] == '-')) // Debian adds -gfortran
            return true;
    }
    return defines(image, "PMPI_Get_library_version") || defines(image, "pmpi_get_library_version_") || is_component(image, file);
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

static size_t length(void)
{
    mt_lock(MT_LOCK_BINDINGS);
    size_t n = strlen(direct);
    mt_unlock(MT_LOCK_BINDINGS);
    return n;
}

// Names are only added, so the text up to the length does not change meanwhile. A thread that has
// logged looks again: so of several threads, the one that logs last logs all names.
void mt_direct_log(void)
{
    for (size_t logged = 0, n; (n = length()) > logged; logged = n)
        mt_recording_string(MT_STRING_DIRECT, direct, n);
}

// A thread in protected code may hold the lock of the log: the next name, or the end of the
// recording, logs this one.
static void add(const char *file, const char *name)
{
    mt_lock(MT_LOCK_BINDINGS);
    size_t used = strlen(direct), left = sizeof direct - used;
    if (used == 0)
        snprintf(direct, left, "%s\n%s", file, name);
    else
        snprintf(direct + used, left, "\n%s", name);
    mt_unlock(MT_LOCK_BINDINGS);
    if (mt_on() && !mt_protected())
        mt_direct_log();
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
    add(*c.file ? c.file : "code without a file", name);
}

void mt_direct_finalized(void)
{
    add("an unknown file", "MPI_Finalize");
}
