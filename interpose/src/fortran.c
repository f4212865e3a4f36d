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
// The names of a call's functions, in the order in which they are tried.
static const char *const spellings[MT_KINDS][4] = {
    [MT_PMPI_C] = {"P%s"},
    [MT_PMPI_C_LARGE] = {"P%s_c"},
    [MT_MPIF] = {"%s_", "%s__", "%s", "%s"},
    [MT_F08] = {"%s_f08_", "%s_f08__", "%s_f08", "%s_F08"},
    [MT_F08TS] = {"%s_f08ts_", "%s_f08ts__", "%s_f08ts", "%s_F08TS"},
    [MT_F08_LARGE] = {"%s_f08_large_", "%s_f08_large__", "%s_f08_large", "%s_F08_LARGE"},
    [MT_F08TS_LARGE] = {"%s_f08ts_large_", "%s_f08ts_large__", "%s_f08ts_large", "%s_F08TS_LARGE"},
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

static int match(struct dl_phdr_info *info, size_t size, void *wanted)
{
    (void)size;
    uint64_t address = *(uint64_t *)wanted, start = UINT64_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        start = from < start ? from : start;
        end = from + p->p_memsz > end ? from + p->p_memsz : end;
    }
    if (address < start || address >= end)
        return 0;
    mt_watch_set(&mt_layer, start, end - start);
    return 1;
}

// The layer is the file that has mpi_init_: of several files of Fortran
// bindings it is the one that calls C, the others call it.
static void open_layer(void *module)
{
    const mt_next_name init = {"MPI_Init", "mpi_init", "MPI_INIT"};
    uint64_t address = (uint64_t)(uintptr_t)find_spelling(&init, MT_MPIF, module);
    if (address && dl_iterate_phdr(match, &address) && atomic_load(&mt_watched.size) == 0)
        mt_watch_set(&mt_watched, atomic_load(&mt_layer.start), atomic_load(&mt_layer.size));
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
    if (p && ours && kind > MT_PMPI_C_LARGE && atomic_load(&mt_layer.size) == 0)
        open_layer(module);
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
