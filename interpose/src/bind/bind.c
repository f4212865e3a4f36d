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
static bool saw_mpi;

bool mt_bind_saw_mpi(void)
{
    return saw_mpi;
}

const char *mt_bound_file(void)
{
    return bound_file;
}

// A function that every MPI has, and no tool has a reason to wrap, in C and in Fortran.
#define PROBE "MPI_Get_library_version"
#define FORTRAN_PROBE "mpi_get_library_version_"

static void classify(mt_image *image)
{
    if (!*image->file)
        return; // the program itself: it comes before us, and its own calls are bound already
    image->is_mpi = mt_image_find(image, mt_image_hash_alias(PROBE));
    image->is_fortran = !image->is_mpi && mt_image_find(image, mt_image_hash_alias(FORTRAN_PROBE));
}

// Reports whether the function of an MPI does not lead to the same place as its alias.
static bool is_bound(const mt_image *image, const char *name)
{
    const ElfW(Sym) *s = mt_image_find(image, mt_image_hash(name)), *alias = mt_image_find(image, mt_image_hash_alias(name));
    return s && alias && s->st_value != alias->st_value;
}

// --- looking for an MPI ---

typedef struct look {
    size_t known, files; // number of files that need not be looked at; number of files so far
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
    l->found = l->found || (image.is_mpi && !is_bound(&image, PROBE)) || (image.is_fortran && !is_bound(&image, FORTRAN_PROBE));
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
        m->functions[m->count++] = (void *)(image.base + mt_image_find(&image, mt_image_hash_alias(PROBE))->st_value);
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
    const mt_image *target;      // what is being bound: mpi, or a file with functions in Fortran for it
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

// Reports whether a name is that of an MPI function in C. Fortran names begin with mpi_, or have no
// small letters.
static bool is_c_name(const char *name)
{
    if (*name != 'M' || (strncmp(name, "MPI_", 4) != 0 && strncmp(name, "MPIX_", 5) != 0))
        return false;
    for (name += 4; *name; name++)
        if (*name >= 'a' && *name <= 'z')
            return true;
    return false;
}

static bool is_fortran_name(const char *name)
{
    return strncmp(name, "mpi_", 4) == 0 || (strncmp(name, "MPI_", 4) == 0 && !is_c_name(name));
}

// Returns our wrapper with this name, or 0.
static uintptr_t wrapper(const files *f, mt_hashed_name name)
{
    for (int i = f->binder->second_only; i < 2; i++) {
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

// --- binding ---

// ThreadSanitizer keeps the shadow of constant data read-only, and so must not see what is written
// into a symbol table.
#define UNSEEN_BY_TSAN __attribute__((no_sanitize("thread")))

// Makes the symbol MPI_x of the target lead to the wrapper, unless it does, or back. `s` and
// `alias` are the target's symbols MPI_x and PMPI_x.
UNSEEN_BY_TSAN static bool bind_symbol(const files *f, mt_hashed_name name, ElfW(Sym) *s, const ElfW(Sym) *alias, uintptr_t to)
{
    if (f->binder->undoes && f->target->base + s->st_value == to)
        __atomic_store_n(&s->st_value, alias->st_value, __ATOMIC_RELAXED);
    if (f->binder->undoes || ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_value != alias->st_value || is_defined_elsewhere(f, name))
        return false;
    __atomic_store_n(&s->st_value, to - f->target->base, __ATOMIC_RELAXED);
    return true;
}

// The dynamic linker skips local symbols.
static bool is_hidden(const ElfW(Sym) *s)
{
    return ELF64_ST_BIND(s->st_info) == STB_LOCAL;
}

// Makes a symbol of our first file invisible, or visible again.
UNSEEN_BY_TSAN static bool show_symbol(const files *f, ElfW(Sym) *s, bool visible)
{
    const mt_image *w = f->wrappers[0];
    if (!s || is_hidden(s) != visible || !mt_image_open(w, s, s + 1))
        return false;
    s->st_info = ELF64_ST_INFO(visible ? STB_GLOBAL : STB_LOCAL, ELF64_ST_TYPE(s->st_info));
    mt_image_close(w, s, s + 1);
    return true;
}

// What was changed.
typedef struct changes {
    bool bound, hidden;
} changes;

// Compares the wrappers in one of our files with the functions of the target.
static changes bind_wrappers(const files *f, const mt_image *w)
{
    changes c = {false, false};
    bool in_c = f->target == f->mpi;
    size_t first, end = mt_image_symbol_count(w, &first);
    bool shows = f->binder->hides && w == f->wrappers[0] && in_c;
    for (ElfW(Sym) *s = w->symbols + first; s < w->symbols + end; s++) {
        const char *name = mt_image_symbol_name(w, s);
        if (!s->st_value || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !(in_c ? is_c_name(name) : is_fortran_name(name)))
            continue;
        mt_hashed_name hashed = mt_image_hash(name), hashed_alias = mt_image_hash_alias(name);
        ElfW(Sym) *of_mpi = mt_image_find(f->target, hashed), *alias = mt_image_find(f->target, hashed_alias);
        if (shows && (!of_mpi || is_hidden(s))) {
            c.hidden |= show_symbol(f, s, of_mpi) && !of_mpi;
            c.hidden |= show_symbol(f, mt_image_find(w, hashed_alias), alias) && !alias;
        }
        if (f->served && of_mpi && alias)
            c.bound |= bind_symbol(f, hashed, of_mpi, alias, w->base + s->st_value);
    }
    return c;
}

// Returns what the slot of a relocation should hold.
typedef uintptr_t wanted(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is);

static uintptr_t wanted_wrapper(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is)
{
    (void)symbol;
    if (!is_c_name(name) && !is_fortran_name(name))
        return is;
    mt_hashed_name hashed = mt_image_hash(name);
    const ElfW(Sym) *s = mt_image_find(f->target, hashed), *alias = mt_image_find(f->target, mt_image_hash_alias(name));
    uintptr_t to = s && alias && f->target->base + alias->st_value == is ? wrapper(f, hashed) : 0;
    return to && f->target->base + s->st_value == to ? to : is;
}

// The MPI's Fortran functions call PMPI_x. These calls have to reach our PMPI_x: see
// calls/thunks.h. A slot that holds an address in the Fortran functions' own file is bound when it
// is first used.
static uintptr_t wanted_alias(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is)
{
    (void)symbol;
    if (*name != 'P' || !is_c_name(name + 1))
        return is;
    mt_hashed_name hashed = mt_image_hash(name);
    const ElfW(Sym) *s = mt_image_find(f->mpi, hashed);
    bool unbound = mt_image_contains(f->target, is);
    uintptr_t to = s && (unbound || f->mpi->base + s->st_value == is) ? wrapper(f, hashed) : 0;
    return to ? to : is;
}

static uintptr_t wanted_null(const files *f, const ElfW(Sym) *symbol, const char *name, uintptr_t is)
{
    bool weak = symbol->st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) == STB_WEAK && is_c_name(name + (*name == 'P'));
    const ElfW(Sym) *s = weak ? mt_image_find(f->wrappers[0], mt_image_hash(name)) : NULL;
    return s && is_hidden(s) ? 0 : is;
}

// Changes slots of the image that hold an address in the file `bound_to`.
UNSEEN_BY_TSAN static void change_slots(const files *f, const mt_image *image, const ElfW(Rela) *r, size_t count,
                                        const mt_image *bound_to, wanted *want)
{
    for (const ElfW(Rela) *end = r + count; r < end; r++) {
        unsigned type = ELF64_R_TYPE(r->r_info);
        if ((type != JUMP_SLOT && type != GLOB_DAT && type != ABSOLUTE) || r->r_addend)
            continue;
        uintptr_t *slot = (uintptr_t *)(image->base + r->r_offset), is = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (!mt_image_contains(bound_to, is))
            continue;
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(r->r_info)];
        uintptr_t to = want(f, symbol, mt_image_symbol_name(image, symbol), is);
        if (to == is || (!f->loading && mt_image_protected(image, slot)) || !mt_image_open(image, slot, slot + 1))
            continue;
        __atomic_store_n(slot, to, __ATOMIC_RELEASE);
        mt_image_close(image, slot, slot + 1);
    }
}

static void change_slots_of(const files *f, const mt_image *image, const mt_image *bound_to, wanted *want)
{
    change_slots(f, image, image->relocations, image->relocation_count, bound_to, want);
    change_slots(f, image, image->plt, image->plt_count, bound_to, want);
}

static void change_all_slots(const files *f, const mt_image *bound_to, wanted *want)
{
    for (size_t i = 0; i < f->count; i++)
        if (!is_wrapper_file(f, &f->images[i]))
            change_slots_of(f, &f->images[i], bound_to, want);
}

// When a process starts, files are bound to the names of our first file, which is preloaded. So
// only names of the second file can have led past us.
static bool may_have_led_past(const files *f)
{
    return f->wrappers[1] || seen.adds != seen.first_adds;
}

// Binds the functions of the target.
static void bind_target(files *f, const mt_image *target)
{
    size_t unused;
    ElfW(Sym) *symbols = target->symbols, *end = symbols + mt_image_symbol_count(target, &unused);
    f->target = target;
    if (f->served && !mt_image_open(target, symbols, end))
        return;
    changes c = {false, false};
    if (!f->binder->second_only)
        c = bind_wrappers(f, f->wrappers[0]);
    if (f->wrappers[1])
        c.bound |= bind_wrappers(f, f->wrappers[1]).bound;
    if (f->served)
        mt_image_close(target, symbols, end);
    if (c.hidden)
        change_all_slots(f, f->wrappers[0], wanted_null);
    if (c.bound && may_have_led_past(f))
        change_all_slots(f, target, wanted_wrapper);
    if (c.bound && may_have_led_past(f) && target->is_fortran) {
        change_slots_of(f, target, f->mpi, wanted_alias);
        change_slots_of(f, target, target, wanted_alias);
    }
}

static void bind_files(files *f)
{
    saw_mpi = saw_mpi || f->mpi;
    if (!f->mpi || !f->wrappers[0] || !f->wrappers[0]->has_thread_local) // without it: a copy that the dispatcher opened
        return;
    if (f->served)
        strncpy(bound_file, f->mpi->file, sizeof bound_file - 1);
    bind_target(f, f->mpi);
    for (size_t i = 0; i < f->count && f->served; i++)
        if (f->images[i].is_fortran && f->mpi->soname && mt_image_needs(&f->images[i], f->mpi->soname))
            bind_target(f, &f->images[i]);
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
