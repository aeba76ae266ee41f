/* What the library reported about a program that left no trace; see trace/run_note.h. */
#ifndef GV_COMMANDS_RUN_NOTE_H
#define GV_COMMANDS_RUN_NOTE_H

#include "report/analyse/verdict/verdict.h"

/* Makes the file and names it in the environment, before the program starts. Returns its
 * descriptor, or -errno: then nothing will be known. */
int gv_run_note_open(void);
/* The verdict for a program that left no trace, and ended with this status of waitpid. Closes
 * the file. */
enum gv_verdict_class gv_run_note_read(int fd, int status);

#endif
