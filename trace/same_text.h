/*
 * Compares texts without libc. A sanitizer wraps libc's functions and looks up the real ones with
 * dlsym(), and so through us, before it is ready.
 */
#ifndef GV_TRACE_SAME_TEXT_H
#define GV_TRACE_SAME_TEXT_H

#include <stdbool.h>

static inline bool gv_same_text(const char *left, const char *right)
{
    while (*left && *left == *right) {
        left++;
        right++;
    }
    return *left == *right;
}

static inline bool gv_begins_with(const char *text, const char *start)
{
    while (*start && *text == *start) {
        text++;
        start++;
    }
    return !*start;
}

#endif
