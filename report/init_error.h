/* Why CUDA cannot be initialised, in words. */
#ifndef GV_REPORT_INIT_ERROR_H
#define GV_REPORT_INIT_ERROR_H

#include <stdint.h>

struct gv_init_error {
    int64_t result;
    const char *meaning;
    const char *remedy;
};

/* NULL: there are no words for it. */
const struct gv_init_error *gv_init_error_find(int64_t result);

#endif
