#include "report/error_words.h"

#include <stddef.h>

static const struct gv_error_words gv_init_errors[] = {
#define GV_INIT_ERROR(result, meaning, remedy) {result, meaning, remedy},
#include "report/init_errors.def"
};

static const struct gv_error_words gv_launch_errors[] = {
#define GV_LAUNCH_ERROR(result, meaning, remedy) {result, meaning, remedy},
#include "report/launch_errors.def"
};

static const struct gv_error_words *gv_error_words_find(const struct gv_error_words *words,
                                                        size_t count, int64_t result)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].result == result)
            return &words[i];
    return NULL;
}

const struct gv_error_words *gv_error_words_of_init(int64_t result)
{
    return gv_error_words_find(gv_init_errors, sizeof(gv_init_errors) / sizeof(gv_init_errors[0]),
                               result);
}

const struct gv_error_words *gv_error_words_of_launch(int64_t result)
{
    return gv_error_words_find(gv_launch_errors,
                               sizeof(gv_launch_errors) / sizeof(gv_launch_errors[0]), result);
}
