// A wrapper that was compiled for 32-bit integer handles cannot pass on pointers: C
// would truncate the arguments. A jump leaves all registers as they are. So the first
// instructions of each wrapper are replaced with a jump. This happens only in a process
// that was started with the wrong library, once for each MPI that it loads. (A test in
// every wrapper would cost time in every call of every program.)
#define _GNU_SOURCE
#include "base/wrong_mpi.h"

#include "base/dispatcher.h"
#include "base/hook.h"
#include "base/loader.h"
#include "base/symbol.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
// movabs $target, %rax; jmp *%rax
static const unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
enum { MT_TARGET = 2 };
#elif defined(__aarch64__)
// ldr x16, .+8; br x16; target
static const unsigned char jump[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0};
enum { MT_TARGET = 8 };
#else
static const unsigned char jump[] = {0};
enum { MT_TARGET = -1 };
#endif

typedef struct code {
    unsigned char bytes[sizeof jump];
} code;

// The original start of a wrapper.
struct mt_wrapper_start {
    unsigned char *at; // NULL: it is not replaced
    code was;
};

static mt_wrapper_start *replaced; // one for each entry of mt_symbols

static bool overwrite(unsigned char *at, const code *with)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)at & ~(page - 1);
    size_t size = (uintptr_t)at + sizeof jump - start;
    if (mprotect((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(at, with, sizeof jump);
    __builtin___clear_cache((char *)at, (char *)at + sizeof jump);
    mprotect((void *)start, size, PROT_READ | PROT_EXEC);
    return true;
}

static bool write_jump(unsigned char *at, void *target)
{
    code with;
    memcpy(&with, jump, sizeof jump);
    memcpy(with.bytes + MT_TARGET, &target, sizeof target);
    return overwrite(at, &with);
}

static size_t count_symbols(void)
{
    size_t n = 0;
    while (mt_symbols[n].name)
        n++;
    return n;
}

// Returns a handle on this library. (mt_resolve_module returns, under the dispatcher, a file
// that sees the MPI.)
static void *open_ours(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)open_ours, &info) || !info.dli_fname)
        return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

mt_wrapper_start *mt_wrong_mpi_find_wrappers(void)
{
    mt_wrapper_start *starts = calloc(count_symbols(), sizeof *starts);
    void *ours = open_ours();
    for (size_t i = 0; starts && ours && mt_symbols[i].name; i++) {
        void *at = mt_symbols[i].wrapped ? dlsym(ours, mt_symbols[i].name + 1) : NULL;
        starts[i].at = at && mt_loader_ours(at) ? at : NULL; // never code of the MPI
    }
    mt_resolve_release(ours);
    return starts;
}

// Replaces all wrappers. Returns false if that is not possible.
static bool replace(void)
{
    bool done = MT_TARGET >= 0 && replaced;
    for (size_t i = 0; done && mt_symbols[i].name; i++) {
        void *target = *(void **)((char *)&mt_pmpi + mt_symbols[i].offset);
        if (!target)
            replaced[i].at = NULL;
        if (!replaced[i].at)
            continue;
        memcpy(&replaced[i].was, replaced[i].at, sizeof replaced[i].was);
        done = write_jump(replaced[i].at, target);
    }
    return done;
}

void mt_wrong_mpi_pass_through(const char *mpi, mt_wrapper_start *starts)
{
    static bool reported;
    if (!reported) {
        mt_log("this library was built for another MPI (%s) than the one that the program uses (%s): nothing is "
               "recorded. Start the program with `mpitrace run`, or name its MPI with --mpi", mt_mpi_family(), mpi);
        MT_CALL_HOOK(wrong_mpi, mpi, "");
    }
    reported = true;
    replaced = starts;
    if (!replace())
        mt_log("the program may crash, because this library cannot be bypassed on this machine: start it without "
               "the library");
}

void mt_dispatched_other(const char *mpi)
{
    mt_log("the program uses two MPIs: %s is not recorded, because the calls of %s are", mpi, mt_mpi_family());
    MT_CALL_HOOK(wrong_mpi, mpi, "");
}

void mt_wrong_mpi_unseen(const char *mpi, const char *reason)
{
    mt_log("the program used %s, but no call reached this library: nothing is recorded", mpi);
    MT_CALL_HOOK(wrong_mpi, mpi, reason);
}

void mt_wrong_mpi_restore(void)
{
    for (size_t i = 0; replaced && mt_symbols[i].name; i++)
        if (replaced[i].at)
            overwrite(replaced[i].at, &replaced[i].was);
    free(replaced);
    replaced = NULL;
}
