#define _GNU_SOURCE
#include "base/resolve.h"

#include "base/binding.h"
#include "base/job.h"
#include "base/loader.h"
#include "base/lock.h"
#include "base/wrong_mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Takes the place of a function that mpi.h declares but the library at run time lacks.
static int missing_function(void)
{
    return MPI_ERR_INTERN;
}

static void **table_entry(mt_pmpi_table *table, const mt_symbol *s)
{
    return (void **)((char *)table + s->offset);
}

static void resolve_functions(void *module)
{
    for (const mt_symbol *s = mt_symbols; s->name; s++) {
        void *p = mt_resolve_symbol(s->name, module);
        *table_entry(&mt_mpi, s) = p ? p : (void *)(uintptr_t)missing_function;
    }
    mt_pmpi = mt_mpi;
}

// Returns the name MPI_x of a function that we record, else NULL.
static const char *recorded_name(const mt_symbol *s)
{
    return s->wrapped && strncmp(s->name, "PMPI_T_", 7) != 0 ? s->name + 1 : NULL;
}

// Returns the address of a function in the MPI's own file: of MPI_Get_library_version, which no
// tool has a reason to wrap. (Some tools define PMPI_Init.)
static void *mpi_function(void)
{
    return *(void **)&mt_mpi.Get_library_version;
}

// Passes calls on to another tool that comes after us and also defines MPI_x. The tool
// is called as it would be without us, and calls PMPI_x. (A second mpitrace library
// does not count as another tool.)
static void resolve_tools(void)
{
    void *mpi = mpi_function(), *mpitrace = mt_loader_next("mpitrace_begin_phase");
    for (const mt_symbol *s = mt_symbols; s->name; s++) {
        const char *name = recorded_name(s);
        void *p = name ? mt_loader_next(name) : NULL;
        if (p && p != *table_entry(&mt_mpi, s) && !mt_loader_same_file(p, mpi) && !mt_loader_same_file(p, mpitrace) && !mt_loader_ours(p))
            *table_entry(&mt_pmpi, s) = p;
    }
}

static const char *file_of(void *p)
{
    Dl_info info;
    return dladdr(p, &info) && info.dli_fname ? info.dli_fname : "an unknown file";
}

// Reports whether an address is that of an import, or of no known symbol. If a program
// that is not position-independent takes the address of a function, the dynamic linker
// finds that function in the program, although the program only imports it.
static bool is_imported(void *p)
{
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    return !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || symbol->st_shndx == SHN_UNDEF;
}

// The file of another tool that comes before us, then each function that it intercepts,
// with a newline before each. The names of all MPI functions take 12 KiB.
static char intercepted[16384];

const char *mt_intercepted(void)
{
    return intercepted;
}

// Finds the functions that another tool intercepts before us. Their calls do not reach
// us, except for MPI_Finalize: see fortran.h.
static void find_intercepted(void)
{
    int n = 0;
    size_t length = 0;
    void *program = dlopen(NULL, RTLD_LAZY), *mpi = mpi_function();
    // may be another MPI's, which is no tool
    void *visible = program ? dlsym(program, "PMPI_Get_library_version") : NULL;
    for (const mt_symbol *s = mt_symbols; program && s->name; s++) {
        const char *name = recorded_name(s);
        void *p = name && strcmp(name, "MPI_Finalize") != 0 ? dlsym(program, name) : NULL;
        if (!p || mt_loader_ours(p) || mt_loader_same_file(p, mpi) || mt_loader_same_file(p, visible) || is_imported(p))
            continue;
        if (n++ == 0)
            length = (size_t)snprintf(intercepted, sizeof intercepted, "%.4000s", file_of(p));
        length += (size_t)snprintf(intercepted + length, sizeof intercepted - length, "\n%s", name);
        if (length >= sizeof intercepted)
            break;
    }
    mt_resolve_release(program);
    if (n && mt_job_rank_for_messages() <= 0)
        mt_log("%.*s comes before mpitrace's library and intercepts %d MPI function%s: calls of %s are not recorded. "
               "Load that library after mpitrace's to record them",
               (int)strcspn(intercepted, "\n"), intercepted, n, n == 1 ? "" : "s", n == 1 ? "it" : "these");
}

#ifdef OPEN_MPI
static bool resolve_constants(void *module)
{
    mt_const = (mt_constants){
        .comm_world = mt_resolve_variable("ompi_mpi_comm_world", module),
        .comm_self = mt_resolve_variable("ompi_mpi_comm_self", module),
        .comm_null = mt_resolve_variable("ompi_mpi_comm_null", module),
        .byte = mt_resolve_variable("ompi_mpi_byte", module),
        .datatype_null = mt_resolve_variable("ompi_mpi_datatype_null", module),
        .request_null = mt_resolve_variable("ompi_request_null", module),
        .message_null = mt_resolve_variable("ompi_message_null", module),
        .message_no_proc = mt_resolve_variable("ompi_message_no_proc", module),
        .win_null = mt_resolve_variable("ompi_mpi_win_null", module),
        .op_null = mt_resolve_variable("ompi_mpi_op_null", module),
        .op_no_op = mt_resolve_variable("ompi_mpi_op_no_op", module),
        .info_null = mt_resolve_variable("ompi_mpi_info_null", module),
        .type_f2c = (MPI_Datatype(*)(MPI_Fint))(uintptr_t)mt_resolve_symbol("PMPI_Type_f2c", module),
    };
    return mt_const.comm_world && mt_const.comm_null && mt_const.byte && mt_const.request_null;
}
#else
// Reports whether the MPI has the standard ABI. MPICH has it in a library of its own; from the
// other one the function returns the version -1.
static bool has_standard_abi(void *module)
{
    int major = -1, minor = -1;
    int (*version)(int *, int *) = (int (*)(int *, int *))(uintptr_t)mt_resolve_symbol("PMPI_Abi_get_version", module);
    return version && version(&major, &minor) == MPI_SUCCESS && major >= 0;
}

static bool resolve_constants(void *module)
{
    mt_const = (mt_constants){
        .comm_world = MPI_COMM_WORLD,
        .comm_self = MPI_COMM_SELF,
        .comm_null = MPI_COMM_NULL,
        .byte = MPI_BYTE,
        .datatype_null = MPI_DATATYPE_NULL,
        .request_null = MPI_REQUEST_NULL,
        .message_null = MPI_MESSAGE_NULL,
        .message_no_proc = MPI_MESSAGE_NO_PROC,
        .win_null = MPI_WIN_NULL,
        .op_null = MPI_OP_NULL,
        .op_no_op = MPI_NO_OP,
        .info_null = MPI_INFO_NULL,
    };
#ifdef MT_STANDARD_ABI
    return has_standard_abi(module);
#else
    return mt_resolve_symbol("ompi_mpi_comm_world", module) == NULL && !has_standard_abi(module);
#endif
}
#endif

static _Atomic int found_mpi; // 0: no MPI was found, 1: the MPI that we were built for, -1: another MPI
static _Atomic uint64_t mpi_address; // an address in the MPI

// Looks everything up without our own lock, because a thread that loads a library may
// hold the dynamic linker's lock when it calls us. Two threads may look things up at
// the same time; both find the same.
bool mt_resolve(uint64_t caller)
{
    int state = atomic_load_explicit(&found_mpi, memory_order_acquire), saved = errno;
    if (mt_likely(state))
        return state > 0;
    mt_binding_update();
    void *module = mt_loader_next("PMPI_Init") ? NULL : mt_resolve_module(caller);
    resolve_functions(module);
    state = resolve_constants(module) ? 1 : -1;
    resolve_tools();
    atomic_store(&mpi_address, (uint64_t)(uintptr_t)mt_resolve_symbol("PMPI_Init", module));
    mt_resolve_release(module);
    const char *mpi = file_of(mpi_function());
    mt_wrapper_start *starts = state < 0 ? mt_wrong_mpi_find_wrappers() : NULL;
    mt_lock(MT_LOCK_RESOLVE);
    bool first = !atomic_load(&found_mpi);
    if (first && state < 0)
        mt_wrong_mpi_pass_through(mpi, starts);
    else
        free(starts);
    atomic_store_explicit(&found_mpi, state, memory_order_release);
    mt_unlock(MT_LOCK_RESOLVE);
    if (first && state > 0)
        find_intercepted();
    errno = saved;
    return state > 0;
}

bool mt_resolve_found(void)
{
    return atomic_load_explicit(&found_mpi, memory_order_relaxed) != 0;
}

bool mt_resolve_unloaded(void)
{
    uint64_t address = atomic_load_explicit(&mpi_address, memory_order_relaxed);
    return mt_resolve_found() && address && !mt_loader_contains(address);
}

void mt_resolve_forget(void)
{
    mt_wrong_mpi_restore();
    atomic_store_explicit(&found_mpi, 0, memory_order_release);
}

bool mt_resolve_wrong(void)
{
    return atomic_load_explicit(&found_mpi, memory_order_relaxed) < 0;
}
