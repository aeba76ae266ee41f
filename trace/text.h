/*
 * Text that comes from programs and files: made valid before it is stored, made harmless before it
 * is printed.
 */
#ifndef GV_TRACE_TEXT_H
#define GV_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room that gv_text_repair() may need for a text of so many bytes. */
#define GV_TEXT_REPAIRED_BYTES(bytes) ((bytes)*3 + 1)

/* Copies `bytes` of a text, up to its first NUL, as valid UTF-8: every byte that is none becomes
 * U+FFFD. Returns the length without the NUL; cuts at a whole character when `size` is too small.
 */
size_t gv_text_repair(char *out, size_t size, const char *text, size_t bytes);

/* Writes a text so that no terminal obeys it: control characters, among them escape sequences and
 * line ends, characters that turn the direction of writing, and bytes that are no UTF-8 come out as
 * \n, \x1b, \u202e. Returns the length without the NUL; cuts at a whole character. */
size_t gv_text_escape(char *out, size_t size, const char *text);

#define GV_TEXT_NO_CHARACTER UINT32_MAX

/* Reads one character of the `bytes` at `start`, at least one; *length is what it takes, 1 when it
 * is invalid, GV_TEXT_NO_CHARACTER. */
uint32_t gv_text_decode(const char *start, size_t bytes, size_t *length);
/* Whether a terminal might obey a character: control characters, and those that are not seen. */
bool gv_text_is_harmful(uint32_t character);

/* Columns that a valid text takes, counting each character as one. */
size_t gv_text_width(const char *text);

#endif
