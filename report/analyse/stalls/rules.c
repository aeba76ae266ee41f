#include "report/analyse/stalls/rules.h"

#include <string.h>

static const struct {
    const char *name, *why;
    bool expected, waits;
} gv_causes[] = {
#define GV_CAUSE(name, text, expected, waits, why) {text, why, expected, waits},
#include "report/analyse/stalls/causes.def"
};

/* The flags' short names, as call_kinds.def writes them. */
enum {
#define GV_CALL_FLAG(name, bit) name = GV_CALL_##name,
#include "trace/call_flags.def"
};

static const struct gv_stall_rule gv_stall_rules[GV_KIND_COUNT + 1] = {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, flags)                               \
    [GV_KIND_##name] = {GV_CAUSE_##cause, GV_SCOPE_##scope, (uint32_t)(flags)},
#include "trace/call_kinds.def"
    [GV_KIND_COUNT] = {GV_CAUSE_UNKNOWN, GV_SCOPE_NOTHING, GV_CALL_WORKS},
};

const char *gv_cause_name(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? gv_causes[cause].name : NULL;
}

const char *gv_cause_why(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? gv_causes[cause].why : NULL;
}

bool gv_cause_waits(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && gv_causes[cause].waits;
}

bool gv_cause_is_expected(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && gv_causes[cause].expected;
}

bool gv_cause_is_unknown(const char *name)
{
    return name && strcmp(name, gv_causes[GV_CAUSE_UNKNOWN].name) == 0;
}

enum gv_cause gv_cause_find(const char *name)
{
    for (unsigned int i = 0; i < GV_CAUSE_COUNT; i++)
        if (strcmp(gv_causes[i].name, name) == 0)
            return (enum gv_cause)i;
    return GV_CAUSE_COUNT;
}

const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name)
{
    return &gv_stall_rules[gv_call_kind_find(name, class_name)];
}
