/*
 * Numbers for the texts of ranges and marks, by their content, so that a message is written once
 * and not with each range.
 *
 * Any thread, also signal handlers in the middle of any of these. Nothing here locks, waits or
 * allocates. There is room for a fixed number of texts; a further one has no number, and its text
 * is written with each record.
 */
#ifndef GV_RANGES_TEXTS_H
#define GV_RANGES_TEXTS_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* What a key stands for, besides a content. */
enum gv_text_key {
    GV_TEXT_OF_DOMAIN = 1, /* a tool's handle of a domain */
    GV_TEXT_OF_STRING = 2, /* a tool's handle of a registered string */
    GV_TEXT_OF_CATEGORY = 3,
};

/* The number of a text of `bytes` bytes, at most GV_RECORD_TEXT_LIMIT; 0: it is empty, or there is
 * no room. */
uint32_t gv_texts_number(const char *text, uint32_t bytes);

/* From now on (key, a, b) stands for the text `number`. */
void gv_texts_bind(enum gv_text_key key, uint64_t a, uint64_t b, uint32_t number);
/* 0: it stands for nothing. */
uint32_t gv_texts_bound(enum gv_text_key key, uint64_t a, uint64_t b);

/* Whether it is a number that was given out. */
bool gv_texts_know(uint64_t number);

/* Writes the text of `number` unless this process has written it; 0 has none. In a group of the
 * thread. False: there is no room for it in the spool. */
bool gv_texts_tell(struct gv_thread *thread, uint32_t number);

/* Writes TEXT records of the current group. The last one has no MORE unless `more`. */
bool gv_texts_write(struct gv_thread *thread, const char *text, uint32_t bytes, bool more);

#endif
