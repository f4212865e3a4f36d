#define _GNU_SOURCE
#include "bind/bind.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64 };
#else
enum { JUMP_SLOT = -1, GLOB_DAT = -1, ABSOLUTE = -1 }; // no slot is changed
#endif

// What was known after the last look at the loaded files.
static struct {
    unsigned long long first_adds, adds, subs; // first_adds: when the process started
    size_t files;
} seen;

static char bound_file[4096];

const char *mt_bound_file(void)
{
    return bound_file;
}

// A function that every MPI has, and no tool has a reason to wrap.
#define PROBE "PMPI_Get_library_version"

static void classify(mt_image *image)
{
    if (!*image->file)
        return; // the program itself: it comes before us, and its own calls are bound already
    image->is_mpi = mt_image_find_name(image, PROBE);
    image->is_fortran = !image->is_mpi && mt_image_find_name(image, "pmpi_init_");
}

// --- looking for an MPI ---

typedef struct look {
    size_t known, files; // files that need no look, files so far
    bool found;
} look;

static int look_at(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    look *l = into;
    mt_image image;
    if (l->files++ < l->known || !mt_image_read(info, &image))
        return 0;
    classify(&image);
    l->found = l->found || image.is_mpi || image.is_fortran;
    return 0;
}

static void remember(const struct dl_phdr_info *info, size_t files)
{
    if (seen.first_adds == 0)
        seen.first_adds = info->dlpi_adds;
    seen.adds = info->dlpi_adds;
    seen.subs = info->dlpi_subs;
    seen.files = files;
}

static int look_under_lock(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    look l = {.known = info->dlpi_subs == seen.subs ? seen.files : 0}; // new files come last
    if (info->dlpi_adds == seen.adds)
        return 1;
    dl_iterate_phdr(look_at, &l);
    if (!l.found)
        remember(info, l.files);
    *(bool *)found = l.found;
    return 1; // once is enough
}

bool mt_bind_is_due(void)
{
    bool found = false;
    dl_iterate_phdr(look_under_lock, &found);
    return found;
}

typedef struct mpis {
    void **functions;
    size_t count, room;
} mpis;

static int add_mpi(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    mpis *m = into;
    mt_image image;
    if (m->count == m->room || !mt_image_read(info, &image))
        return 0;
    classify(&image);
    if (image.is_mpi)
        m->functions[m->count++] = (void *)(image.base + mt_image_find_name(&image, PROBE)->st_value);
    return 0;
}

size_t mt_bind_loaded_mpis(void *functions[], size_t room)
{
    mpis m = {functions, 0, room};
    dl_iterate_phdr(add_mpi, &m);
    return m.count;
}

// --- the loaded files ---

typedef struct files {
    const mt_binder *binder;
    mt_image *images;
    size_t count, room;
    const mt_image *wrappers[2]; // the files with wrappers
    const mt_image *mpi;         // the MPI that is served, else any other, else NULL
    bool served;                 // mpi is served
    bool loading;
} files;

static int count_file(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info, (void)size;
    ++*(size_t *)count;
    return 0;
}

static int add_file(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    files *f = into;
    mt_image *image = &f->images[f->count];
    if (f->count == f->room || !mt_image_read(info, image))
        return f->count == f->room;
    f->count++;
    for (int i = 0; i < 2; i++)
        if (f->binder->wrappers[i] && mt_image_contains(image, (uintptr_t)f->binder->wrappers[i])) {
            f->wrappers[i] = image;
            return 0;
        }
    classify(image);
    if (image->is_mpi && !f->served) {
        f->served = f->binder->serves(image);
        f->mpi = f->served || !f->mpi ? image : f->mpi;
    }
    return 0;
}

static bool is_wrapper_file(const files *f, const mt_image *image)
{
    return image == f->wrappers[0] || image == f->wrappers[1];
}

// Reports whether a name is that of an MPI function in C: not all of its letters are capitals.
static bool is_c_name(const char *name)
{
    name += *name == 'P';
    if (strncmp(name, "MPI_", 4) != 0 && strncmp(name, "MPIX_", 5) != 0)
        return false;
    for (name += 4; *name; name++)
        if (*name >= 'a' && *name <= 'z')
            return true;
    return false;
}

// Returns our wrapper with this name, or 0.
static uintptr_t wrapper(const files *f, mt_hashed_name name)
{
    for (int i = 0; i < 2; i++) {
        const ElfW(Sym) *s = f->wrappers[i] ? mt_image_find(f->wrappers[i], name) : NULL;
        if (s)
            return f->wrappers[i]->base + s->st_value;
    }
    return 0;
}

// Another tool or a trampoline defines this name too.
static bool is_defined_elsewhere(const files *f, mt_hashed_name name)
{
    for (size_t i = 0; i < f->count; i++) {
        const mt_image *image = &f->images[i];
        if (!image->is_mpi && !image->is_fortran && !is_wrapper_file(f, image) && mt_image_find(image, name))
            return true;
    }
    return false;
}

// Returns the MPI's own function with this name, or 0 if the name has no alias that
// other tools use. The alias of MPI_x is PMPI_x.
static uintptr_t original(const mt_image *mpi, const char *name)
{
    char alias[128] = "P";
    if (strlen(name) > sizeof alias - 2)
        return 0;
    strcpy(alias + 1, name);
    const ElfW(Sym) *s = mt_image_find_name(mpi, alias);
    return s ? mpi->base + s->st_value : 0;
}

// --- binding ---

// Makes the symbol MPI_x of the MPI lead to the wrapper, unless it does.
static bool bind_symbol(const files *f, const char *name, uintptr_t to)
{
    mt_hashed_name hashed = mt_image_hash(name);
    ElfW(Sym) *s = mt_image_find(f->mpi, hashed);
    if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC || f->mpi->base + s->st_value != original(f->mpi, name) ||
        is_defined_elsewhere(f, hashed))
        return false;
    __atomic_store_n(&s->st_value, to - f->mpi->base, __ATOMIC_RELAXED);
    return true;
}

static size_t bind_symbols(const files *f)
{
    size_t unused, count = mt_image_symbol_count(f->mpi, &unused), bound = 0;
    if (!mt_image_open(f->mpi, f->mpi->symbols, f->mpi->symbols + count))
        return 0;
    for (int i = 0; i < 2 && f->wrappers[i]; i++) {
        const mt_image *w = f->wrappers[i];
        size_t first, end = mt_image_symbol_count(w, &first);
        for (const ElfW(Sym) *s = w->symbols + first; s < w->symbols + end; s++) {
            const char *name = mt_image_symbol_name(w, s);
            if (*name == 'M' && s->st_value && ELF64_ST_TYPE(s->st_info) == STT_FUNC && is_c_name(name))
                bound += bind_symbol(f, name, w->base + s->st_value);
        }
    }
    mt_image_close(f->mpi, f->mpi->symbols, f->mpi->symbols + count);
    return bound;
}

// Makes names of our first file that the MPI lacks invisible, and others visible.
static size_t hide_symbols(const files *f)
{
    const mt_image *w = f->wrappers[0];
    size_t first, end = mt_image_symbol_count(w, &first), hidden = 0;
    bool open = false;
    for (ElfW(Sym) *s = w->symbols + first; s < w->symbols + end; s++) {
        const char *name = mt_image_symbol_name(w, s);
        if ((*name != 'M' && *name != 'P') || !s->st_value || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !is_c_name(name))
            continue;
        unsigned is = ELF64_ST_BIND(s->st_info), want = mt_image_find_name(f->mpi, name) ? STB_GLOBAL : STB_LOCAL;
        if (is == want || (is == STB_WEAK && want == STB_GLOBAL))
            continue;
        if (!open && !mt_image_open(w, w->symbols, w->symbols + end))
            return 0;
        open = true;
        s->st_info = ELF64_ST_INFO(want, STT_FUNC); // the dynamic linker skips local symbols
        hidden += want == STB_LOCAL;
    }
    if (open)
        mt_image_close(w, w->symbols, w->symbols + end);
    return hidden;
}

// Returns what the slot of a relocation should hold.
typedef uintptr_t wanted(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is);

static uintptr_t wanted_wrapper(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is)
{
    (void)symbol;
    if (!mt_image_contains(f->mpi, is) || !is_c_name(name))
        return is;
    mt_hashed_name hashed = mt_image_hash(name);
    const ElfW(Sym) *s = mt_image_find(f->mpi, hashed);
    uintptr_t to = s && original(f->mpi, name) == is ? wrapper(f, hashed) : 0;
    return to && f->mpi->base + s->st_value == to ? to : is;
}

static uintptr_t wanted_null(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is)
{
    if (!mt_image_contains(f->wrappers[0], is) || symbol->st_shndx != SHN_UNDEF ||
        ELF64_ST_BIND(symbol->st_info) != STB_WEAK || !is_c_name(name))
        return is;
    return mt_image_find_name(f->wrappers[0], name) ? is : 0;
}

static void change_slots(const files *f, const mt_image *image, const ElfW(Rela) *r, size_t count, wanted *want)
{
    for (const ElfW(Rela) *end = r + count; r < end; r++) {
        unsigned type = ELF64_R_TYPE(r->r_info);
        if ((type != JUMP_SLOT && type != GLOB_DAT && type != ABSOLUTE) || r->r_addend)
            continue;
        uintptr_t *slot = (uintptr_t *)(image->base + r->r_offset), is = __atomic_load_n(slot, __ATOMIC_RELAXED);
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(r->r_info)];
        uintptr_t to = want(f, symbol, mt_image_symbol_name(image, symbol), is);
        if (to == is || (!f->loading && mt_image_protected(image, slot)) || !mt_image_open(image, slot, slot + 1))
            continue;
        __atomic_store_n(slot, to, __ATOMIC_RELEASE);
        mt_image_close(image, slot, slot + 1);
    }
}

static void change_all_slots(const files *f, wanted *want)
{
    for (size_t i = 0; i < f->count; i++) {
        const mt_image *image = &f->images[i];
        if (is_wrapper_file(f, image))
            continue;
        change_slots(f, image, image->relocations, image->relocation_count, want);
        change_slots(f, image, image->plt, image->plt_count, want);
    }
}

// When a process starts, files are bound to the names of our first file, which is preloaded. So
// only names of the second file can have led past us.
static bool may_have_led_past(const files *f)
{
    return f->wrappers[1] || seen.adds != seen.first_adds;
}

static void bind_files(const files *f)
{
    if (!f->mpi || !f->wrappers[0] || !f->wrappers[0]->has_thread_local) // without it: a copy that the dispatcher opened
        return;
    if (f->binder->hides && hide_symbols(f))
        change_all_slots(f, wanted_null);
    if (!f->served)
        return;
    strncpy(bound_file, f->mpi->file, sizeof bound_file - 1);
    if (bind_symbols(f) && may_have_led_past(f))
        change_all_slots(f, wanted_wrapper);
}

static int bind_under_lock(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    files *f = into;
    dl_iterate_phdr(count_file, &f->room);
    void *memory = mmap(NULL, f->room * sizeof *f->images, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    f->images = memory;
    dl_iterate_phdr(add_file, f);
    remember(info, f->room);
    bind_files(f);
    munmap(memory, f->room * sizeof *f->images);
    return 1; // once is enough
}

void mt_bind(const mt_binder *binder, bool loading)
{
    files f = {.binder = binder, .loading = loading};
    dl_iterate_phdr(bind_under_lock, &f);
}
