/* The environment variables that a trace holds: trace/environment.def. */
#ifndef GV_TRACE_ENVIRONMENT_H
#define GV_TRACE_ENVIRONMENT_H

enum gv_environment {
#define GV_ENVIRONMENT(name, ...) GV_ENVIRONMENT_##name,
#include "trace/environment.def"
    GV_ENVIRONMENT_COUNT
};

#endif
