/*
 * Where calls enter that are not recorded while recording is stopped: gates.S has one before the
 * hook of each row whose kind is marked SKIP in trace/call_kinds.def. It jumps to the real call, or
 * to the hook; in C, it would copy all arguments that are on the stack.
 */
#ifndef GV_HOOKS_GATES_H
#define GV_HOOKS_GATES_H

/* Checked in calls.c. */
#define GV_GATE_CHANGES 24 /* in struct gv_process_own */
#define GV_GATE_CONTEXT 80 /* in struct gv_thread */
#define GV_GATE_DEPTH   88

#endif
