/*
 * What can hold up which call: report/analyse/stalls/blocking_calls.def, found by a call's name.
 */
#ifndef GV_ANALYSE_STALLS_RULES_H
#define GV_ANALYSE_STALLS_RULES_H

#include "report/analyse/stalls/cause.h"

#include <stdint.h>

enum gv_stall_scope {
    GV_SCOPE_NOTHING = 0,
    GV_SCOPE_STREAM,
    GV_SCOPE_CONTEXT,
};

enum gv_stall_flag {
    GV_CALL_WORKS = 1u << 0,
    GV_CALL_LAZY = 1u << 1,
    GV_CALL_HELD = 1u << 2,
    GV_CALL_HELD_ALLOC = 1u << 3,
    GV_CALL_HOLDS = 1u << 4,
    GV_CALL_SUBMITS = 1u << 5,
    GV_CALL_DRAINS = 1u << 6,
    GV_CALL_DRAINS_IF_0 = 1u << 7,
    GV_CALL_OF_EVENT = 1u << 8,
    GV_CALL_MARKS_EVENT = 1u << 9,
    GV_CALL_BEGINS_CAPTURE = 1u << 10,
    GV_CALL_ENDS_CAPTURE = 1u << 11,
    GV_CALL_AWAITS_EVENT = 1u << 12,
};

/* One row of blocking_calls.def. */
struct gv_stall_rule {
    const char *name;
    enum gv_cause cause;
    enum gv_stall_scope scope;
    uint32_t flags;
};

/* Never NULL: a call of an unknown class does its own work and waits for nothing. Any thread. */
const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name);

#endif
