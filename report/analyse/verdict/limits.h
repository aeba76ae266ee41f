/* The numbers of verdict_limits.def: GV_VERDICT_LIMIT_<NAME>. */
#ifndef GV_ANALYSE_VERDICT_LIMITS_H
#define GV_ANALYSE_VERDICT_LIMITS_H

enum gv_verdict_limit {
#define GV_VERDICT_LIMIT(class, name, value, unit, before, after) GV_VERDICT_LIMIT_##name = (value),
#include "report/analyse/verdict/limits.def"
};

#endif
