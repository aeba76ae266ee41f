/*
 * Text from programs and files: made valid before it is stored, and harmless before it is printed.
 */
#ifndef GV_TRACE_TEXT_H
#define GV_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Room that gv_text_repair() may need for a text of this many bytes. */
#define GV_TEXT_REPAIRED_BYTES(bytes) ((bytes)*3 + 1)

/* Copies `bytes` of a text, up to its first NUL, as valid UTF-8. Each invalid byte becomes
 * U+FFFD. Returns the length without the NUL. Cuts at a whole character if `size` is too small. */
size_t gv_text_repair(char *out, size_t size, const char *text, size_t bytes);

/* Escapes a text for a terminal: control characters (escape sequences, line ends), characters
 * that change the direction of writing, and invalid bytes become \n, \x1b, \u202e. Returns the
 * length without the NUL. Cuts at a whole character. */
size_t gv_text_escape(char *out, size_t size, const char *text);

#define GV_TEXT_NO_CHARACTER UINT32_MAX

/* Reads one character from `bytes` bytes at `start`, at least one. *length is its size; for an
 * invalid byte it is 1, and the result GV_TEXT_NO_CHARACTER. */
uint32_t gv_text_decode(const char *start, size_t bytes, size_t *length);
/* Whether a terminal might interpret a character: control characters and invisible ones. */
bool gv_text_is_harmful(uint32_t character);

/* The part of a path after its last slash; NULL of NULL. */
static inline const char *gv_text_base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* Whether it is one of an array's texts. */
static inline bool gv_text_is_among(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}
#define GV_TEXT_IS_ONE_OF(text, list) gv_text_is_among(text, list, sizeof(list) / sizeof((list)[0]))

/* The columns of a valid text, counting each character as one. */
size_t gv_text_width(const char *text);

#endif
