/* The causes of stalls: report/analyse/stalls/causes.def. */
#ifndef GV_ANALYSE_STALLS_CAUSE_H
#define GV_ANALYSE_STALLS_CAUSE_H

#include <stdbool.h>

enum gv_cause {
#define GV_CAUSE(name, ...) GV_CAUSE_##name,
#include "report/analyse/stalls/causes.def"
    GV_CAUSE_COUNT
};

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
/* What to do about it: for a call of this name, which may be NULL; "": nothing. The words in braces
 * are still to be replaced. */
const char *gv_cause_advice(enum gv_cause cause, const char *call);
/* The same for a call that does not return. */
const char *gv_cause_advice_in_flight(enum gv_cause cause);

#endif
