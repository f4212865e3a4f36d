// The machine code behind thunks_gen.c: names of ours that pass on every
// register and every word of the stack as they were. They cost about fifteen
// instructions. C cannot say it: it would have to know the arguments.
#ifndef MT_THUNKS_H
#define MT_THUNKS_H

// What the thunks jump to: for each call the MPI's own function of each kind.
// Filled by mt_next_find.
enum { MT_PMPI_C, MT_PMPI_C_LARGE, MT_MPIF, MT_F08, MT_F08TS, MT_F08_LARGE, MT_F08TS_LARGE, MT_CPTR,
       MT_KINDS };

#define MT_TEXT(x) #x
#define MT_STRING(x) MT_TEXT(x)

#if defined(__x86_64__)
#define MT_FORTRAN 1

// PMPI_x, for the name MPI_x: the wrapper, if the Fortran layer is calling (what
// it does for itself has to be known too: it frees datatypes), or for the call
// that was noted.
#define MT_THUNK_PMPI(name, index, id)                                                                                 \
    __asm__(".pushsection .text\n.balign 16\n"                                                                         \
            ".globl P" #name "\n.type P" #name ", @function\n"                                                 \
            "P" #name ":\n.cfi_startproc\nendbr64\n"                                                               \
            "movq (%rsp), %r11\n"                                                                                      \
            "subq mt_layer(%rip), %r11\n"                                                                              \
            "cmpq mt_layer+8(%rip), %r11\n"                                                                            \
            "jb " #name "\n"                                                                                       \
            "movq mt_noted_call@gottpoff(%rip), %r11\n"                                                                \
            "cmpw $" MT_STRING(id) ", %fs:8(%r11)\n"                                                                   \
            "je " #name "\n"                                                                                       \
            "movl $" MT_STRING(index) ", %eax\n"                                                                       \
            "jmp mt_pass_on\n"                                                                                         \
            ".cfi_endproc\n.size P" #name ", . - P" #name "\n.popsection\n")

// A Fortran name: notes the call and passes it on.
#define MT_THUNK_LABEL(symbol) ".globl " symbol "\n.type " symbol ", @function\n" symbol ":\n"
#define MT_THUNK_BODY(labels, index, id)                                                                               \
    __asm__(".pushsection .text\n.balign 16\n" labels ".cfi_startproc\nendbr64\n"                                      \
            "movl $(" MT_STRING(index) " << 16 | " MT_STRING(id) "), %eax\n"                                           \
            "jmp mt_note\n.cfi_endproc\n.popsection\n")

#define MT_THUNK_CODE                                                                                                  \
    __asm__(".pushsection .text\n.balign 64\n"                                                                         \
            "mt_note:\n.cfi_startproc\n"                                                                               \
            "movq mt_noted_call@gottpoff(%rip), %r11\n"                                                                \
            "cmpl $0, %fs:8(%r11)\n"                                                                                   \
            "jne 2f\n"                                                                                                 \
            "1: movl %eax, %fs:8(%r11)\n"                                                                              \
            "movq (%rsp), %r10\n"                                                                                      \
            "movq %r10, %fs:(%r11)\n"                                                                                  \
            "shrl $16, %eax\n"                                                                                         \
            "mt_pass_on:\n"                                                                                            \
            "leaq mt_next(%rip), %r11\n"                                                                               \
            "movq (%r11, %rax, 8), %r11\n"                                                                             \
            "testq %r11, %r11\n"                                                                                       \
            "je 3f\n"                                                                                                  \
            "jmp *%r11\n"                                                                                              \
            /* The slow ways: a function is called, with the argument registers kept. */                               \
            "2: " MT_THUNK_SAVE "call mt_fortran_missed\n" MT_THUNK_RESTORE                                            \
            "movq mt_noted_call@gottpoff(%rip), %r11\n"                                                                \
            "jmp 1b\n"                                                                                                 \
            "3: " MT_THUNK_SAVE "movl %eax, %edi\nmovq 56(%rsp), %rsi\ncall mt_next_find\nmovq %rax, %r11\n"           \
            MT_THUNK_RESTORE                                                                                           \
            "jmp *%r11\n"                                                                                              \
            ".cfi_endproc\n.popsection\n")

// Seven words, which also aligns the stack.
#define MT_THUNK_SAVE                                                                                                  \
    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq %rax\n.cfi_adjust_cfa_offset 56\n"
#define MT_THUNK_RESTORE                                                                                               \
    "popq %rax\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n.cfi_adjust_cfa_offset -56\n"

#elif defined(__aarch64__)
#define MT_FORTRAN 1

#define MT_THUNK_PMPI(name, index, id)                                                                                 \
    __asm__(".pushsection .text\n.balign 16\n"                                                                         \
            ".globl P" #name "\n.type P" #name ", %function\n"                                                 \
            "P" #name ":\n.cfi_startproc\nhint #34\n"                                                              \
            "adrp x16, mt_layer\nadd x16, x16, :lo12:mt_layer\n"                                                       \
            "ldp x16, x17, [x16]\n"                                                                                    \
            "sub x16, x30, x16\n"                                                                                      \
            "cmp x16, x17\n"                                                                                           \
            "b.lo 1f\n"                                                                                                \
            "mrs x17, tpidr_el0\n"                                                                                     \
            "adrp x16, :gottprel:mt_noted_call\n"                                                                      \
            "ldr x16, [x16, #:gottprel_lo12:mt_noted_call]\n"                                                          \
            "add x17, x17, x16\n"                                                                                      \
            "ldrh w17, [x17, #8]\n"                                                                                    \
            "cmp w17, #" MT_STRING(id) "\n"                                                                            \
            "b.ne 2f\n"                                                                                                \
            "1: b " #name "\n"                                                                                     \
            "2: mov w16, #" MT_STRING(index) "\n"                                                                      \
            "b mt_pass_on\n"                                                                                           \
            ".cfi_endproc\n.size P" #name ", . - P" #name "\n.popsection\n")

#define MT_THUNK_LABEL(symbol) ".globl " symbol "\n.type " symbol ", %function\n" symbol ":\n"
#define MT_THUNK_BODY(labels, index, id)                                                                               \
    __asm__(".pushsection .text\n.balign 16\n" labels ".cfi_startproc\nhint #34\n"                                     \
            "mov w16, #" MT_STRING(id) "\n"                                                                            \
            "movk w16, #" MT_STRING(index) ", lsl #16\n"                                                               \
            "b mt_note\n.cfi_endproc\n.popsection\n")

#define MT_THUNK_CODE                                                                                                  \
    __asm__(".pushsection .text\n.balign 64\n"                                                                         \
            "mt_note:\n.cfi_startproc\n"                                                                               \
            "1: mrs x17, tpidr_el0\n"                                                                                  \
            "adrp x9, :gottprel:mt_noted_call\n"                                                                       \
            "ldr x9, [x9, #:gottprel_lo12:mt_noted_call]\n"                                                            \
            "add x17, x17, x9\n"                                                                                       \
            "ldr w9, [x17, #8]\n"                                                                                      \
            "cbnz w9, 2f\n"                                                                                            \
            "str x30, [x17]\n"                                                                                         \
            "str w16, [x17, #8]\n"                                                                                     \
            "lsr w16, w16, #16\n"                                                                                      \
            "mt_pass_on:\n"                                                                                            \
            "adrp x17, mt_next\nadd x17, x17, :lo12:mt_next\n"                                                         \
            "ldr x17, [x17, w16, uxtw #3]\n"                                                                           \
            "cbz x17, 3f\n"                                                                                            \
            "br x17\n"                                                                                                 \
            /* mt_fortran_missed leaves nothing noted, so that the first way is free. */                               \
            "2: " MT_THUNK_SAVE "bl mt_fortran_missed\n" MT_THUNK_RESTORE "b 1b\n"                                     \
            "3: " MT_THUNK_SAVE "mov w0, w16\nmov x1, x30\nbl mt_next_find\nmov x17, x0\n" MT_THUNK_RESTORE            \
            "br x17\n"                                                                                                 \
            ".cfi_endproc\n.popsection\n")

#define MT_THUNK_SAVE                                                                                                  \
    "stp x0, x1, [sp, #-96]!\n.cfi_adjust_cfa_offset 96\nstp x2, x3, [sp, #16]\nstp x4, x5, [sp, #32]\n"              \
    "stp x6, x7, [sp, #48]\nstp x8, x16, [sp, #64]\nstr x30, [sp, #80]\n.cfi_rel_offset x30, 80\n"
#define MT_THUNK_RESTORE                                                                                               \
    "ldp x2, x3, [sp, #16]\nldp x4, x5, [sp, #32]\nldp x6, x7, [sp, #48]\nldp x8, x16, [sp, #64]\n"                  \
    "ldr x30, [sp, #80]\nldp x0, x1, [sp], #96\n.cfi_adjust_cfa_offset -96\n.cfi_restore x30\n"

#else
#define MT_FORTRAN 0
#endif

// The four ways in which compilers spell an external name.
#define MT_THUNK_FORTRAN(lower, UPPER, index, id)                                                                      \
    MT_THUNK_BODY(MT_THUNK_LABEL(lower "_") MT_THUNK_LABEL(lower "__") MT_THUNK_LABEL(lower) MT_THUNK_LABEL(UPPER),    \
                  index, id)

#endif
