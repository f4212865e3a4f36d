// The files that the dynamic linker has loaded, as they lie in memory: their symbols and
// relocations. It allocates nothing and takes no lock, because it is called while files are
// loaded. A file must stay loaded meanwhile: see bind.h.
#ifndef MT_IMAGE_H
#define MT_IMAGE_H

#ifndef _GNU_SOURCE
#error "link.h needs _GNU_SOURCE, before any include"
#endif

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// DT_GNU_HASH: the filter, the buckets, and the hashes of the symbols from `first` on.
typedef struct mt_gnu_table {
    const ElfW(Addr) *filter;
    const uint32_t *buckets, *hashes;
    uint32_t bucket_count, first, word_mask, shift;
} mt_gnu_table;

typedef struct mt_image {
    uintptr_t base, start, end;
    const ElfW(Phdr) *segments;
    const ElfW(Dyn) *dynamic;
    ElfW(Sym) *symbols;
    const char *file, *strings, *soname; // soname may be NULL
    const uint32_t *hash;                // DT_HASH, used if there is no DT_GNU_HASH
    mt_gnu_table gnu;                    // filter is NULL if there is none
    const ElfW(Rela) *relocations, *plt;
    size_t relocation_count, plt_count;
    int segment_count;
    bool has_thread_local, is_mpi, is_fortran; // is_mpi, is_fortran: bind.c
} mt_image;

// Describes a loaded file. Returns false if it defines no symbols.
bool mt_image_read(const struct dl_phdr_info *info, mt_image *image);

// Does what mt_image_read does, for a file of another namespace of the dynamic linker. The segments
// of such a file, and so `start` and `end`, are not known.
bool mt_image_read_map(const struct link_map *map, mt_image *image);

// A name with its hash, to look it up in several files. An alias is the name with P or p before it.
typedef struct mt_hashed_name {
    const char *name;
    uint32_t hash;
    char prefix; // of an alias, else 0
} mt_hashed_name;

mt_hashed_name mt_image_hash(const char *name);
mt_hashed_name mt_image_hash_alias(const char *name);

// Returns the symbol with this name that the file defines, or NULL.
ElfW(Sym) *mt_image_find_symbol(const mt_image *image, mt_hashed_name name);

// Returns what mt_image_find_symbol returns. It is faster for a name that most files lack, because
// the filter of DT_GNU_HASH excludes most of these names.
static inline ElfW(Sym) *mt_image_find(const mt_image *image, mt_hashed_name name)
{
    enum { BITS = 8 * sizeof(ElfW(Addr)) };
    const mt_gnu_table *t = &image->gnu;
    if (t->filter) {
        ElfW(Addr) word = t->filter[name.hash / BITS & t->word_mask];
        if (!(word >> name.hash % BITS & word >> (name.hash >> t->shift) % BITS & 1))
            return NULL;
    }
    return mt_image_find_symbol(image, name);
}

// Returns the number of symbols, of which those before *first define nothing.
size_t mt_image_symbol_count(const mt_image *image, size_t *first);

static inline const char *mt_image_symbol_name(const mt_image *image, const ElfW(Sym) *symbol)
{
    return image->strings + symbol->st_name;
}

static inline bool mt_image_contains(const mt_image *image, uintptr_t address)
{
    return address - image->start < image->end - image->start;
}

// Reports whether the file is linked to the one with this soname.
bool mt_image_needs(const mt_image *image, const char *soname);

// Returns the path of the file that contains an address ("" is the program), or NULL. dladdr would
// also look for a symbol, among all of the file.
const char *mt_image_file_of(const void *address);

// Makes memory of the file writable that the dynamic linker has protected, or protects it
// again. Memory that is writable anyway is left as it is. Both ends of the memory lie in one
// segment. Returns false if it cannot be changed.
bool mt_image_open(const mt_image *image, const void *from, const void *to);
void mt_image_close(const mt_image *image, const void *from, const void *to);

// Reports whether mt_image_open has to change the protection of this memory.
bool mt_image_protected(const mt_image *image, const void *address);

#endif
