#include "report/analyse/stalls/rule.h"

/* The flags' short names, as call_kinds.def writes them. */
enum {
#define GV_CALL_FLAG(name, bit) name = GV_CALL_##name,
#include "trace/call_flags.def"
};

const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name)
{
    static const struct gv_stall_rule rules[GV_KIND_COUNT + 1] = {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags)                      \
    [GV_KIND_##name] = {GV_CAUSE_##cause, GV_SCOPE_##scope, (uint32_t)(flags), GV_GPU_WORK_##work},
#include "trace/call_kinds.def"
        [GV_KIND_COUNT] = {GV_CAUSE_UNKNOWN, GV_SCOPE_NOTHING, GV_CALL_WORKS, GV_GPU_WORK_NONE},
    };

    return &rules[gv_call_kind_find(name, class_name)];
}
