/* The distance between a mistyped word and a known one. */
#ifndef GV_TRACE_WORD_DISTANCE_H
#define GV_TRACE_WORD_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

/* A known word with fewer edits than this was probably meant, unless all of its letters would
 * change. */
#define GV_WORD_TYPO 3u

/* For a search through known words, with *least GV_WORD_TYPO at the start: whether this word is
 * the nearest so far, and near enough. */
bool gv_word_is_nearer(const char *word, const char *known, size_t *least);

/* Whether they are the same word; "-" and "_" are. */
bool gv_word_is(const char *word, const char *known, size_t known_length);

#define GV_WORD_BYTES 64

/* The nearest of words separated by blanks or bars; NULL: none is near. */
const char *gv_word_nearest(const char *word, const char *words, char out[GV_WORD_BYTES]);

#endif
