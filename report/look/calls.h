/*
 * The CUDA call that a chain of addresses is in: the outermost exported function of one of the
 * libraries of libraries.def. One thread.
 */
#ifndef GV_LOOK_CALLS_H
#define GV_LOOK_CALLS_H

#include "report/look/outside.h"

struct gv_look_calls {
    uint32_t pid;
    struct gv_look_library *library;
    size_t count, room;
};

/* Whether the file is one of those libraries. */
bool gv_look_is_library(const char *path);
/* Whether a function is one that programs call: cuLaunchKernel, ncclAllReduce. */
bool gv_look_is_call(const char *function);

/* The function of one of the libraries at a return address; NULL: none that is exported. Valid
 * until it is freed. */
const char *gv_look_function(struct gv_look_calls *calls, const struct gv_outside_object *object,
                             uint64_t address);
void gv_look_calls_free(struct gv_look_calls *calls);

#endif
