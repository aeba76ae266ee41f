/*
 * The causes of stalls, and what can hold up which call: trace/call_kinds.def, found by a call's
 * name.
 */
#ifndef GV_ANALYSE_STALLS_RULES_H
#define GV_ANALYSE_STALLS_RULES_H

#include "trace/call_table.h"

#include <stdbool.h>
#include <stdint.h>

enum gv_cause {
#define GV_CAUSE(name, text, expected, waits, why) GV_CAUSE_##name,
#include "report/analyse/stalls/causes.def"
    GV_CAUSE_COUNT
};

/* What the row of a call's kind says. */
struct gv_stall_rule {
    enum gv_cause cause;
    enum gv_call_scope scope;
    uint32_t flags; /* enum gv_call_flag */
};

/* Never NULL: a call of an unknown class does its own work and waits for nothing. Any thread. */
const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name);

/* What a cause is called in the trace, and why, in one sentence without a full stop; whether what
 * the GPU still had to do can follow it. */
const char *gv_cause_name(enum gv_cause cause);
const char *gv_cause_why(enum gv_cause cause);
bool gv_cause_waits(enum gv_cause cause);
bool gv_cause_is_expected(enum gv_cause cause);
/* By its name, which may be NULL: nothing explains it. */
bool gv_cause_is_unknown(const char *name);
/* GV_CAUSE_COUNT: there is no such cause. */
enum gv_cause gv_cause_find(const char *name);

#endif
