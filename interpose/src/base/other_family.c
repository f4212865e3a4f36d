#define _GNU_SOURCE
#include "base/other_family.h"

#include "base/dispatcher.h"
#include "base/loader.h"
#include "base/symbol.h"
#include "base/wrong_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A function of ours that becomes a jump, or an entry of mt_pmpi.
typedef struct replacement {
    unsigned char *at; // NULL: it is an entry
    void **entry, *by;
} replacement;

struct mt_other_family {
    void *library;
    size_t n;
    replacement replacements[];
};

static _Atomic(void *) recorder; // handle of the library that took over
static _Atomic(const char *) mpi_file;

// The library was opened with dlopen, so that RTLD_NEXT finds nothing after it. It comes where we
// are.
static void *next(const char *name)
{
    void *p = mt_loader_next(name);
    __asm__ volatile("" : "+r"(p)); // no tail call: dlsym has to be called from this library
    return p;
}

// The first call reaches the library through our wrapper, and code may have no file. Both see the
// MPI by the name of its file.
static void *module(uint64_t caller)
{
    void *found = mt_loader_ours((void *)(uintptr_t)caller) ? NULL : mt_loader_module(caller);
    if (found && dlsym(found, "PMPI_Get_library_version"))
        return found;
    if (found)
        mt_dlclose(found);
    return dlopen(atomic_load(&mpi_file), RTLD_LAZY | RTLD_NOLOAD);
}

static const mt_dispatcher ours = {next, module};

static const void *dynamic(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return (const void *)(uintptr_t)d->d_un.d_ptr;
    return NULL;
}

static const char *soname_of(const struct link_map *map)
{
    const char *strings = dynamic(map, DT_STRTAB);
    size_t soname = (size_t)(uintptr_t)dynamic(map, DT_SONAME);
    return strings && soname ? strings + soname : NULL;
}

// Opens the library for the path or soname of an MPI, whose name has % for /.
static void *open_named(const char *directory, const char *name)
{
    char path[2 * PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/libmpitrace-%s.so", directory, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return NULL;
    for (char *c = path + strlen(directory) + 1; *c; c++)
        *c = *c == '/' ? '%' : *c;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_library(void *mpi)
{
    const char *directory = getenv("MPITRACE_LIBRARIES");
    Dl_info info;
    struct link_map *map = NULL;
    char real[PATH_MAX];
    if (!directory || !*directory || !mpi || !dladdr1(mpi, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    const char *soname = soname_of(map);
    void *library = realpath(map->l_name, real) ? open_named(directory, real) : NULL;
    if (!library && soname)
        library = open_named(directory, soname);
    atomic_store(&mpi_file, map->l_name);
    return library;
}

// Returns the number of symbols in a library's table: the chains of its hash table end with the
// last symbol.
static uint32_t count_symbols(const uint32_t *hash)
{
    if (!hash)
        return 0;
    uint32_t buckets = hash[0], first = hash[1], last = 0;
    const uint32_t *bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t)), *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

static void add(mt_other_family *f, void *at, void **entry, const char *name)
{
    void *by = dlsym(f->library, name);
    if (by)
        f->replacements[f->n++] = (replacement){at, entry, by};
}

// Lists each function that we export, except for what the two libraries tell each other.
static void list_functions(mt_other_family *f, const struct link_map *map, uint32_t n)
{
    const ElfW(Sym) *symbols = dynamic(map, DT_SYMTAB);
    const char *strings = dynamic(map, DT_STRTAB);
    for (uint32_t i = 1; i < n; i++) {
        const ElfW(Sym) *s = &symbols[i];
        const char *name = strings + s->st_name;
        bool hidden = s->st_shndx == SHN_UNDEF || s->st_value == 0;
        if (!hidden && ELF64_ST_TYPE(s->st_info) == STT_FUNC && strncmp(name, "mt_", 3) != 0)
            add(f, (char *)map->l_addr + s->st_value, NULL, name);
    }
}

mt_other_family *mt_other_family_open(void *mpi)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *library = open_library(mpi), *start = library ? dlsym(library, "mt_dispatched") : NULL;
    if (!start || !dladdr1(&ours, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    uint32_t n = count_symbols(dynamic(map, DT_GNU_HASH));
    size_t entries = 0;
    while (mt_symbols[entries].name)
        entries++;
    mt_other_family *f = n ? malloc(sizeof *f + (n + entries) * sizeof *f->replacements) : NULL;
    if (!f)
        return NULL;
    *f = (mt_other_family){.library = library};
    list_functions(f, map, n);
    // The call that is open now has left the start of its wrapper behind.
    for (const mt_symbol *s = mt_symbols; s->name; s++)
        if (s->wrapped)
            add(f, NULL, (void **)((char *)&mt_pmpi + s->offset), s->name + 1);
    ((void (*)(const mt_dispatcher *))(uintptr_t)start)(&ours);
    return f;
}

bool mt_other_family_take_over(const mt_other_family *f)
{
    for (size_t i = 0; i < f->n; i++) {
        const replacement *r = &f->replacements[i];
        if (r->entry)
            *r->entry = r->by;
        else if (!mt_wrong_mpi_write_jump(r->at, r->by))
            return false;
    }
    atomic_store(&recorder, f->library);
    return true;
}

void *mt_other_family_function(const char *name)
{
    void *library = atomic_load(&recorder);
    return library ? dlsym(library, name) : NULL;
}
