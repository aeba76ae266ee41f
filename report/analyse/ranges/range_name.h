/* Names of ranges: their texts, and what a user calls them. */
#ifndef GV_ANALYSE_RANGES_RANGE_NAME_H
#define GV_ANALYSE_RANGES_RANGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a domain and a text as they are recorded, and what is between them. */
#define GV_RANGE_NAME_BYTES 4160

/* The text with "#" for each number; cut off where `size` ends. */
void gv_range_name_fold(const char *text, char *out, size_t size);

/* "message", or "domain: message". An unknown text is "". */
void gv_range_name_say(const char *domain, const char *message, char *out, size_t size);

/* Whether a user's `pattern` means a range: its message, or "domain: message", where "*" stands for
 * anything; also with "#" for each number. */
bool gv_range_name_matches(const char *pattern, const char *domain, const char *message);

#endif
