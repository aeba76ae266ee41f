/*
 * A file's name as it is written in a command that is offered to be pasted into a shell.
 *
 * libc only, allocates nothing; reentrant.
 */
#ifndef GV_TRACE_SHELL_WORD_H
#define GV_TRACE_SHELL_WORD_H

#define GV_SHELL_WORD_BYTES 880

/* `text` as it is where no shell minds it, otherwise quoted; what controls a terminal only as an
 * escape, in $'...'. What does not fit is "FILE", for the reader to put in. Returns `word`. */
const char *gv_shell_word(char word[GV_SHELL_WORD_BYTES], const char *text);

#endif
