/*
 * When the GPU side is recorded with GPUVERIFY_GPU=windows: for `window_ms` in each period of
 * `every_ms`, at a random time in it, so that nothing that the program repeats is in step with the
 * windows; when recording begins; and after a stall. Always, if `window_ms` is 0 or not less than
 * `every_ms`.
 *
 * Only the module's thread calls these, except for after_stall(). Times are of the session's clock.
 */
#ifndef GV_CUPTI_WINDOWS_H
#define GV_CUPTI_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* One begins. */
void gv_windows_prepare(uint64_t window_ms, uint64_t every_ms, uint64_t now_ns);

/* Recording begins, or goes on: a window begins. */
void gv_windows_begin(uint64_t now_ns);

/* Any thread: a call has lost time to a stall. A window of twice the usual length begins, so that
 * the next stall of its kind is measured: at most one in each period. False: not now. */
bool gv_windows_after_stall(uint64_t now_ns);

/* Whether a window is open. `*chosen_end_ns`: the end of one that has begun at its random time
 * since the last call; otherwise 0. */
bool gv_windows_are_open(uint64_t now_ns, uint64_t *chosen_end_ns);

/* For how long that stays so, unless there is a stall; UINT64_MAX: always. */
uint64_t gv_windows_lasts_ns(uint64_t now_ns);

#endif
