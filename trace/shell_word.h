/*
 * Quotes a file's name for a command that can be pasted into a shell.
 *
 * Needs only libc and allocates nothing. Reentrant.
 */
#ifndef GV_TRACE_SHELL_WORD_H
#define GV_TRACE_SHELL_WORD_H

#define GV_SHELL_WORD_BYTES 880

/* Writes `text` unchanged if a shell accepts it, otherwise quoted, with control characters as
 * escapes in $'...'. A text that does not fit becomes "FILE". Returns `word`. */
const char *gv_shell_word(char word[GV_SHELL_WORD_BYTES], const char *text);

#endif
