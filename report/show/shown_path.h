/*
 * A trace's path as it is shown: one spelling, however the command was given it. In the working
 * folder and below it is relative, without "./"; elsewhere it is as it was given. What programs
 * read has it as it was given.
 */
#ifndef GV_SHOW_SHOWN_PATH_H
#define GV_SHOW_SHOWN_PATH_H

#include "trace/shell_word.h"

/* A part of `path`, or `path`. */
const char *gv_shown_path(const char *path);

/* The same as a word of a command that can be pasted (gv_shell_word). Returns `word`. */
const char *gv_shown_word(char word[GV_SHELL_WORD_BYTES], const char *path);

#endif
