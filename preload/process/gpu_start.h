/*
 * The GPU's side of the trace: what devices there are, and libgpuverify-cupti.so, which is opened
 * when the process has initialised CUDA and GPUVERIFY_GPU allows it. Where it cannot be had, the
 * calls are recorded alone, and the spool's header says why.
 */
#ifndef GV_PROCESS_GPU_START_H
#define GV_PROCESS_GPU_START_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Once the driver is known: notes its version in the spool. */
void gv_gpu_note_driver(void);

/* cuInit() has succeeded on this thread. Once in each process; further calls only wait for it, as
 * gv_gpu_await_start() does. */
void gv_gpu_start(struct gv_thread *thread);

/*
 * Before any call: waits while another thread starts the GPU's side, so that no launch goes by
 * unseen, and no longer than a start may take. Not in the thread that starts it (a signal handler's
 * call), nor in one that holds the loader's lock, which the start needs.
 */
void gv_gpu_await_start(const struct gv_thread *thread);

/* The thread will not come back to gv_gpu_start(), if it is in there: others wait for it no more.
 */
void gv_gpu_leave_start(struct gv_thread *thread);

/* The process ends: what CUPTI still has comes into the spool, within `patience_ms`, or a second if
 * that is less. */
void gv_gpu_finish(int64_t patience_ms);

/* The same, while it may not end after all; then gv_gpu_go_on(). Also in a signal handler. false:
 * CUPTI did not answer in time. */
bool gv_gpu_fetch(int64_t patience_ms);
void gv_gpu_go_on(void);

#endif
