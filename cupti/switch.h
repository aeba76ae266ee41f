/*
 * Switches CUPTI on for us, and leaves it as it would be without us.
 *
 * One thread at a time: the one that starts the module, then the module's own. CUPTI's callbacks
 * come on the program's threads.
 */
#ifndef GV_CUPTI_SWITCH_H
#define GV_CUPTI_SWITCH_H

#include "trace/gpu_module.h"

#include <cupti.h>
#include <stdbool.h>

/* Call it first. `hurry` is called, on any thread, when the module's thread should write soon. */
void gv_switch_prepare(const struct gv_gpu_host *host, void (*hurry)(void));

/*
 * Subscribes, and asks for callbacks and records; also after records_off() alone. If
 * another profiler has the subscription and we may do without (`or_less`), asks for records alone.
 * 0, or -errno with the reason in host->why and everything off again.
 */
int gv_switch_on(bool or_less, enum gv_recording *recording);

/* The program may copy between devices from now on. `now`: we are on. */
void gv_switch_records_peers(bool now);

/* Ends what on() began, in this order, except that buffers still come to us (buffers.h). Fetch
 * everything in between: after that, what CUPTI returns is another profiler's. A fetch that hangs
 * leaves the subscription to others. */
void gv_switch_records_off(void);
void gv_switch_off(void);

/* Any thread: struct gv_gpu_module's. */
void gv_switch_buffer_callbacks(void **give, void **take);

/* "WHAT failed with RESULT, ...: `then`", for the trace. */
void gv_switch_explain(char why[GV_SPOOL_WHY_BYTES], CUptiResult result, const char *what,
                       const char *then);

#endif
