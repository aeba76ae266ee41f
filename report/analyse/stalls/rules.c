#include "report/analyse/stalls/rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define GV_STALL_NAME_BYTES 96

/* The flags' short names, as blocking_calls.def writes them. */
enum {
    WORKS = GV_CALL_WORKS,
    LAZY = GV_CALL_LAZY,
    HELD = GV_CALL_HELD,
    HELD_ALLOC = GV_CALL_HELD_ALLOC,
    HOLDS = GV_CALL_HOLDS,
    SUBMITS = GV_CALL_SUBMITS,
    DRAINS = GV_CALL_DRAINS,
    DRAINS_IF_0 = GV_CALL_DRAINS_IF_0,
    OF_EVENT = GV_CALL_OF_EVENT,
    MARKS_EVENT = GV_CALL_MARKS_EVENT,
    BEGINS_CAPTURE = GV_CALL_BEGINS_CAPTURE,
    ENDS_CAPTURE = GV_CALL_ENDS_CAPTURE,
    AWAITS_EVENT = GV_CALL_AWAITS_EVENT,
};

#define GV_STALL_RULE(key, cause, scope, flags)                                                    \
    {key, GV_CAUSE_##cause, GV_SCOPE_##scope, (uint32_t)(flags)},

static const struct gv_stall_rule gv_stall_named[] = {
#define GV_CALLS_OF(key, cause, scope, flags)
#define GV_CALL_NAMED(key, cause, scope, flags) GV_STALL_RULE(key, cause, scope, flags)
#include "report/analyse/stalls/blocking_calls.def"
};

static const struct gv_stall_rule gv_stall_classes[] = {
#define GV_CALLS_OF(key, cause, scope, flags) GV_STALL_RULE(key, cause, scope, flags)
#define GV_CALL_NAMED(key, cause, scope, flags)
#include "report/analyse/stalls/blocking_calls.def"
};

static const struct gv_stall_rule gv_stall_harmless = {"", GV_CAUSE_UNKNOWN, GV_SCOPE_NOTHING,
                                                       GV_CALL_WORKS};

static bool gv_stall_cut(char *name, const char *suffix)
{
    size_t length = strlen(name), cut = strlen(suffix);

    if (length <= cut || strcmp(name + length - cut, suffix) != 0)
        return false;
    name[length - cut] = '\0';
    return true;
}

/* cuMemcpyHtoD_v2_ptds -> cuMemcpyHtoD */
static void gv_stall_plain_name(const char *name, char out[GV_STALL_NAME_BYTES])
{
    size_t length = strlen(name);

    if (length >= GV_STALL_NAME_BYTES)
        length = GV_STALL_NAME_BYTES - 1;
    memcpy(out, name, length);
    out[length] = '\0';
    if (!gv_stall_cut(out, "_ptsz"))
        gv_stall_cut(out, "_ptds");
    length = strlen(out);
    if (length > 3 && out[length - 3] == '_' && out[length - 2] == 'v' && out[length - 1] >= '0' &&
        out[length - 1] <= '9')
        out[length - 3] = '\0';
}

static const struct gv_stall_rule *gv_stall_rule_named(const char *name)
{
    for (size_t i = 0; i < sizeof(gv_stall_named) / sizeof(gv_stall_named[0]); i++)
        if (strcmp(gv_stall_named[i].name, name) == 0)
            return &gv_stall_named[i];
    return NULL;
}

static const struct gv_stall_rule *gv_stall_rule_of_class(const char *class_name, bool async)
{
    static const char suffix[] = "-async";
    const struct gv_stall_rule *plain = &gv_stall_harmless;
    size_t length = strlen(class_name);

    for (size_t i = 0; i < sizeof(gv_stall_classes) / sizeof(gv_stall_classes[0]); i++) {
        const char *name = gv_stall_classes[i].name;
        if (strncmp(name, class_name, length) != 0)
            continue;
        if (async && strcmp(name + length, suffix) == 0)
            return &gv_stall_classes[i];
        if (name[length] == '\0')
            plain = &gv_stall_classes[i];
    }
    return plain;
}

const struct gv_stall_rule *gv_stall_rule_find(const char *name, const char *class_name)
{
    char plain[GV_STALL_NAME_BYTES];
    const struct gv_stall_rule *rule;

    gv_stall_plain_name(name, plain);
    rule = gv_stall_rule_named(plain);
    if (!rule && strncmp(plain, "cuda", 4) == 0) {
        char driver[GV_STALL_NAME_BYTES] = "cu";
        strcpy(driver + 2, plain + 4);
        rule = gv_stall_rule_named(driver);
    }
    /* Batches and prefetches are asynchronous too, and say so in their names. */
    return rule ? rule : gv_stall_rule_of_class(class_name, strstr(plain, "Async") != NULL);
}
