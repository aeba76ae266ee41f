/* How far a mistyped word is from a known one. */
#ifndef GV_TRACE_WORD_DISTANCE_H
#define GV_TRACE_WORD_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

/* A word fewer edits than this away from a known one was probably meant to be it, unless they are
 * all that it has. */
#define GV_WORD_TYPO 3u

/* The number of letters to insert, delete or replace; words that are too long are far away. */
size_t gv_word_distance(const char *left, const char *right);

/* For a search through known words, with *least GV_WORD_TYPO before: whether this one is nearer
 * than those so far, and near enough to be meant. */
bool gv_word_is_nearer(const char *word, const char *known, size_t *least);

#define GV_WORD_BYTES 64

/* The nearest of words that blanks or bars part; NULL: none is near. */
const char *gv_word_nearest(const char *word, const char *words, char out[GV_WORD_BYTES]);

#endif
