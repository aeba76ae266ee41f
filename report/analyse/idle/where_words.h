/* What an idle time was, in words: its detail beside its line. */
#ifndef GV_ANALYSE_IDLE_WHERE_WORDS_H
#define GV_ANALYSE_IDLE_WHERE_WORDS_H

#include <stddef.h>

/* The bytes of a place's file and line: "data.py:41" of "data.py:41 __getitem__"; or else all. */
size_t gv_idle_line_bytes(const char *where);

/* What a detail says that the place beside it does not: "thread 7" of "f, a.py:3 (thread 7)" beside
 * "a.py:3 f". NULL: nothing. The rest of a longer detail is cut off. */
const char *gv_idle_detail_beside(const char *detail, const char *where, char *out, size_t size);

/* "waiting for data: data.py:41 __getitem__": the words of an account, the detail and the line, of
 * which both may be NULL or empty. */
void gv_idle_say(const char *words, const char *detail, const char *where, char *out, size_t size);

#endif
