/*
 * How long a thread was ready to run inside a call, and did not, at least: from what the kernel
 * said of it at other times (trace/schedstat.h). Never more than it was, often less. All times of
 * one clock, in nanoseconds; they may be anything.
 */
#ifndef GV_COLLECT_CALL_DELAY_H
#define GV_COLLECT_CALL_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* Read between two times, by the thread itself: it was running. */
struct gv_delay_reading {
    uint64_t after_ns, before_ns;
    uint64_t delay_ns; /* since the thread began */
};

/*
 * The call was [start_ns, end_ns]; `end` was read behind it. `earlier`: read before it, or NULL.
 * `inside_ns`: what was read by another process while the thread was in the call, or UINT64_MAX.
 * Time between two readings that is not the call's counts as waiting. So the result is never too
 * large.
 */
uint64_t gv_call_delay_least(uint64_t start_ns, uint64_t end_ns, const struct gv_delay_reading *end,
                             const struct gv_delay_reading *earlier, uint64_t inside_ns);

/* What the kernel says of a thread of another process. False: nothing. */
bool gv_call_delay_read(uint32_t pid, uint32_t tid, uint64_t *delay_ns);

#endif
