/*
 * The CUDA call that a chain of addresses is in: the outermost exported function of one of the
 * libraries of CUDA. One thread.
 */
#ifndef GV_LOOK_CALLS_H
#define GV_LOOK_CALLS_H

#include "report/look/symbols.h"

#define GV_LOOK_LIBRARIES 32u /* more than these are not looked into */

struct gv_look_calls {
    uint32_t pid;
    size_t count;
    struct gv_look_library {
        uint64_t base, high;
        struct gv_symbols symbols;
    } library[GV_LOOK_LIBRARIES];
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
