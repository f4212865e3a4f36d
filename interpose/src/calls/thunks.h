// The machine code of thunks_gen.c: functions with symbols of the MPI that pass on every
// register and every word of the stack unchanged. They cost about fifteen instructions.
// They cannot be written in C, which would have to know the arguments.
#ifndef MT_THUNKS_H
#define MT_THUNKS_H

// What the thunks jump to (mt_thunk_targets): for each name of a call the MPI's own function of each
// kind and, in Fortran, of each spelling that compilers use. Filled by mt_thunk_find_target.
enum { MT_PMPI_C, MT_PMPI_C_LARGE, MT_MPIF, MT_F08, MT_F08TS, MT_F08_LARGE, MT_F08TS_LARGE, MT_CPTR, MT_KINDS };
enum { MT_ONE_UNDERSCORE, MT_TWO_UNDERSCORES, MT_LOWER, MT_UPPER, MT_SPELLINGS };

// Names are numbered by the ids of their calls, so that a new call does not change the
// numbers of others. The second name of a call is one that some MPI uses for it.
enum { MT_NAMES_OF_A_CALL = 2 };

// The ranges of mt_calls that the thunks compare addresses with; each is a start and a size
// (fortran.c checks the offsets).
#define MT_THUNK_LAYER "mt_calls"
#define MT_THUNK_BINDINGS "mt_calls+16"

#define MT_TEXT(x) #x
#define MT_STRING(x) MT_TEXT(x)

#if defined(__x86_64__)
#define MT_FORTRAN 1

#define MT_THUNK_BEGIN(symbol)                                                                                         \
    ".pushsection .text\n.balign 16\n.globl " symbol "\n.type " symbol ", @function\n" symbol ":\n"                    \
    ".cfi_startproc\nendbr64\n"
#define MT_THUNK_END(symbol) ".cfi_endproc\n.size " symbol ", . - " symbol "\n.popsection\n"

// Jumps to the wrapper if this is the call that was noted.
#define MT_THUNK_IF_NOTED(name, id)                                                                                    \
    "movq mt_fortran_noted@gottpoff(%rip), %r11\n"                                                                     \
    "cmpw $" MT_STRING(id) ", %fs:8(%r11)\n"                                                                           \
    "je " #name "\n"

// PMPI_x, for the name MPI_x. Jumps to the wrapper if the Fortran layer calls, or if
// another file of bindings makes the call that was noted. The layer's own calls count too:
// it frees datatypes, and their handles have to be forgotten.
#define MT_THUNK_PMPI(name, index, id)                                                                                 \
    __asm__(MT_THUNK_BEGIN("P" #name)                                                                                  \
            "movq (%rsp), %r11\n"                                                                                      \
            "subq " MT_THUNK_LAYER "(%rip), %r11\n"                                                                    \
            "cmpq " MT_THUNK_LAYER "+8(%rip), %r11\n"                                                                  \
            "jb " #name "\n"                                                                                           \
            "movq (%rsp), %r11\n"                                                                                      \
            "subq " MT_THUNK_BINDINGS "(%rip), %r11\n"                                                                 \
            "cmpq " MT_THUNK_BINDINGS "+8(%rip), %r11\n"                                                               \
            "jae 1f\n"                                                                                                 \
            MT_THUNK_IF_NOTED(name, id)                                                                                \
            "1: movl $" MT_STRING(index) ", %r11d\n"                                                                   \
            "jmp mt_pass_on\n" MT_THUNK_END("P" #name))

// Does what MT_THUNK_PMPI does, for a function that the layers jump to: the program itself seems to
// call it.
#define MT_THUNK_PMPI_JUMPED(name, index, id)                                                                          \
    __asm__(MT_THUNK_BEGIN("P" #name)                                                                                  \
            MT_THUNK_IF_NOTED(name, id)                                                                                \
            "movl $" MT_STRING(index) ", %r11d\n"                                                                      \
            "jmp mt_pass_on\n" MT_THUNK_END("P" #name))

// A Fortran symbol: notes the call and passes it on.
#define MT_THUNK_FORTRAN(symbol, index, id)                                                                            \
    __asm__(MT_THUNK_BEGIN(symbol)                                                                                     \
            "movl $(" MT_STRING(index) " << 16 | " MT_STRING(id) "), %r11d\n"                                          \
            "jmp mt_note\n" MT_THUNK_END(symbol))

#define MT_THUNK_CODE                                                                                                  \
    __asm__(".pushsection .text\n.balign 64\n"                                                                         \
            "mt_note:\n.cfi_startproc\n"                                                                               \
            "movq mt_fortran_noted@gottpoff(%rip), %r10\n"                                                             \
            "cmpl $0, %fs:8(%r10)\n"                                                                                   \
            "jne 2f\n"                                                                                                 \
            "1: movl %r11d, %fs:8(%r10)\n"                                                                             \
            "movq (%rsp), %r11\n"                                                                                      \
            "movq %r11, %fs:(%r10)\n"                                                                                  \
            "movzwl %fs:10(%r10), %r11d\n"                                                                             \
            "mt_pass_on:\n"                                                                                            \
            "leaq mt_thunk_targets(%rip), %r10\n"                                                                      \
            "movq (%r10, %r11, 8), %r10\n"                                                                             \
            "testq %r10, %r10\n"                                                                                       \
            "je 3f\n"                                                                                                  \
            "jmp *%r10\n"                                                                                              \
            /* The slow paths call a function, and keep all registers that may hold arguments. */                      \
            "2: " MT_THUNK_SAVE "call mt_fortran_missed\n" MT_THUNK_RESTORE                                            \
            "movq mt_fortran_noted@gottpoff(%rip), %r10\n"                                                             \
            "jmp 1b\n"                                                                                                 \
            "3: " MT_THUNK_SAVE "movl %r11d, %edi\nmovq 200(%rsp), %rsi\ncall mt_thunk_find_target\nmovq %rax, %r10\n" \
            MT_THUNK_RESTORE                                                                                           \
            "jmp *%r10\n"                                                                                              \
            ".cfi_endproc\n.popsection\n")

// Saves 200 bytes of registers, which also aligns the stack.
#define MT_THUNK_SAVE                                                                                                  \
    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq %rax\npushq %r11\n"                   \
    "subq $136, %rsp\n.cfi_adjust_cfa_offset 200\n"                                                                    \
    "movups %xmm0, (%rsp)\nmovups %xmm1, 16(%rsp)\nmovups %xmm2, 32(%rsp)\nmovups %xmm3, 48(%rsp)\n"                   \
    "movups %xmm4, 64(%rsp)\nmovups %xmm5, 80(%rsp)\nmovups %xmm6, 96(%rsp)\nmovups %xmm7, 112(%rsp)\n"
#define MT_THUNK_RESTORE                                                                                               \
    "movups (%rsp), %xmm0\nmovups 16(%rsp), %xmm1\nmovups 32(%rsp), %xmm2\nmovups 48(%rsp), %xmm3\n"                   \
    "movups 64(%rsp), %xmm4\nmovups 80(%rsp), %xmm5\nmovups 96(%rsp), %xmm6\nmovups 112(%rsp), %xmm7\n"                \
    "addq $136, %rsp\n"                                                                                                \
    "popq %r11\npopq %rax\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n"                           \
    ".cfi_adjust_cfa_offset -200\n"

#elif defined(__aarch64__)
#define MT_FORTRAN 1

#define MT_THUNK_BEGIN(symbol)                                                                                         \
    ".pushsection .text\n.balign 16\n.globl " symbol "\n.type " symbol ", %function\n" symbol ":\n"                    \
    ".cfi_startproc\nhint #34\n"
#define MT_THUNK_END(symbol) ".cfi_endproc\n.size " symbol ", . - " symbol "\n.popsection\n"

#define MT_THUNK_IF_NOTED(name, id)                                                                                    \
    "mrs x17, tpidr_el0\n"                                                                                             \
    "adrp x16, :gottprel:mt_fortran_noted\n"                                                                           \
    "ldr x16, [x16, #:gottprel_lo12:mt_fortran_noted]\n"                                                               \
    "add x17, x17, x16\n"                                                                                              \
    "ldrh w17, [x17, #8]\n"                                                                                            \
    "cmp w17, #" MT_STRING(id) "\n"                                                                                    \
    "b.ne 2f\n"                                                                                                        \
    "1: b " #name "\n"

// Compares the address of the caller with a range.
#define MT_THUNK_IN(range)                                                                                             \
    "adrp x16, " range "\nadd x16, x16, :lo12:" range "\nldp x16, x17, [x16]\nsub x16, x30, x16\ncmp x16, x17\n"

#define MT_THUNK_PMPI(name, index, id)                                                                                 \
    __asm__(MT_THUNK_BEGIN("P" #name)                                                                                  \
            MT_THUNK_IN(MT_THUNK_LAYER) "b.lo 1f\n"                                                                    \
            MT_THUNK_IN(MT_THUNK_BINDINGS) "b.hs 2f\n"                                                                 \
            MT_THUNK_IF_NOTED(name, id)                                                                                \
            "2: mov w16, #" MT_STRING(index) "\n"                                                                      \
            "b mt_pass_on\n" MT_THUNK_END("P" #name))

#define MT_THUNK_PMPI_JUMPED(name, index, id)                                                                          \
    __asm__(MT_THUNK_BEGIN("P" #name)                                                                                  \
            MT_THUNK_IF_NOTED(name, id)                                                                                \
            "2: mov w16, #" MT_STRING(index) "\n"                                                                      \
            "b mt_pass_on\n" MT_THUNK_END("P" #name))

#define MT_THUNK_FORTRAN(symbol, index, id)                                                                            \
    __asm__(MT_THUNK_BEGIN(symbol)                                                                                     \
            "mov w16, #" MT_STRING(id) "\n"                                                                            \
            "movk w16, #" MT_STRING(index) ", lsl #16\n"                                                               \
            "b mt_note\n" MT_THUNK_END(symbol))

#define MT_THUNK_CODE                                                                                                  \
    __asm__(".pushsection .text\n.balign 64\n"                                                                         \
            "mt_note:\n.cfi_startproc\n"                                                                               \
            "1: mrs x17, tpidr_el0\n"                                                                                  \
            "adrp x9, :gottprel:mt_fortran_noted\n"                                                                    \
            "ldr x9, [x9, #:gottprel_lo12:mt_fortran_noted]\n"                                                         \
            "add x17, x17, x9\n"                                                                                       \
            "ldr w9, [x17, #8]\n"                                                                                      \
            "cbnz w9, 2f\n"                                                                                            \
            "str x30, [x17]\n"                                                                                         \
            "str w16, [x17, #8]\n"                                                                                     \
            "lsr w16, w16, #16\n"                                                                                      \
            "mt_pass_on:\n"                                                                                            \
            "adrp x17, mt_thunk_targets\nadd x17, x17, :lo12:mt_thunk_targets\n"                                       \
            "ldr x17, [x17, w16, uxtw #3]\n"                                                                           \
            "cbz x17, 3f\n"                                                                                            \
            "br x17\n"                                                                                                 \
            /* mt_fortran_missed clears the note, so that 1: goes on to note this call. */                             \
            "2: " MT_THUNK_SAVE "bl mt_fortran_missed\n" MT_THUNK_RESTORE "b 1b\n"                                     \
            "3: " MT_THUNK_SAVE "mov w0, w16\nmov x1, x30\nbl mt_thunk_find_target\nmov x17, x0\n" MT_THUNK_RESTORE    \
            "br x17\n"                                                                                                 \
            ".cfi_endproc\n.popsection\n")

// Saves eleven general registers and eight vector registers.
#define MT_THUNK_SAVE                                                                                                  \
    "stp x0, x1, [sp, #-224]!\n.cfi_adjust_cfa_offset 224\nstp x2, x3, [sp, #16]\nstp x4, x5, [sp, #32]\n"             \
    "stp x6, x7, [sp, #48]\nstp x8, x16, [sp, #64]\nstr x30, [sp, #80]\n.cfi_rel_offset x30, 80\n"                     \
    "stp q0, q1, [sp, #96]\nstp q2, q3, [sp, #128]\nstp q4, q5, [sp, #160]\nstp q6, q7, [sp, #192]\n"
#define MT_THUNK_RESTORE                                                                                               \
    "ldp q0, q1, [sp, #96]\nldp q2, q3, [sp, #128]\nldp q4, q5, [sp, #160]\nldp q6, q7, [sp, #192]\n"                  \
    "ldp x2, x3, [sp, #16]\nldp x4, x5, [sp, #32]\nldp x6, x7, [sp, #48]\nldp x8, x16, [sp, #64]\n"                    \
    "ldr x30, [sp, #80]\nldp x0, x1, [sp], #224\n.cfi_adjust_cfa_offset -224\n.cfi_restore x30\n"

#else
#define MT_FORTRAN 0
#endif

#endif
