#include "report/analyse/stalls/causes.h"

#include "trace/call_table.h"

#include <string.h>

#define GV_KIND_ANY GV_KIND_COUNT

static const struct {
    const char *name, *why, *advice_in_flight;
    struct {
        enum gv_call_kind kind;
        const char *text;
    } advice[4]; /* the last row is empty */
    bool expected;
    int waits;
} causes[] = {
#define GV_ADVICE(kind, text) {GV_KIND_##kind, text},
#define GV_CAUSE(name, text, expected, waits, proof, why, advice, advice_in_flight)                \
    {text, why, advice_in_flight, {advice}, expected, waits},
#include "report/analyse/stalls/causes.def"
};

const char *gv_cause_name(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].name : NULL;
}

const char *gv_cause_why(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].why : NULL;
}

bool gv_cause_waits(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && causes[cause].waits != 0;
}

bool gv_cause_drains(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && causes[cause].waits == 2;
}

bool gv_cause_is_expected(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT && causes[cause].expected;
}

bool gv_cause_is_unknown(const char *name)
{
    return name && strcmp(name, causes[GV_CAUSE_UNKNOWN].name) == 0;
}

enum gv_cause gv_cause_find(const char *name)
{
    for (unsigned int i = 0; i < GV_CAUSE_COUNT; i++)
        if (strcmp(causes[i].name, name) == 0)
            return (enum gv_cause)i;
    return GV_CAUSE_COUNT;
}

const char *gv_cause_advice(enum gv_cause cause, const char *call)
{
    enum gv_call_kind kind = gv_call_kind_find(call ? call : "", "");

    for (size_t i = 0; cause < GV_CAUSE_COUNT && causes[cause].advice[i].text; i++)
        if (causes[cause].advice[i].kind == GV_KIND_ANY || causes[cause].advice[i].kind == kind)
            return causes[cause].advice[i].text;
    return "";
}

const char *gv_cause_advice_in_flight(enum gv_cause cause)
{
    return cause < GV_CAUSE_COUNT ? causes[cause].advice_in_flight : "";
}
