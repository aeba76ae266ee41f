/* The functions of gpuverify.h, which that header looks up by name. */
#include "preload/ranges/ranges.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void gv_range_push(const char *message);
EXPORT void gv_range_pop(void);
EXPORT void gv_mark(const char *message);

static bool are_wanted(void)
{
    return gv_process.settings.ranges == GV_RANGES_ON && gv_process_is_ours();
}

void gv_range_push(const char *message)
{
    const struct gv_range range = {.text = message};

    if (are_wanted())
        gv_ranges_push(&range);
}

void gv_range_pop(void)
{
    if (are_wanted())
        gv_ranges_pop(0);
}

void gv_mark(const char *message)
{
    const struct gv_range range = {.text = message};

    if (are_wanted())
        gv_ranges_mark(&range);
}
