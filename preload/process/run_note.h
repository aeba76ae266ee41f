/*
 * Tells `gpuverify run` whether a program has no use for CUDA, or the library did not get into it:
 * it gives us a file to write a letter to. Without that file, nothing happens.
 */
#ifndef GV_PROCESS_RUN_NOTE_H
#define GV_PROCESS_RUN_NOTE_H

/* From the constructor: the library is in the program. */
void gv_run_note_here(void);
/* From the destructor of a process that made no CUDA call: notes whether it has the driver
 * loaded. */
void gv_run_note_driver(void);

/* Notes that a process that uses CUDA could not be recorded. */
void gv_run_note_failed(void);

#endif
