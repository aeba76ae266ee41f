/* What a call can wait for, by its kind. Any thread. */
#ifndef GV_ANALYSE_STALLS_RULE_H
#define GV_ANALYSE_STALLS_RULE_H

#include "report/analyse/stalls/causes.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stdint.h>

/* What trace/call_kinds.def says of a call's kind. */
struct gv_stall_rule {
    enum gv_cause cause; /* what a wait for the GPU is called */
    enum gv_call_scope scope;
    uint32_t flags; /* enum gv_call_flag */
    enum gv_gpu_work work;
};

/* A kernel or a graph. */
static inline bool gv_stall_rule_launches(const struct gv_stall_rule *rule)
{
    return rule->work == GV_GPU_WORK_KERNEL || rule->work == GV_GPU_WORK_GRAPH;
}

/* Never NULL: calls of an unknown class work and never wait. */
const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name);

#endif
