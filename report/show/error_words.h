/* The meaning of a call's result, and what to do: report/show/error_words.def. */
#ifndef GV_SHOW_ERROR_WORDS_H
#define GV_SHOW_ERROR_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct gv_error_words {
    int64_t result;
    const char *class;
    const char *meaning;
    const char *remedy; /* may contain FILE, the trace, and PROGRAM */
};

/* For a call of that class, or "forked" for a forked process; otherwise for any. NULL: no words. */
const struct gv_error_words *gv_error_words_of(const char *class, int64_t result);

/* Whether the context is unusable after it. */
bool gv_error_words_is_fatal(int64_t result);

#endif
