#define _GNU_SOURCE
#include "base/loader.h"

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

int mt_dlclose(void *handle)
{
    static _Atomic(int (*)(void *)) next;
    int (*f)(void *) = atomic_load_explicit(&next, memory_order_relaxed);
    if (!f) {
        *(void **)&f = dlsym(RTLD_NEXT, "dlclose");
        atomic_store_explicit(&next, f, memory_order_relaxed);
    }
    return f ? f(handle) : 0;
}
