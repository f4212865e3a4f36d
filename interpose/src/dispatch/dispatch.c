// The dispatcher, libmpitrace.so: it is preloaded where the MPI of a program is not known before
// it runs (scripts, interpreters, LD_PRELOAD set by hand). It has an entry for each name that
// the library intercepts and every MPI has (entries.h). The first call of an entry finds the
// MPI that its caller sees, opens the library for that MPI, and stores the library's function
// in the entry's slot. The libraries lie in the dispatcher's directory: libmpitrace-NAME.so,
// where NAME is the path of the MPI's file, with % for /, or its soname.
//
// Only names that every MPI has can be intercepted: a program that tests for a function by a
// weak symbol must not find ours where its MPI has none.
//
// In a process without MPI nothing here runs, except for dlclose and a look at the files that are
// loaded. If an MPI is among them, the library is opened and calls that lead past the entries are
// bound to them or, if they are newer than the entries, to the library (bind/bind.h). There is no
// lock: threads that make the first call at the same time find the same.
//
// If a process calls a second MPI, also after it has unloaded the first, entries no longer store
// what they found: each call then looks up what its caller sees, which takes microseconds. The
// second MPI is not recorded.
#define _GNU_SOURCE
#include "base/dispatcher.h"
#include "base/stderr.h"
#include "bind/bind.h"
#include "bind/initialized.h"
#include "dispatch/entries.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The names of the MPIs' files in programs that need them (interpose.Families).
static const char *const sonames[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"};
enum { SONAMES = sizeof sonames / sizeof *sonames };

// A function that every MPI has, and no tool has a reason to wrap.
#define PROBE "PMPI_Get_library_version"

// The first MPI that was called, or that was bound before.
typedef struct found {
    const char *file;
    void *library; // handle of the library that records it, NULL if there is none
    bool called;
    bool local; // it was not in the global scope when it was bound
} found;

static _Atomic(const found *) first;
static atomic_bool by_caller;   // a second MPI was called
static atomic_bool passed_on;   // some slots have functions of an MPI, which may be unloaded
static _Atomic(int (*)(void *)) library_dlclose;

static void *next(const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);
    __asm__ volatile("" : "+r"(p)); // no tail call: dlsym has to be called from this file
    return p;
}

static void close_module(void *module)
{
    static _Atomic(int (*)(void *)) f;
    if (!module)
        return;
    if (!atomic_load(&f))
        atomic_store(&f, (int (*)(void *))(uintptr_t)next("dlclose"));
    atomic_load(&f)(module);
}

// The MPI may have been opened with RTLD_LOCAL. Then it is visible through the file that calls
// it, or, if that is code without a file, only by its own name.
static void *module(uint64_t caller)
{
    const char *file = mt_image_file_of((void *)(uintptr_t)caller);
    void *found = file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (found && dlsym(found, PROBE))
        return found;
    close_module(found);
    if (*mt_bound_file() && (found = dlopen(mt_bound_file(), RTLD_LAZY | RTLD_NOLOAD)))
        return found;
    for (int i = 0; i < SONAMES; i++)
        if ((found = dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD)))
            return found;
    return NULL;
}

static const mt_dispatcher dispatcher = {next, module};

// The same for an MPI that is not in the global scope: another MPI may be there, now or later. The
// library's functions are those of its own MPI, whoever calls them.
static void *next_but_mpi(const char *name)
{
    const char *stem = name + (*name == 'P' || *name == 'p' || *name == 'o'); // PMPI_x, pmpi_x_, ompi_x
    bool of_mpi = strncmp(stem, "MPI", 3) == 0 || strncmp(stem, "mpi_", 4) == 0;
    return of_mpi ? NULL : next(name);
}

static bool is_of(const found *f, const char *file)
{
    return f && file && strcmp(f->file, file) == 0;
}

// The caller's file also sees the MPI's functions in Fortran.
static void *module_of_first(uint64_t caller)
{
    const found *f = atomic_load(&first);
    const char *file = mt_image_file_of((void *)(uintptr_t)caller);
    void *found = file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (found && is_of(f, mt_image_file_of(dlsym(found, PROBE))))
        return found;
    close_module(found);
    return f ? dlopen(f->file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static const mt_dispatcher local_dispatcher = {next_but_mpi, module_of_first};

static void *visible(const char *name, uint64_t caller)
{
    void *p = next(name), *seen = p ? NULL : module(caller);
    if (seen)
        p = dlsym(seen, name);
    close_module(seen);
    return p;
}

// Returns what the caller would call without us: a function of its MPI, or of another tool. Where
// the MPI's name leads to our entry (bind/bind.h), this is its alias PMPI_x.
static void *without_us(const char *name, uint64_t caller)
{
    char alias[NAME_MAX];
    void *p = visible(name, caller);
    if (!p || mt_image_file_of(p) != mt_image_file_of(mt_slots))
        return p;
    snprintf(alias, sizeof alias, "%c%s", *name == 'm' ? 'p' : 'P', name);
    return visible(alias, caller);
}

static const char *soname_of(const struct link_map *map)
{
    const char *strings = NULL, *soname = NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            strings = (const char *)d->d_un.d_ptr;
    for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME)
            soname = strings + d->d_un.d_val;
    return soname;
}

// Opens the library with this name in our directory.
static void *open_named(const char *name)
{
    char path[PATH_MAX + NAME_MAX];
    const char *ours = mt_image_file_of(mt_slots), *end = ours ? strrchr(ours, '/') : NULL;
    if (!end || strlen(name) > NAME_MAX - sizeof "libmpitrace-.so")
        return NULL;
    snprintf(path, sizeof path, "%.*s/libmpitrace-%s.so", (int)(end - ours), ours, name);
    for (char *c = path + (end - ours) + 1; *c; c++)
        *c = *c == '/' ? '%' : *c;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// Reports whether another library of mpitrace is preloaded too. That library records.
static bool is_superfluous(void)
{
    void *program = dlopen(NULL, RTLD_LAZY); // RTLD_DEFAULT would find our own (-Bsymbolic)
    const char *file = program ? mt_image_file_of(dlsym(program, "mpitrace_begin_phase")) : NULL, *ours = mt_image_file_of(mt_slots);
    close_module(program);
    return next("mpitrace_begin_phase") || (file && ours && strcmp(file, ours) != 0);
}

// Leaves a note for readers of the run, as the library does (note_wrong_mpi): which program is
// missing from it, which MPI it uses, and why (wrong_mpi.h).
static void note_unrecorded(const char *mpi, const char *reason)
{
    const char *dir = getenv("MPITRACE_DIR");
    char program[PATH_MAX] = "", text[2 * PATH_MAX], path[PATH_MAX + 2 * NAME_MAX], host[NAME_MAX] = "node";
    struct timespec now = {0, 0};
    if (!dir || !*dir)
        return;
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    snprintf(text, sizeof text, "%s\n%s%s%s", program, mpi, *reason ? "\n" : "", reason);
    mkdir(dir, 0777);
    snprintf(path, sizeof path, "%s/recordings", dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/recordings/%s-%d-%lld%09ld.wrong-mpi", dir, host, (int)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    if (symlink(text, path) != 0) { /* there is no place for the note */ }
}

// Reports whether this is the name of one of Cray's builds of MPICH, such as libmpi_gnu_91.so.12.
static bool is_cray(const char *soname)
{
    static const char start[] = "libmpi_", end[] = ".so.12";
    size_t length = strlen(soname);
    return strncmp(soname, start, sizeof start - 1) == 0 && length > sizeof start + sizeof end - 2 &&
           strcmp(soname + length - (sizeof end - 1), end) == 0;
}

// Opens the library for the MPI that has the function `mpi`. Returns NULL if there is none.
static void *open_library(void *mpi)
{
    Dl_info info;
    struct link_map *map = NULL;
    char real[PATH_MAX];
    if (!dladdr1(mpi, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || is_superfluous())
        return NULL;
    const char *soname = soname_of(map);
    void *library = realpath(map->l_name, real) ? open_named(real) : NULL;
    if (!library && soname)
        library = open_named(is_cray(soname) ? "libmpi.so.12" : soname);
    return library;
}

// Reports that the program calls an MPI for which there is no library.
static void report_unrecorded(const char *file)
{
    const char *why = dlerror();
    if (is_superfluous())
        return;
    if (mt_stderr_unchanged())
        dprintf(2, "mpitrace: no library for %s: nothing is recorded (%s). Build it with `mpitrace build`, then call "
                "`mpitrace preload`\n", file, why ? why : "it has no name");
    note_unrecorded(file, "");
}

// Makes the library ready to record.
static void start_library(const found *f)
{
    void (*dispatched)(const mt_dispatcher *) = (void (*)(const mt_dispatcher *))(uintptr_t)dlsym(f->library, "mt_dispatched");
    if (dispatched)
        dispatched(f->local ? &local_dispatcher : &dispatcher);
    atomic_store(&library_dlclose, (int (*)(void *))(uintptr_t)dlsym(f->library, "dlclose"));
}

// Makes all entries look up where to jump to.
static void reset_slots(void)
{
    for (ptrdiff_t i = 0; i < mt_entry_name_at_end - mt_entry_name_at; i++)
        __atomic_store_n(&mt_slots[i], (void *)(uintptr_t)(mt_entries + i * MT_ENTRY_SIZE + MT_ENTRY_LOOK_UP), __ATOMIC_RELAXED);
}

static bool is_loaded(const char *file)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    close_module(handle);
    return handle != NULL;
}

// Called when the program uses a second MPI. The first is still recorded.
static void second_mpi(const found *was, const char *file)
{
    if (atomic_exchange(&by_caller, true))
        return;
    reset_slots();
    void *report = was->library ? dlsym(was->library, "mt_dispatched_other") : NULL;
    if (report)
        ((void (*)(const char *))(uintptr_t)report)(file);
    else
        note_unrecorded(file, "");
}

// Replaces `was` by an entry, unless another thread was faster. Returns the entry that is there
// afterwards.
static const found *set_first(const found *was, found entry)
{
    found *now = malloc(sizeof *now);
    char *copy = strdup(entry.file);
    if (now && copy) {
        *now = entry;
        now->file = copy;
        if (atomic_compare_exchange_strong(&first, &was, now)) {
            if (now->library)
                start_library(now);
            return now;
        }
    }
    free(copy); // another thread was first, or there is no memory
    free(now);
    return was;
}

// Returns the library for the MPI that has the function `mpi`, or NULL if that MPI is not
// recorded.
static void *library_for(void *mpi)
{
    const char *file = mt_image_file_of(mpi);
    const found *was = atomic_load(&first);
    bool called = was && was->called;
    if (!file)
        return NULL;
    if (called && is_of(was, file))
        return was->library;
    if (called && (atomic_load(&by_caller) || is_loaded(was->file))) {
        second_mpi(was, file);
        return NULL;
    }
    void *library = !called && is_of(was, file) ? was->library : NULL;
    if (!library && !(library = open_library(mpi)))
        report_unrecorded(file);
    if (called && library != was->library) { // one library records the process
        second_mpi(was, file);
        return NULL;
    }
    const found *now = set_first(was, (found){.file = file, .library = library, .called = true});
    return now && is_of(now, file) ? now->library : now ? library_for(mpi) : NULL;
}

static bool serves(const mt_image *mpi)
{
    const found *f = atomic_load(&first);
    return is_of(f, mpi->file) && f->library;
}

static pid_t process; // set by our constructor; a forked child inherits MPI

// Reports whether dlopen may be called. Files that do not depend on libc, such as valgrind's, may be
// initialized before it. dlopen would then initialize libc with an empty environment.
static bool libc_is_initialized(void)
{
    return environ || process;
}

// Binds the MPI that was called first or, before any was, the first for which there is a library.
static void bind(void)
{
    enum { MOST = 8 };
    void *mpis[MOST];
    int saved = errno;
    if (!libc_is_initialized() || !mt_bind_is_due())
        return;
    for (size_t i = 0, n = mt_bind_loaded_mpis(mpis, MOST); i < n; i++) {
        const found *was = atomic_load(&first);
        const char *file = mt_image_file_of(mpis[i]);
        if (!file || (was && (was->called || is_loaded(was->file))))
            continue;
        void *library = open_library(mpis[i]);
        bool local = mt_image_file_of(next(PROBE)) != file;
        if (library) // calls of a local one do not pass through the entries, so it counts as called
            set_first(was, (found){.file = file, .library = library, .called = local, .local = local});
        else
            dlerror(); // the first call reports it
    }
    const found *f = atomic_load(&first);
    mt_binder binder = {.serves = serves, .wrappers = {mt_slots, f && f->library ? dlsym(f->library, "mt_dispatched") : NULL},
                        .second_only = f && f->local};
    mt_bind(&binder, true);
    errno = saved;
}

// Called by the _init of each file that is loaded: see bind/bind.h.
MT_EXPORT void __gmon_start__(void)
{
    bind();
}

__attribute__((constructor)) static void start(void)
{
    process = getpid();
    bind();
}

// Does at the end of a process what lifecycle/unseen.c does, if no library was opened.
__attribute__((destructor)) static void end(void)
{
    static char file[MT_FILE_SIZE];
    const found *f = atomic_load(&first);
    if (process != getpid() || (f && f->library))
        return;
    if (mt_initialized_elsewhere(file) && !is_superfluous())
        note_unrecorded(file, "namespace");
    else if (mt_bind_saw_mpi() && !(f && f->called) && mt_initialized_mpi(file) && !is_superfluous())
        note_unrecorded(file, "");
}

// Reports whether the function may be the first that a program calls of an MPI. Its slot is
// never filled, so that a second MPI is noticed.
static bool opens_mpi(const char *name)
{
    name += *name == 'P' || *name == 'p';
    return strncasecmp(name, "mpi_init", 8) == 0 || strcmp(name, "MPI_T_init_thread") == 0;
}

static int missing_function(void)
{
    return -1;
}

// Returns NULL if no loaded file has the function. *recorded: it is one of the library's.
static void *find(const char *name, uint64_t caller, void *mpi, bool *recorded)
{
    const found *was = atomic_load(&first);
    void *library = mpi ? library_for(mpi) : was ? was->library : NULL;
    void *p = library ? dlsym(library, name) : NULL;
    *recorded = p;
    return p ? p : without_us(name, caller);
}

void *mt_dispatch_find(uint32_t entry, uint64_t caller)
{
    static atomic_bool reported;
    int saved = errno;
    const char *name = mt_entry_names + mt_entry_name_at[entry];
    bool recorded;
    void *p = find(name, caller, without_us(PROBE, caller), &recorded);
    if (!p) {
        if (strncmp(name, "mpitrace_", 9) != 0 && !atomic_exchange(&reported, true) && mt_stderr_unchanged())
            dprintf(2, "mpitrace: the program calls %s, but no loaded library has this function: the call does nothing\n", name);
        p = (void *)(uintptr_t)missing_function;
    } else if (!opens_mpi(name) && !atomic_load(&by_caller)) {
        __atomic_store_n(&mt_slots[entry], p, __ATOMIC_SEQ_CST);
        if (!recorded)
            atomic_store(&passed_on, true); // after the slot: dlclose resets the flag, then the slots
        if (atomic_load(&by_caller))
            reset_slots();
    }
    errno = saved;
    return p;
}

// Once the library is open it intercepts dlclose: see lifecycle/dlclose.c. Functions of an MPI
// are not kept beyond dlclose, which may unload it.
MT_EXPORT int dlclose(void *handle)
{
    int (*f)(void *) = atomic_load(&library_dlclose);
    if (!f)
        *(void **)&f = next("dlclose");
    int rc = f ? f(handle) : 0;
    if (atomic_load(&passed_on)) {
        atomic_store(&passed_on, false);
        reset_slots();
    }
    return rc;
}
