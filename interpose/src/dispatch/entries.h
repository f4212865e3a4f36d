// The entries of the dispatcher, in assembly because they have to pass on all registers and
// the stack unchanged, whatever the arguments are. The list of names is in entries_gen.c.
//
// An entry jumps to the address in its slot. It costs one instruction (two on aarch64), and
// leaves the return address as it is: for the library, for debuggers and for call sites, the
// program has called the library. (A call from Fortran passes two entries, because the MPI's
// Fortran layer calls C.) At first a slot has the address of the rest of its entry, which looks
// up where to jump to (mt_dispatch_find). A slot is one word and is written at once, so it needs
// no lock.
#ifndef MT_ENTRIES_H
#define MT_ENTRIES_H

#include "calls/thunks.h"

#include <stdint.h>

extern __attribute__((visibility("hidden"))) const char mt_entries[];
extern __attribute__((visibility("hidden"))) void *mt_slots[];

// The names of the entries, and for each entry the offset of its name.
extern __attribute__((visibility("hidden"))) const char mt_entry_names[];
extern __attribute__((visibility("hidden"))) const uint32_t mt_entry_name_at[], mt_entry_name_at_end[];

// Returns the function that an entry jumps to. `caller` is the address that called the entry.
void *mt_dispatch_find(uint32_t entry, uint64_t caller);

enum { MT_ENTRY_SIZE = 32 }; // of each entry

#if defined(__x86_64__)
enum { MT_ENTRY_LOOK_UP = 6 }; // offset in an entry of the code that looks up where to jump to

#define MT_ENTRY_CODE(index)                                                                                           \
    "jmp *mt_slots+8*" #index "(%rip)\n"                                                                               \
    "1: movl $" #index ", %r11d\n"                                                                                     \
    "jmp mt_look_up\n"

#define MT_LOOK_UP_CODE                                                                                                \
    MT_THUNK_SAVE                                                                                                      \
    "movl %r11d, %edi\nmovq 200(%rsp), %rsi\ncall mt_dispatch_find\nmovq %rax, %r10\n"                                 \
    MT_THUNK_RESTORE                                                                                                   \
    "jmp *%r10\n"

#elif defined(__aarch64__)
enum { MT_ENTRY_LOOK_UP = 8 };

// The distance from an entry to its slot must be less than 1 MiB. The linker checks this.
#define MT_ENTRY_CODE(index)                                                                                           \
    "ldr x16, mt_slots+8*" #index "\nbr x16\n"                                                                         \
    "1: mov w16, #" #index "\n"                                                                                        \
    "b mt_look_up\n"

#define MT_LOOK_UP_CODE                                                                                                \
    MT_THUNK_SAVE                                                                                                      \
    "mov w0, w16\nmov x1, x30\nbl mt_dispatch_find\nmov x17, x0\n"                                                     \
    MT_THUNK_RESTORE                                                                                                   \
    "br x17\n"

#else
#error "the dispatcher is written for x86-64 and aarch64"
#endif

// The sections: code, slots, names, and offsets of names.
#define MT_IN(section, flags, text) ".pushsection " section ", \"" flags "\"\n" text ".popsection\n"
#define MT_IN_SLOTS(text) MT_IN(".data.mt_slots", "aw", text)
#define MT_IN_NAMES(text) MT_IN(".rodata.mt_names", "a", text)
#define MT_IN_NAME_AT(text) MT_IN(".rodata.mt_name_at", "a", text)
#define MT_START(name) ".hidden " name "\n.globl " name "\n" name ":\n"

#define MT_ENTRIES_BEGIN                                                                                               \
    __asm__(MT_IN_SLOTS(".balign 64\n" MT_START("mt_slots")) MT_IN_NAMES(MT_START("mt_entry_names"))                   \
            MT_IN_NAME_AT(".balign 4\n" MT_START("mt_entry_name_at"))                                                  \
            ".pushsection .text\nmt_look_up:\n.cfi_startproc\n" MT_LOOK_UP_CODE ".cfi_endproc\n"                       \
            ".balign 32\n.cfi_startproc\n" MT_START("mt_entries") ".popsection\n")

#define MT_ENTRY(symbol, index)                                                                                        \
    __asm__(".pushsection .text\n.balign 32\n.globl " symbol "\n.type " symbol ", %function\n" symbol ":\n"            \
            MT_ENTRY_CODE(index) ".size " symbol ", . - " symbol "\n.popsection\n"                                    \
            MT_IN_SLOTS(".quad 1b\n") MT_IN_NAMES("2: .asciz \"" symbol "\"\n")                                        \
            MT_IN_NAME_AT(".long 2b - mt_entry_names\n"))

#define MT_ENTRIES_END                                                                                                 \
    __asm__(".pushsection .text\n.cfi_endproc\n.popsection\n" MT_IN_NAME_AT(MT_START("mt_entry_name_at_end")))

#endif
