/* The reasons of idle time: report/analyse/idle/reasons.def. */
#ifndef GV_ANALYSE_IDLE_REASON_WORDS_H
#define GV_ANALYSE_IDLE_REASON_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum gv_idle_reason {
#define GV_IDLE_REASON(id, name, finding, traits, meaning, advice) GV_REASON_##id,
#include "report/analyse/idle/reasons.def"
    GV_REASONS
};

/* reasons.def says what they mean. */
enum gv_idle_trait { GV_IDLE_GENERAL = 1 };

struct gv_idle_reason_words {
    const char *name;    /* in the trace */
    const char *finding; /* what it was follows: a line, a file, a command */
    unsigned traits;
    const char *meaning;
    const char *advice;
};

extern const struct gv_idle_reason_words gv_idle_reasons[GV_REASONS];

/* All names, " a b c". */
extern const char gv_idle_reason_names[];

/* NULL: this version does not know the reason; so does a NULL name. */
const struct gv_idle_reason_words *gv_idle_reason_find(const char *name);

/* The bytes of a place's file and line: "data.py:41" of "data.py:41 __getitem__"; or else all. */
size_t gv_idle_line_bytes(const char *where);

/* Whether two places, "data.py:41 __getitem__", have the same file and line, or are the same. */
bool gv_idle_is_same_line(const char *one, const char *other);

/* What a detail says that the place beside it does not: "thread 7" of "f, a.py:3 (thread 7)" beside
 * "a.py:3 f". NULL: nothing. The rest of a longer detail is cut off. */
const char *gv_idle_detail_beside(const char *detail, const char *where, char *out, size_t size);

/* "waiting for data: data.py:41 __getitem__": the reason, its detail and the line, of which both
 * may be NULL or empty. */
void gv_idle_reason_say(const char *name, const char *detail, const char *where, char *out,
                        size_t size);

#endif
