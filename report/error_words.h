/* Why CUDA cannot be initialised, and why a launch fails, in words. */
#ifndef GV_REPORT_ERROR_WORDS_H
#define GV_REPORT_ERROR_WORDS_H

#include <stdint.h>

struct gv_error_words {
    int64_t result;
    const char *meaning;
    const char *remedy;
};

/* NULL: there are no words for it. */
const struct gv_error_words *gv_error_words_of_init(int64_t result);
const struct gv_error_words *gv_error_words_of_launch(int64_t result);

#endif
