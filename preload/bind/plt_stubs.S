/*
 * Our exported symbol for every call of the table: a stub that jumps to the target in its slot. It
 * preserves all argument registers and the stack, so one shape serves every signature. The tail
 * jump keeps the program's return address, by which the callee is chosen among several libcudarts.
 * Slots are struct gv_plt_slot: target, low, bytes, lazy; plt_slots.h explains why `bytes` is read
 * twice, first and last.
 */

#if defined(__x86_64__)

    .macro GV_DRIVER_STUB symbol
    .section .text.gv_plt, "ax", @progbits
    .globl \symbol
    .type \symbol, @function
    .p2align 4
\symbol:
    endbr64
    jmpq *gv_slot_\symbol(%rip)
gv_lazy_\symbol:
    leaq gv_slot_\symbol(%rip), %r11
    jmp gv_plt_bind
    .size \symbol, . - \symbol
    .section .data.rel.gv_plt, "aw", @progbits
gv_slot_\symbol:
    .quad gv_lazy_\symbol, 0, 0, gv_lazy_\symbol
    .endm

    .macro GV_RUNTIME_STUB symbol
    .section .text.gv_plt, "ax", @progbits
    .globl \symbol
    .type \symbol, @function
    .p2align 4
\symbol:
    endbr64
    movq 16+gv_slot_\symbol(%rip), %r10
    movq (%rsp), %r11
    subq 8+gv_slot_\symbol(%rip), %r11
    cmpq %r10, %r11
    jae gv_lazy_\symbol
    movq gv_slot_\symbol(%rip), %r11
    cmpq 16+gv_slot_\symbol(%rip), %r10
    jne gv_lazy_\symbol
    jmpq *%r11
gv_lazy_\symbol:
    leaq gv_slot_\symbol(%rip), %r11
    jmp gv_plt_bind
    .size \symbol, . - \symbol
    .section .data.rel.gv_plt, "aw", @progbits
gv_slot_\symbol:
    .quad gv_lazy_\symbol, 0, 0, gv_lazy_\symbol
    .endm

    /* r11: the slot. Asks for the target, preserves all argument registers, and jumps there. */
    .text
    .type gv_plt_bind, @function
gv_plt_bind:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    andq $-16, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movq %r11, %rdi
    movq 8(%rbp), %rsi
    call gv_entry_points_bind
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movups 64(%rsp), %xmm0
    movups 80(%rsp), %xmm1
    movups 96(%rsp), %xmm2
    movups 112(%rsp), %xmm3
    movups 128(%rsp), %xmm4
    movups 144(%rsp), %xmm5
    movups 160(%rsp), %xmm6
    movups 176(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmpq *%r11
    .cfi_endproc
    .size gv_plt_bind, . - gv_plt_bind

#elif defined(__aarch64__)

    /* The loads acquire: later loads, and the target's, are not older. */
    .macro GV_DRIVER_STUB symbol
    .section .text.gv_plt, "ax", %progbits
    .globl \symbol
    .type \symbol, %function
    .p2align 4
\symbol:
    hint #34
    adrp x16, gv_slot_\symbol
    add x16, x16, :lo12:gv_slot_\symbol
    ldar x17, [x16]
    br x17
gv_lazy_\symbol:
    hint #36
    adrp x16, gv_slot_\symbol
    add x16, x16, :lo12:gv_slot_\symbol
    b gv_plt_bind
    .size \symbol, . - \symbol
    .section .data.rel.gv_plt, "aw", %progbits
    .p2align 3
gv_slot_\symbol:
    .xword gv_lazy_\symbol, 0, 0, gv_lazy_\symbol
    .endm

    .macro GV_RUNTIME_STUB symbol
    .section .text.gv_plt, "ax", %progbits
    .globl \symbol
    .type \symbol, %function
    .p2align 4
\symbol:
    hint #34
    adrp x16, gv_slot_\symbol
    add x16, x16, :lo12:gv_slot_\symbol
    add x15, x16, #16
    ldar x14, [x15]
    add x17, x16, #8
    ldar x17, [x17]
    sub x17, x30, x17
    cmp x17, x14
    b.hs gv_lazy_\symbol
    ldar x17, [x16]
    ldar x15, [x15]
    cmp x15, x14
    b.ne gv_lazy_\symbol
    br x17
gv_lazy_\symbol:
    hint #36
    adrp x16, gv_slot_\symbol
    add x16, x16, :lo12:gv_slot_\symbol
    b gv_plt_bind
    .size \symbol, . - \symbol
    .section .data.rel.gv_plt, "aw", %progbits
    .p2align 3
gv_slot_\symbol:
    .xword gv_lazy_\symbol, 0, 0, gv_lazy_\symbol
    .endm

    /* x16: the slot. Asks for the target, preserves all argument registers, and jumps there. */
    .text
    .type gv_plt_bind, %function
gv_plt_bind:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_adjust_cfa_offset 224
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov x0, x16
    mov x1, x30
    bl gv_entry_points_bind
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc
    .size gv_plt_bind, . - gv_plt_bind

#else
#error "gpuverify runs on x86-64 and aarch64"
#endif

    .hidden gv_plt_slots
    .hidden gv_entry_points_bind
    .globl gv_plt_slots
#if defined(__x86_64__)
    .section .data.rel.gv_plt, "aw", @progbits
#else
    .section .data.rel.gv_plt, "aw", %progbits
#endif
    .p2align 5
gv_plt_slots:

#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_DRIVER_STUB symbol;
#define GV_API_NO_RUNTIME
#include "trace/calls.inc"
#undef GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_RUNTIME_STUB symbol;
#define GV_API_NO_DRIVER
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_DRIVER_STUB symbol;
#define GV_API_NO_RUNTIME
#include "trace/calls.inc"

    .section .note.GNU-stack, "", %progbits
