#define _GNU_SOURCE
#include "fortran.h"

#include "record.h"
#include "resolve.h"
#include "thunks.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

_Thread_local mt_noted mt_noted_call;
mt_watch mt_layer;

bool mt_fortran_take(unsigned call, uint64_t *site)
{
    mt_noted *noted = &mt_noted_call;
    if ((uint16_t)noted->call != call)
        return false;
    *site = noted->site;
    noted->call = 0;
    return true;
}

void mt_fortran_missed(void)
{
    mt_noted noted = mt_noted_call;
    mt_noted_call.call = 0;
    if (!mt_on() || atomic_load_explicit(&mt_slice, memory_order_relaxed) == MT_PAUSED)
        return;
    int saved = errno;
    mt_thread *t = mt_self ? mt_self : mt_enter_slow(noted.site);
    if (t)
        mt_book_untimed(t,
                        mt_key_of(noted.site, atomic_load_explicit(&mt_slice, memory_order_relaxed),
                                  (uint16_t)noted.call, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0),
                        0);
    mt_lost(&mt_header->untimed_calls, 1);
    errno = saved;
}

#if MT_FORTRAN
// The names of a call's functions, in the order in which they are tried; those
// after the kinds are what the layer calls itself.
enum { MT_LAYER = MT_KINDS };

static const char *const spellings[MT_KINDS + 1][4] = {
    [MT_PMPI_C] = {"P%s"},
    [MT_PMPI_C_LARGE] = {"P%s_c"},
    [MT_MPIF] = {"%s_", "%s__", "%s", "%s"},
    [MT_F08] = {"%s_f08_", "%s_f08__", "%s_f08", "%s_F08"},
    [MT_F08TS] = {"%s_f08ts_", "%s_f08ts__", "%s_f08ts", "%s_F08TS"},
    [MT_F08_LARGE] = {"%s_f08_large_", "%s_f08_large__", "%s_f08_large", "%s_F08_LARGE"},
    [MT_F08TS_LARGE] = {"%s_f08ts_large_", "%s_f08ts_large__", "%s_f08ts_large", "%s_F08TS_LARGE"},
    [MT_CPTR] = {"%s_cptr_", "%s_cptr__", "%s_cptr", "%s_CPTR"},
    [MT_LAYER] = {"p%s_", "p%s__", "p%s", "P%s"},
};

static void *find_spelling(const mt_next_name *name, unsigned kind, void *module)
{
    char symbol[128];
    for (int i = 0; i < 4 && spellings[kind][i]; i++) {
        const char *text = kind <= MT_PMPI_C_LARGE ? name->c : i == 3 ? name->upper : name->lower;
        snprintf(symbol, sizeof symbol, spellings[kind][i], text);
        void *p = mt_resolve_symbol(symbol, module);
        if (p)
            return p;
    }
    return NULL;
}

// The addresses of a file.
typedef struct extent {
    uint64_t inside; // an address of it
    uint64_t start, end;
} extent;

static int measure(struct dl_phdr_info *info, size_t size, void *wanted)
{
    (void)size;
    extent *e = wanted;
    uint64_t start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        start = from < start ? from : start;
        end = from + p->p_memsz > end ? from + p->p_memsz : end;
    }
    if (e->inside < start || e->inside >= end)
        return 0;
    e->start = start;
    e->end = end;
    return 1;
}

// Calls from a file of bindings are looked at more closely from now on, and so
// are those from whatever lies between two such files.
static bool watch(void *binding, extent *e)
{
    *e = (extent){.inside = (uint64_t)(uintptr_t)binding};
    if (!binding || !dl_iterate_phdr(measure, e))
        return false;
    uint64_t start = atomic_load(&mt_watched.start), size = atomic_load(&mt_watched.size), end = start + size;
    if (size == 0)
        mt_watch_set(&mt_watched, e->start, e->end - e->start);
    else if (e->start < start || e->end > end)
        mt_watch_set(&mt_watched, e->start < start ? e->start : start,
                     (e->end > end ? e->end : end) - (e->start < start ? e->start : start));
    return true;
}

// The layer is the file that has pmpi_init_ (mpi_init_ may be some tool's): of
// several files of bindings it is the one that calls C, most of the others call
// it. Those of mpi_f08 that do not are watched too.
static void open_layer(void *binding, void *module)
{
    const mt_next_name init = {"MPI_Init", "mpi_init", "MPI_INIT"};
    extent e;
    if (atomic_load(&mt_layer.size) == 0 && watch(find_spelling(&init, MT_LAYER, module), &e))
        mt_watch_set(&mt_layer, e.start, e.end - e.start);
    watch(binding, &e);
}

void *mt_next_find(uint32_t index, uint64_t caller)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int saved = errno;
    unsigned kind = index % MT_KINDS;
    bool ours = mt_resolve(caller);
    pthread_mutex_lock(&lock);
    void *module = mt_resolve_module(caller);
    void *p = find_spelling(&mt_next_names[index / MT_KINDS], kind, module);
    if (p && ours && kind > MT_PMPI_C_LARGE)
        open_layer(p, module);
    pthread_mutex_unlock(&lock);
    if (!p) { // the dynamic linker would not have let the program get here
        mt_say("%s cannot be found behind ours: the program cannot go on", mt_next_names[index / MT_KINDS].c);
        _exit(127);
    }
    __atomic_store_n(&mt_next[index], p, __ATOMIC_RELAXED);
    errno = saved;
    return p;
}
#endif
