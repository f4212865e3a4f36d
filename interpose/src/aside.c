// A wrapper that was compiled for handles that are 32-bit integers cannot pass
// on pointers: forwarding the arguments in C would cut them. A jump passes on
// every register as it is, so that is what the wrappers' first instructions
// become. It happens in a process that was started with the wrong library, once,
// and nowhere else. (A test in every wrapper would cost every call of everybody.)
#define _GNU_SOURCE
#include "aside.h"

#include "resolve.h"

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

static bool patch(unsigned char *code, void *target)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)code & ~(page - 1);
    size_t size = (uintptr_t)code + sizeof jump - start;
    if (mprotect((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(code, jump, sizeof jump);
    memcpy(code + MT_TARGET, &target, sizeof target);
    __builtin___clear_cache((char *)code, (char *)code + sizeof jump);
    mprotect((void *)start, size, PROT_READ | PROT_EXEC);
    return true;
}

void mt_step_aside(void)
{
    bool done = MT_TARGET >= 0;
    for (const mt_symbol *s = mt_symbols; s->name && done; s++) {
        void *target = *(void **)((char *)&mt_pmpi + s->offset);
        if (s->wrapper && target)
            done = patch(s->wrapper, target);
    }
    if (!done)
        mt_say("and it cannot step aside here: start the program without it");
}
