#define _GNU_SOURCE
#include "bind/image.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The dynamic linker has relocated the addresses in .dynamic, except where that section is
// read-only (the vdso).
static void *address_of(const mt_image *image, ElfW(Addr) p)
{
    return (void *)(p < image->base ? p + image->base : p);
}

static void read_segments(mt_image *image)
{
    image->start = UINTPTR_MAX;
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *p = &image->segments[i];
        uintptr_t start = image->base + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_DYNAMIC)
            image->dynamic = (const ElfW(Dyn) *)start;
        image->has_thread_local = image->has_thread_local || p->p_type == PT_TLS;
        if (p->p_type != PT_LOAD)
            continue;
        image->start = start < image->start ? start : image->start;
        image->end = end > image->end ? end : image->end;
    }
}

static bool defines_symbols(const mt_image *image)
{
    return image->symbols && image->strings && (image->gnu.filter || image->hash);
}

// The table begins with the number of buckets, the first symbol, the number of words of the
// filter, and the shift of its second bit.
static void read_gnu_table(mt_image *image, const uint32_t *h)
{
    mt_gnu_table *t = &image->gnu;
    if (h[0] == 0)
        return;
    *t = (mt_gnu_table){.filter = (const ElfW(Addr) *)(h + 4), .bucket_count = h[0], .first = h[1], .word_mask = h[2] - 1, .shift = h[3]};
    t->buckets = (const uint32_t *)(t->filter + h[2]);
    t->hashes = t->buckets + h[0];
}

static void read_dynamic(mt_image *image)
{
    size_t soname = 0, relative = 0;
    for (const ElfW(Dyn) *d = image->dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: image->symbols = address_of(image, d->d_un.d_ptr); break;
        case DT_STRTAB: image->strings = address_of(image, d->d_un.d_ptr); break;
        case DT_GNU_HASH: read_gnu_table(image, address_of(image, d->d_un.d_ptr)); break;
        case DT_HASH: image->hash = address_of(image, d->d_un.d_ptr); break;
        case DT_RELA: image->relocations = address_of(image, d->d_un.d_ptr); break;
        case DT_RELASZ: image->relocation_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELACOUNT: relative = d->d_un.d_val; break;
        case DT_JMPREL: image->plt = address_of(image, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: image->plt_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_SONAME: soname = d->d_un.d_val; break;
        }
    image->relocations += relative; // those come first and name no symbol
    image->relocation_count -= relative;
    if (soname && image->strings)
        image->soname = image->strings + soname;
}

bool mt_image_read(const struct dl_phdr_info *info, mt_image *image)
{
    *image = (mt_image){.base = info->dlpi_addr, .segments = info->dlpi_phdr, .segment_count = info->dlpi_phnum,
                        .file = info->dlpi_name};
    read_segments(image);
    if (image->dynamic)
        read_dynamic(image);
    return defines_symbols(image);
}

bool mt_image_read_map(const struct link_map *map, mt_image *image)
{
    *image = (mt_image){.base = map->l_addr, .dynamic = map->l_ld, .file = map->l_name};
    if (image->dynamic)
        read_dynamic(image);
    return defines_symbols(image);
}

static uint32_t hash_on(uint32_t hash, const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    return hash;
}

enum { EMPTY_HASH = 5381 };

mt_hashed_name mt_image_hash(const char *name)
{
    return (mt_hashed_name){name, hash_on(EMPTY_HASH, name), 0};
}

mt_hashed_name mt_image_hash_alias(const char *name)
{
    char prefix = *name == 'm' ? 'p' : 'P';
    return (mt_hashed_name){name, hash_on(EMPTY_HASH * 33 + (unsigned char)prefix, name), prefix};
}

static bool is_wanted(const mt_image *image, const ElfW(Sym) *s, mt_hashed_name wanted)
{
    const char *name = mt_image_symbol_name(image, s);
    return s->st_shndx != SHN_UNDEF && s->st_value != 0 && (!wanted.prefix || *name++ == wanted.prefix) && strcmp(name, wanted.name) == 0;
}

static ElfW(Sym) *find_in_gnu_table(const mt_image *image, mt_hashed_name name)
{
    const mt_gnu_table *t = &image->gnu;
    uint32_t i = t->buckets[name.hash % t->bucket_count];
    if (i < t->first)
        return NULL;
    for (;; i++) {
        uint32_t hash = t->hashes[i - t->first];
        if ((hash | 1) == (name.hash | 1) && is_wanted(image, &image->symbols[i], name))
            return &image->symbols[i];
        if (hash & 1)
            return NULL;
    }
}

ElfW(Sym) *mt_image_find_symbol(const mt_image *image, mt_hashed_name name)
{
    if (image->gnu.filter)
        return find_in_gnu_table(image, name);
    for (uint32_t i = 1; i < image->hash[1]; i++) // DT_HASH: the number of buckets, that of symbols
        if (is_wanted(image, &image->symbols[i], name))
            return &image->symbols[i];
    return NULL;
}

size_t mt_image_symbol_count(const mt_image *image, size_t *first)
{
    const mt_gnu_table *t = &image->gnu;
    *first = 1;
    if (!t->filter)
        return image->hash[1];
    uint32_t last = 0;
    for (uint32_t i = 0; i < t->bucket_count; i++)
        last = t->buckets[i] > last ? t->buckets[i] : last;
    *first = t->first;
    if (last < t->first)
        return t->first;
    while (!(t->hashes[last - t->first] & 1))
        last++;
    return last + 1;
}

bool mt_image_needs(const mt_image *image, const char *soname)
{
    for (const ElfW(Dyn) *d = image->dynamic; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && strcmp(image->strings + d->d_un.d_val, soname) == 0)
            return true;
    return false;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & -(uintptr_t)sysconf(_SC_PAGESIZE);
}

// Returns the protection that the memory has now.
static int protection(const mt_image *image, uintptr_t address)
{
    int found = PROT_READ;
    bool relro = false;
    for (int i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *p = &image->segments[i];
        uintptr_t start = image->base + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_LOAD && address - start < p->p_memsz)
            found |= (p->p_flags & PF_W ? PROT_WRITE : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0);
        relro = relro || (p->p_type == PT_GNU_RELRO && address >= page_of(start) && address < page_of(end));
    }
    return relro ? found & ~PROT_WRITE : found;
}

bool mt_image_protected(const mt_image *image, const void *address)
{
    return !(protection(image, (uintptr_t)address) & PROT_WRITE);
}

static bool change(const mt_image *image, const void *from, const void *to, int added)
{
    int is = protection(image, (uintptr_t)from);
    uintptr_t start = page_of((uintptr_t)from), end = page_of((uintptr_t)to + (uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    return is & PROT_WRITE || mprotect((void *)start, end - start, is | added) == 0;
}

bool mt_image_open(const mt_image *image, const void *from, const void *to)
{
    return change(image, from, to, PROT_WRITE);
}

void mt_image_close(const mt_image *image, const void *from, const void *to)
{
    change(image, from, to, 0);
}

typedef struct address {
    uintptr_t value;
    const char *file;
} address;

static int find_address(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    address *a = into;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && a->value - info->dlpi_addr - p->p_vaddr < p->p_memsz)
            a->file = info->dlpi_name;
    }
    return a->file != NULL;
}

const char *mt_image_file_of(const void *value)
{
    address a = {(uintptr_t)value, NULL};
    dl_iterate_phdr(find_address, &a);
    return a.file;
}
