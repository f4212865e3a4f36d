#define _GNU_SOURCE
#include "base/loader.h"

#include "base/dispatcher.h"
#include "bind/bind.h"

#include <dlfcn.h>
#include <link.h>

// Reports whether a segment of the file contains the address.
static int contains(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && *(uint64_t *)address - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            return 1;
    }
    return 0;
}

static int contains_both(struct dl_phdr_info *info, size_t size, void *addresses)
{
    uint64_t *both = addresses;
    return contains(info, size, &both[0]) && contains(info, size, &both[1]);
}

bool mt_loader_same_file(const void *a, const void *b)
{
    uint64_t both[] = {(uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b};
    return a && b && dl_iterate_phdr(contains_both, both) != 0;
}

bool mt_loader_contains(uint64_t address)
{
    return dl_iterate_phdr(contains, &address) != 0;
}

static _Atomic(const mt_dispatcher *) dispatcher; // NULL if this library is preloaded itself

void mt_dispatched(const mt_dispatcher *d)
{
    atomic_store(&dispatcher, d);
}

bool mt_loader_dispatched(void)
{
    return atomic_load(&dispatcher) != NULL;
}

bool mt_loader_ours(const void *address)
{
    return mt_loader_same_file(address, &dispatcher) || mt_loader_same_file(address, atomic_load(&dispatcher));
}

void *mt_loader_next(const char *name)
{
    const mt_dispatcher *d = atomic_load(&dispatcher);
    return d ? d->next(name) : dlsym(RTLD_NEXT, name);
}

void *mt_loader_module(uint64_t caller)
{
    const mt_dispatcher *d = atomic_load(&dispatcher);
    Dl_info info;
    if (d)
        return d->module(caller);
    bool named = dladdr((void *)(uintptr_t)caller, &info) && info.dli_fname;
    void *module = named ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!*mt_bound_file() || (module && dlsym(module, "PMPI_Init")))
        return module;
    if (module)
        mt_dlclose(module);
    return dlopen(mt_bound_file(), RTLD_LAZY | RTLD_NOLOAD);
}

int mt_dlclose(void *handle)
{
    static _Atomic(int (*)(void *)) next;
    int (*f)(void *) = atomic_load_explicit(&next, memory_order_relaxed);
    if (!f) {
        *(void **)&f = mt_loader_next("dlclose");
        atomic_store_explicit(&next, f, memory_order_relaxed);
    }
    return f ? f(handle) : 0;
}
