/*
 * See gates.h. A gate preserves all argument registers and the stack, as the stubs of
 * preload/bind/plt_stubs.S do.
 *
 * A call goes straight to the real one if recording is stopped, and the thread is in no call that is
 * recorded: such a call is recorded whole, also if it began before the stop. Calls inside one that is
 * not recorded count as outermost ones: code that the first launch of a kernel loads is recorded.
 */
#include "preload/hooks/gates.h"

/* \skipped: */
#define GV_STOPPED_FOLLOW 0
#define GV_STOPPED_SKIP   1
#define GV_STOPPED_FORGET 2

    .hidden gv_process_own
    .hidden gv_thread
    .hidden gv_real_driver
    .hidden gv_real_runtime
    .text

    .macro GV_GATE gate, hook, real, index, skipped
    .globl \gate
    .hidden \gate
    .hidden \hook
#if defined(__x86_64__)
    .type \gate, @function
    .p2align 4
\gate:
    .cfi_startproc
    movq GV_GATE_CHANGES + gv_process_own(%rip), %r11
    testq %r11, %r11
    jz \hook
    testb $1, (%r11)
    jz \hook
    movq gv_thread@gottpoff(%rip), %r11
    cmpl $0, %fs:GV_GATE_DEPTH(%r11)
    jnz \hook
    .if \skipped == GV_STOPPED_FORGET
    movq $0, %fs:GV_GATE_CONTEXT(%r11)
    .endif
    jmpq *\real + 8 * (\index)(%rip)
#elif defined(__aarch64__)
    .type \gate, %function
    .p2align 4
\gate:
    .cfi_startproc
    adrp x16, gv_process_own
    ldr x16, [x16, :lo12:gv_process_own + GV_GATE_CHANGES]
    cbz x16, 1f
    ldr w16, [x16]
    tbz w16, #0, 1f
    adrp x17, :gottprel:gv_thread
    ldr x17, [x17, :gottprel_lo12:gv_thread]
    mrs x16, tpidr_el0
    add x16, x16, x17
    ldr w16, [x16, GV_GATE_DEPTH]
    cbnz w16, 1f
    .if \skipped == GV_STOPPED_FORGET
    mrs x16, tpidr_el0
    add x16, x16, x17
    str xzr, [x16, GV_GATE_CONTEXT]
    .endif
    adrp x16, \real + 8 * (\index)
    ldr x16, [x16, :lo12:\real + 8 * (\index)]
    br x16
1:  b \hook
#else
#error "gpuverify runs on x86-64 and aarch64"
#endif
    .cfi_endproc
    .size \gate, . - \gate
    .endm

    /* The call's index in gv_real_driver, or gv_real_runtime[0]. */
    .set gv_gate_index, 0

    .macro GV_DRIVER_GATE symbol, skipped
    .if \skipped
    GV_GATE gv_gate_\symbol, gv_hook_\symbol, gv_real_driver, gv_gate_index, \skipped
    .endif
    .set gv_gate_index, gv_gate_index + 1
    .endm

    .macro GV_RUNTIME_GATE symbol, skipped
    .if \skipped
    GV_GATE gv_gate0_\symbol, gv_hook0_\symbol, gv_real_runtime, 0*gv_runtime_calls+gv_gate_index, \skipped
    GV_GATE gv_gate1_\symbol, gv_hook1_\symbol, gv_real_runtime, 1*gv_runtime_calls+gv_gate_index, \skipped
    GV_GATE gv_gate2_\symbol, gv_hook2_\symbol, gv_real_runtime, 2*gv_runtime_calls+gv_gate_index, \skipped
    GV_GATE gv_gate3_\symbol, gv_hook3_\symbol, gv_real_runtime, 3*gv_runtime_calls+gv_gate_index, \skipped
    .endif
    .set gv_gate_index, gv_gate_index + 1
    .endm

#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags) .set gv_skipped_##name, GV_STOPPED_##stopped
#include "trace/call_kinds.def"

    .set gv_runtime_calls, 0
#define GV_API(symbol, kind, type, parameters, arguments, facts) .set gv_runtime_calls, gv_runtime_calls + 1;
#define GV_API_NO_DRIVER
#include "trace/calls.inc"
#undef GV_API_NO_DRIVER

#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_DRIVER_GATE symbol, gv_skipped_##kind;
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts) GV_DRIVER_GATE symbol, 0;
#define GV_API_NO_RUNTIME
#include "trace/calls.inc"
#undef GV_API_NO_RUNTIME

    .set gv_gate_index, 0
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_RUNTIME_GATE symbol, gv_skipped_##kind;
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts) GV_RUNTIME_GATE symbol, 0;
#define GV_API_NO_DRIVER
#include "trace/calls.inc"

    .section .note.GNU-stack, "", %progbits
