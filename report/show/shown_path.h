/*
 * A trace's path for printing: one spelling, however it was given. It is relative without "./" in
 * the working folder and below; elsewhere it is unchanged. Machine-readable output has the path as
 * it was given.
 */
#ifndef GV_SHOW_SHOWN_PATH_H
#define GV_SHOW_SHOWN_PATH_H

#include "trace/shell_word.h"

/* Returns a part of `path`, or `path`. */
const char *gv_shown_path(const char *path);

/* The same, quoted for a command that can be pasted (gv_shell_word). Returns `word`. */
const char *gv_shown_word(char word[GV_SHELL_WORD_BYTES], const char *path);

#endif
