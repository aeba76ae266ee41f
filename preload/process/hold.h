/*
 * Keeps the program's threads out of calls that put work on the GPU, for a moment: CUPTI crashes
 * now and then if its records are switched on or off while a launch is under way.
 *
 * For one thread at a time, which makes no calls itself.
 */
#ifndef GV_PROCESS_HOLD_H
#define GV_PROCESS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Other threads' calls wait until gv_process_let_calls_begin(), 0.1 s at most. False: a call that
 * puts work on the GPU did not end in time, and nobody waits. */
bool gv_hold_calls(uint64_t patience_ns);

#endif
