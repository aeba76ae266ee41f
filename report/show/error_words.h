/* What a result of a call means, and what to do, in words: report/show/error_words.def. */
#ifndef GV_SHOW_ERROR_WORDS_H
#define GV_SHOW_ERROR_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct gv_error_words {
    int64_t result;
    const char *class;
    const char *meaning;
    const char *remedy; /* may name FILE, the trace, and PROGRAM */
};

/* Of calls of that class, or "forked", in a forked process; else of any. NULL: there are no words
 * for it. */
const struct gv_error_words *gv_error_words_of(const char *class, int64_t result);

/* Whether a context is of no more use after it. */
bool gv_error_words_is_fatal(int64_t result);

#endif
