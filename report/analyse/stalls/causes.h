/* The causes of stalls: report/analyse/stalls/causes.def. */
#ifndef GV_ANALYSE_STALLS_CAUSES_H
#define GV_ANALYSE_STALLS_CAUSES_H

#include <stdbool.h>

enum gv_cause {
#define GV_CAUSE(name, ...) GV_CAUSE_##name,
#include "report/analyse/stalls/causes.def"
    GV_CAUSE_COUNT
};

/* The name in the trace; the reason, a sentence without a full stop; whether the remaining GPU
 * work can follow that sentence. */
const char *gv_cause_name(enum gv_cause cause);
const char *gv_cause_why(enum gv_cause cause);
bool gv_cause_waits(enum gv_cause cause);
/* Whether it waits for all work of the context, also where the program did not ask for that. */
bool gv_cause_drains(enum gv_cause cause);
bool gv_cause_is_expected(enum gv_cause cause);
/* Whether the name is that of UNKNOWN; NULL is not. */
bool gv_cause_is_unknown(const char *name);
/* GV_CAUSE_COUNT: there is no such cause. */
enum gv_cause gv_cause_find(const char *name);
/* The advice for a call of this name, which may be NULL; "": none. Words in braces are not
 * replaced yet. */
const char *gv_cause_advice(enum gv_cause cause, const char *call);
/* The same for a call that does not return. */
const char *gv_cause_advice_in_flight(enum gv_cause cause);

#endif
