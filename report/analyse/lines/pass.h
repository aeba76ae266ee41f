/*
 * The pass over all calls and operations that finds which lines asked for the GPU's time. It is a
 * part of the totals (report/analyse/totals), which read the operations in the order of time
 * anyway. docs/lines.md explains the estimate.
 *
 * Memory: GV_LINES_CALLS calls, the cells of strata.h, and about 100 bytes for each thread, and for
 * each stack and kernel that occur together. One thread.
 */
#ifndef GV_ANALYSE_LINES_PASS_H
#define GV_ANALYSE_LINES_PASS_H

#include "report/analyse/totals/part.h"
#include "report/pass/pass.h"

#include <sqlite3.h>
#include <stdint.h>

/* An operation that began at most so many calls after its own is found without a query. */
#define GV_LINES_CALLS (1u << 16)

struct gv_lines_operation {
    int64_t process, call;   /* 0: not known */
    int64_t kind, copy_kind; /* as in the table gpu_op */
    int64_t shape, name;     /* rows of gpu_shape and gpu_name */
    bool is_node;            /* of a graph, */
    uint32_t stack;          /* which the call with this stack added it to; 0: not known */
    uint8_t size;            /* gv_lines_size() of its bytes */
    int64_t start_ns, duration_ns;
    int64_t idle_ns; /* for how long the device had had no work */
};

/* Sizes that differ by less than half are alike. */
static inline uint8_t gv_lines_size(int64_t bytes)
{
    return bytes > 0 ? (uint8_t)(64 - __builtin_clzll((unsigned long long)bytes)) : 0;
}

struct gv_lines;

/* Of a part of a trace. 0 or -errno; call gv_lines_close() in any case. */
int gv_lines_open(struct gv_lines **lines, sqlite3 *trace, const struct gv_totals_part *part);
/* Any call (counts: it is one of the part), and the operations of the part, in the order of time.
 * gpu_ns, error_ns: what the call took on the GPU, if no operations say so; -1: not known. 0 or
 * -errno. */
int gv_lines_take_call(struct gv_lines *lines, const struct gv_pass_call *row, bool counts,
                       int64_t gpu_ns, double error_ns);
int gv_lines_take(struct gv_lines *lines, const struct gv_lines_operation *operation);
/* Estimates, and fills the empty tables gpu_stack and gpu_line. 0 or -errno. */
int gv_lines_store(struct gv_lines *lines);
void gv_lines_close(struct gv_lines *lines);

#endif
