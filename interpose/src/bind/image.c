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

static void read_dynamic(mt_image *image)
{
    size_t soname = 0;
    for (const ElfW(Dyn) *d = image->dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: image->symbols = address_of(image, d->d_un.d_ptr); break;
        case DT_STRTAB: image->strings = address_of(image, d->d_un.d_ptr); break;
        case DT_GNU_HASH: image->gnu_hash = address_of(image, d->d_un.d_ptr); break;
        case DT_HASH: image->hash = address_of(image, d->d_un.d_ptr); break;
        case DT_RELA: image->relocations = address_of(image, d->d_un.d_ptr); break;
        case DT_RELASZ: image->relocation_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_JMPREL: image->plt = address_of(image, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: image->plt_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_SONAME: soname = d->d_un.d_val; break;
        }
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
    return image->symbols && image->strings && (image->gnu_hash || image->hash);
}

mt_hashed_name mt_image_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    return (mt_hashed_name){name, hash};
}

static bool is_visible(const ElfW(Sym) *s)
{
    unsigned binding = ELF64_ST_BIND(s->st_info);
    return s->st_shndx != SHN_UNDEF && s->st_value != 0 && (binding == STB_GLOBAL || binding == STB_WEAK);
}

// DT_GNU_HASH: the number of buckets, the first symbol in the table, the words of the filter and
// its shift; the filter; the buckets; the hashes of the symbols.
typedef struct gnu_table {
    const ElfW(Addr) *filter;
    const uint32_t *buckets, *hashes;
    uint32_t count, first, words, shift;
} gnu_table;

static gnu_table gnu_table_of(const mt_image *image)
{
    const uint32_t *h = image->gnu_hash;
    gnu_table t = {.count = h[0], .first = h[1], .words = h[2], .shift = h[3], .filter = (const ElfW(Addr) *)(h + 4)};
    t.buckets = (const uint32_t *)(t.filter + t.words);
    t.hashes = t.buckets + t.count;
    return t;
}

static ElfW(Sym) *find_in_gnu_table(const mt_image *image, mt_hashed_name name)
{
    enum { BITS = 8 * sizeof(ElfW(Addr)) };
    gnu_table t = gnu_table_of(image);
    ElfW(Addr) word = t.filter[name.hash / BITS & (t.words - 1)];
    if (t.count == 0 || !(word >> name.hash % BITS & word >> (name.hash >> t.shift) % BITS & 1))
        return NULL;
    uint32_t i = t.buckets[name.hash % t.count];
    if (i < t.first)
        return NULL;
    for (;; i++) {
        uint32_t hash = t.hashes[i - t.first];
        ElfW(Sym) *s = &image->symbols[i];
        if ((hash | 1) == (name.hash | 1) && is_visible(s) && strcmp(mt_image_symbol_name(image, s), name.name) == 0)
            return s;
        if (hash & 1)
            return NULL;
    }
}

ElfW(Sym) *mt_image_find(const mt_image *image, mt_hashed_name name)
{
    if (image->gnu_hash)
        return find_in_gnu_table(image, name);
    for (uint32_t i = 1; i < image->hash[1]; i++) { // DT_HASH: the number of buckets, that of symbols
        ElfW(Sym) *s = &image->symbols[i];
        if (is_visible(s) && strcmp(mt_image_symbol_name(image, s), name.name) == 0)
            return s;
    }
    return NULL;
}

ElfW(Sym) *mt_image_find_name(const mt_image *image, const char *name)
{
    return mt_image_find(image, mt_image_hash(name));
}

size_t mt_image_symbol_count(const mt_image *image, size_t *first)
{
    *first = 1;
    if (!image->gnu_hash)
        return image->hash[1];
    gnu_table t = gnu_table_of(image);
    uint32_t last = 0;
    for (uint32_t i = 0; i < t.count; i++)
        last = t.buckets[i] > last ? t.buckets[i] : last;
    *first = t.first;
    if (last < t.first)
        return t.first;
    while (!(t.hashes[last - t.first] & 1))
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
