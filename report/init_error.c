#include "report/init_error.h"

#include <stddef.h>

static const struct gv_init_error gv_init_errors[] = {
#define GV_INIT_ERROR(result, meaning, remedy) {result, meaning, remedy},
#include "report/init_errors.def"
};

const struct gv_init_error *gv_init_error_find(int64_t result)
{
    for (size_t i = 0; i < sizeof(gv_init_errors) / sizeof(gv_init_errors[0]); i++)
        if (gv_init_errors[i].result == result)
            return &gv_init_errors[i];
    return NULL;
}
