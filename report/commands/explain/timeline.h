/*
 * A picture in letters of what threads and streams did around one call:
 *
 *              4.210 s                              5.063 s
 *   thread 1   ----|======= cudaLaunchKernel =======|-.....
 *   stream 7   ##################### gemm ###########......
 *
 * '=' and '#': busy for at least half of the column's time, '-': for some of it, '.': not at all;
 * '|': where the call began and ended.
 */
#ifndef GV_COMMANDS_EXPLAIN_TIMELINE_H
#define GV_COMMANDS_EXPLAIN_TIMELINE_H

#include "report/commands/explain/explain.h"

struct gv_timeline_focus {
    int64_t process;
    int64_t thread;       /* in the call */
    int64_t other_thread; /* whose call stood in the way; 0: none */
    int64_t call;         /* 0: it has not returned */
    bool idle;            /* it is about an idle time, after which the thread gave the GPU work */
    int64_t start_ns;
    int64_t end_ns;
};

/* Nothing in JSON. 0 or -errno. */
int gv_timeline_print(sqlite3 *trace, const struct gv_timeline_focus *focus,
                      const struct gv_explain_out *to);

#endif
