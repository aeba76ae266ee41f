/* Formats numbers and untrusted text for people. */
#ifndef GV_SHOW_FORMAT_H
#define GV_SHOW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GV_FORMAT_BYTES 32u

/* Adds to a text in `size` bytes; what does not fit is cut off. */
void gv_format_add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "1.23 ms", "512 ns"; three significant digits. Returns `out`. */
const char *gv_format_duration(char out[GV_FORMAT_BYTES], int64_t ns);
/* "12 034" */
const char *gv_format_count(char out[GV_FORMAT_BYTES], int64_t count);
/* The ending of what there are `count` of: "s", but for one. */
static inline const char *gv_format_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
/* "4.0 KiB". */
const char *gv_format_size(char out[GV_FORMAT_BYTES], int64_t bytes);

/* The shortest text that reads back as the same number. */
const char *gv_format_real(char out[GV_FORMAT_BYTES], double real);

/* Copies a text. What does not fit is cut off between two characters, and "..." ends it. */
void gv_format_cut(char *out, size_t size, const char *text);

/* The bytes of a text's first `columns` characters. */
size_t gv_format_prefix(const char *text, size_t columns);

/* Whether a text ends in `end`, and is longer. */
bool gv_format_ends_in(const char *text, const char *end);

/* Writes untrusted text with visible control characters. A text longer than `width` columns is
 * cut and ends in "..."; a shorter one is padded with blanks if `pad`. NULL is "-". */
void gv_format_text(FILE *out, const char *text, int width, int pad);

/* The name of a result of this call ("cuda..." or "cu..."); NULL: unknown. */
const char *gv_format_result(const char *call, int64_t result);

#endif
