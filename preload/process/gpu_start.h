/*
 * The GPU side: the devices, and libgpuverify-cupti.so, which is opened when the process has
 * initialised CUDA and GPUVERIFY_GPU allows it. Without it only the calls are recorded, and the
 * spool's header says why.
 */
#ifndef GV_PROCESS_GPU_START_H
#define GV_PROCESS_GPU_START_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Once the driver is known: notes its version in the spool. */
void gv_gpu_note_driver(void);

/* Call it when cuInit() has succeeded on this thread. It works once in each process; further
 * calls only wait, as gv_gpu_await_start() does. */
void gv_gpu_start(struct gv_thread *thread);

/*
 * Before any call: waits while another thread starts the GPU side, so that no launch is missed, but
 * no longer than a start may take. Does not wait in the starting thread (a signal handler's call),
 * nor in one with the loader's lock, which the start needs.
 */
void gv_gpu_await_start(const struct gv_thread *thread);

/* The thread will not return to gv_gpu_start(), if it is in there: others stop waiting for it. */
void gv_gpu_leave_start(struct gv_thread *thread);

/* The program may copy between devices from now on: has CUPTI record such copies, once. True: this
 * call did it. */
bool gv_gpu_expect_peers(void);

/* The process ends: fetches what CUPTI still has, within `patience_ms`, and within a second. */
void gv_gpu_finish(int64_t patience_ms);

/* The same for a process that may survive; then call gv_gpu_go_on(). Also in a signal handler.
 * False: CUPTI did not answer in time. */
bool gv_gpu_fetch(int64_t patience_ms);
void gv_gpu_go_on(void);

#endif
