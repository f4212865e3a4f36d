#define _GNU_SOURCE
#include "calls/fortran.h"

#include "base/loader.h"
#include "base/lock.h"
#include "base/resolve.h"
#include "record/record.h"
#include "record/stack.h"
#include "record/trace.h"
#include "objects/request.h"
#include "calls/direct.h"
#include "calls/thunks.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#if MT_FORTRAN
_Static_assert(offsetof(mt_calls_state, fortran_layer) == 0 && offsetof(mt_calls_state, fortran_bindings) == 16 &&
                   sizeof(mt_code_range) == 16,
               "the offsets in thunks.h");

enum { MT_THUNK_TARGETS = MT_NAMES_OF_A_CALL * MT_CALL_END * MT_KINDS * MT_SPELLINGS };
void *mt_thunk_targets[MT_THUNK_TARGETS];

// Functions that do not belong to an MPI: other libraries have functions with such names
// too, especially in C.
static bool is_foreign[MT_THUNK_TARGETS];

void mt_fortran_missed(void)
{
    mt_fortran_call noted = mt_fortran_noted;
    mt_fortran_noted.call = 0;
    uint32_t slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    if (!noted.call || is_foreign[noted.call >> 16] || (mt_flags() & (MT_FLAG_CLOSED | MT_FLAG_PAUSED)))
        return;
    int saved = errno;
    mt_thread *t = mt_self ? mt_self : MT_CALL_HOOK(thread_wanted, noted.site);
    if (t)
        mt_book_message(t,
                        mt_key_of(noted.site, slice, (uint16_t)noted.call, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0),
                        0, MT_EVENT_NO_TAG, 0);
    mt_count_lost(&mt_process.header->untimed_calls, 1);
    errno = saved;
}

// Writes the symbol that an index stands for, or its PMPI name, which tools use.
static void symbol_name(char symbol[static 128], uint32_t index, bool profiling)
{
    static const char *const suffixes[MT_KINDS] = {
        [MT_PMPI_C] = "", [MT_PMPI_C_LARGE] = "_c", [MT_MPIF] = "", [MT_F08] = "_f08", [MT_F08TS] = "_f08ts",
        [MT_F08_LARGE] = "_f08_large", [MT_F08TS_LARGE] = "_f08ts_large", [MT_CPTR] = "_cptr",
    };
    static const char *const underscores[MT_SPELLINGS] = {"_", "__", "", ""};
    unsigned kind = index / MT_SPELLINGS % MT_KINDS, spelling = index % MT_SPELLINGS;
    bool c = kind <= MT_PMPI_C_LARGE;
    const char *name = mt_thunk_names[index / (MT_SPELLINGS * MT_KINDS)];
    snprintf(symbol, 128, "%s%s%s%s", c || profiling ? "P" : "", name, suffixes[kind], c ? "" : underscores[spelling]);
    for (char *at = symbol; !c && *at; at++) // in ASCII, whatever the locale is
        if (spelling == MT_UPPER)
            *at -= *at >= 'a' && *at <= 'z' ? 'a' - 'A' : 0;
        else
            *at += *at >= 'A' && *at <= 'Z' ? 'a' - 'A' : 0;
}

// Looks a symbol up in the global scope, then in that of the caller's module. It may find our
// own, because bind/ has put that in the place of the MPI's.
static void *look_up(const char *symbol, uint64_t caller)
{
    void *p = mt_resolve_symbol(symbol, NULL), *module = p ? NULL : mt_resolve_module(caller);
    if (module)
        p = mt_resolve_symbol(symbol, module);
    mt_resolve_release(module);
    return p;
}

// The addresses of a loaded file.
typedef struct extent {
    uint64_t inside; // one address in it
    uint64_t start, end;
} extent;

static int visit_file(struct dl_phdr_info *info, size_t size, void *wanted)
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

static extent extent_of(void *symbol)
{
    extent e = {.inside = (uint64_t)(uintptr_t)symbol};
    if (symbol)
        dl_iterate_phdr(visit_file, &e);
    return e;
}

// Sets a range while other threads compare addresses with it. Meanwhile they find that no
// address lies in it, or too many do, but never miss one that was in the range before.
static void set_range(mt_code_range *w, uint64_t start, uint64_t size)
{
    if (atomic_load(&w->size) != 0)
        atomic_store(&w->size, UINT64_MAX);
    atomic_store(&w->start, start);
    atomic_store(&w->size, size);
}

static void widen_bindings(const extent *e)
{
    uint64_t start = atomic_load(&mt_calls.fortran_bindings.start), end = start + atomic_load(&mt_calls.fortran_bindings.size);
    if (e->end == 0 || (e->start >= start && e->end <= end))
        return;
    start = end && start < e->start ? start : e->start;
    end = end > e->end ? end : e->end;
    set_range(&mt_calls.fortran_bindings, start, end - start);
    mt_flag_set(MT_FLAG_SITES, true);
}

// Makes the wrappers look more closely at calls from the file of this binding
// (MT_FLAG_SITES). The layer is the file that has pmpi_init_: if there are several files
// of bindings, this one calls C, and most of the others call it.
static void open_bindings(void *binding, uint64_t caller)
{
    static const char *const inits[MT_SPELLINGS] = {"pmpi_init_", "pmpi_init__", "pmpi_init", "PMPI_INIT"};
    extent bindings = extent_of(binding), layer = {0, 0, 0};
    for (int i = 0; i < MT_SPELLINGS && !layer.end; i++)
        layer = extent_of(look_up(inits[i], caller));
    // Taken after the look-ups: a thread that loads a library may hold the dynamic linker's
    // lock, and call us.
    mt_lock(MT_LOCK_BINDINGS);
    if (layer.end && atomic_load(&mt_calls.fortran_layer.size) == 0)
        set_range(&mt_calls.fortran_layer, layer.start, layer.end - layer.start);
    widen_bindings(&layer);
    widen_bindings(&bindings);
    mt_unlock(MT_LOCK_BINDINGS);
}

// Our PMPI_Finalize: see the hook in fortran.h.
static int finalize_passed_on(void)
{
    return MT_CALL_HOOK(finalize_passed_on);
}

// Replaces a function that no library has. The program found our symbol, and could not see
// that there is no function behind it.
static int missing_function(void)
{
    return 0;
}

void *mt_thunk_find_target(uint32_t index, uint64_t caller)
{
    int saved = errno;
    char symbol[128], profiling[128];
    unsigned kind = index / MT_SPELLINGS % MT_KINDS;
    unsigned call = index / (MT_SPELLINGS * MT_KINDS * MT_NAMES_OF_A_CALL);
    symbol_name(symbol, index, false);
    symbol_name(profiling, index, true);
    // Open MPI's Fortran layer implements these calls without MPI's C functions, and a tool
    // may call them by their PMPI names. In both cases no wrapper in C sees the call.
    if (mt_call_callback(call))
        atomic_store_explicit(&mt_objects.callbacks, true, memory_order_relaxed);
    void *p = look_up(symbol, caller);
    if (mt_loader_ours(p))
        p = look_up(profiling, caller);
    // An MPI also has the PMPI form of each of these names.
    bool foreign = kind == MT_MPIF || kind == MT_CPTR ? !look_up(profiling, caller) : !p;
    if (foreign) {
        is_foreign[index] = true;
        mt_fortran_noted.call = 0;
    } else if (mt_resolve(caller)) {
        if (kind > MT_PMPI_C_LARGE)
            open_bindings(p, caller);
        else if (call != MT_CALL_FINALIZE)
            mt_direct_called(symbol, caller);
    }
    if (p && kind == MT_PMPI_C && call == MT_CALL_FINALIZE)
        p = (void *)(uintptr_t)finalize_passed_on;
    if (!p) {
        mt_log("the program calls %s, but no loaded library has this function: the call does nothing", symbol);
        p = (void *)(uintptr_t)missing_function;
    }
    __atomic_store_n(&mt_thunk_targets[index], p, __ATOMIC_RELAXED);
    errno = saved;
    return p;
}
void mt_fortran_forget(void)
{
    memset(mt_thunk_targets, 0, sizeof mt_thunk_targets);
    memset(is_foreign, 0, sizeof is_foreign);
    set_range(&mt_calls.fortran_layer, 0, 0);
    set_range(&mt_calls.fortran_bindings, 0, 0);
    mt_fortran_noted.call = 0;
}
#else
void mt_fortran_missed(void)
{
}

void mt_fortran_forget(void)
{
}
#endif

MT_REGISTER(thread_ends, mt_fortran_missed);
