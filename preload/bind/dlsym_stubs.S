/*
 * Our dlsym() and dlvsym(), and the dlsym() that another library with one gets in place of libc's. For
 * every name except those of CUDA calls and dlsym itself, they tail-jump to the real ones. So the real
 * one sees the program's return address as the caller, and RTLD_NEXT, RTLD_DEFAULT and a library's own
 * scope keep their meaning.
 */

#if defined(__x86_64__)

    /* filter: gv_dlsym_filter(handle, name, version or 0, caller, is of another)
     * -> rax: address, rdx: answered */
    .macro GV_LOOKUP_STUB symbol, real, version, of_another
    .text
    .globl \symbol
    .type \symbol, @function
    .p2align 4
\symbol:
    .cfi_startproc
    endbr64
    testq %rsi, %rsi
    jz 2f
    cmpb $'c', (%rsi)
    jne 1f
    cmpb $'u', 1(%rsi)
    je 3f
    jmp 2f
1:  cmpb $'n', (%rsi)
    jne 5f
    cmpb $'c', 1(%rsi)
    je 3f
    jmp 2f
5:  cmpb $'d', (%rsi)
    jne 6f
    cmpb $'l', 1(%rsi)
    jne 2f
    cmpb $'s', 2(%rsi)
    je 3f
    jmp 2f
6:  cmpb $'_', (%rsi)
    jne 2f
    cmpb $'_', 1(%rsi)
    jne 2f
    cmpb $'c', 2(%rsi)
    je 3f
2:  movq \real(%rip), %r11
    testq %r11, %r11
    jz 4f
    jmpq *%r11
4:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call gv_dlsym_find_real
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmpq *\real(%rip)
3:  movq (%rsp), %rcx
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    .if \version == 0
    xorl %edx, %edx
    .endif
    movl $\of_another, %r8d
    call gv_dlsym_filter
    movq %rdx, %rcx
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rcx, %rcx
    jz 2b
    ret
    .cfi_endproc
    .size \symbol, . - \symbol
    .endm

#elif defined(__aarch64__)

    .macro GV_LOOKUP_STUB symbol, real, version, of_another
    .text
    .globl \symbol
    .type \symbol, %function
    .p2align 4
\symbol:
    .cfi_startproc
    hint #34
    cbz x1, 2f
    ldrb w9, [x1]
    cmp w9, #'c'
    b.ne 1f
    ldrb w9, [x1, #1]
    cmp w9, #'u'
    b.eq 3f
    b 2f
1:  cmp w9, #'n'
    b.ne 5f
    ldrb w9, [x1, #1]
    cmp w9, #'c'
    b.eq 3f
    b 2f
5:  cmp w9, #'d'
    b.ne 6f
    ldrb w9, [x1, #1]
    cmp w9, #'l'
    b.ne 2f
    ldrb w9, [x1, #2]
    cmp w9, #'s'
    b.eq 3f
    b 2f
6:  cmp w9, #'_'
    b.ne 2f
    ldrb w9, [x1, #1]
    cmp w9, #'_'
    b.ne 2f
    ldrb w9, [x1, #2]
    cmp w9, #'c'
    b.eq 3f
2:  adrp x16, \real
    ldr x16, [x16, :lo12:\real]
    cbz x16, 4f
    br x16
4:  stp x29, x30, [sp, #-48]!
    .cfi_adjust_cfa_offset 48
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    bl gv_dlsym_find_real
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_adjust_cfa_offset -48
    .cfi_restore x29
    .cfi_restore x30
    adrp x16, \real
    ldr x16, [x16, :lo12:\real]
    br x16
3:  stp x29, x30, [sp, #-48]!
    .cfi_adjust_cfa_offset 48
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    .if \version == 0
    mov x2, #0
    .endif
    mov x3, x30
    mov w4, #\of_another
    bl gv_dlsym_filter
    cbz x1, 7f
    ldp x29, x30, [sp], #48
    .cfi_remember_state
    .cfi_adjust_cfa_offset -48
    .cfi_restore x29
    .cfi_restore x30
    ret
7:  .cfi_restore_state
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_adjust_cfa_offset -48
    .cfi_restore x29
    .cfi_restore x30
    b 2b
    .cfi_endproc
    .size \symbol, . - \symbol
    .endm

#else
#error "gpuverify runs on x86-64 and aarch64"
#endif

    .hidden gv_dlsym_find_real
    .hidden gv_dlsym_filter
    .hidden gv_real_dlsym
    .hidden gv_real_dlvsym
    .hidden gv_libcs_dlsym
    .hidden gv_dlsym_of_another

    GV_LOOKUP_STUB dlsym, gv_real_dlsym, 0, 0
    GV_LOOKUP_STUB dlvsym, gv_real_dlvsym, 1, 0
    GV_LOOKUP_STUB gv_dlsym_of_another, gv_libcs_dlsym, 0, 1

    .section .note.GNU-stack, "", %progbits
