/* How far a mistyped word is from a known one. */
#ifndef GV_TRACE_WORD_DISTANCE_H
#define GV_TRACE_WORD_DISTANCE_H

#include <stddef.h>

/* A word fewer edits than this away from a known one was probably meant to be it. */
#define GV_WORD_TYPO 3u

/* The number of letters to insert, delete or replace; words that are too long are far away. */
size_t gv_word_distance(const char *left, const char *right);

#endif
