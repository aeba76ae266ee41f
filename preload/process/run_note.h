/*
 * `gpuverify run` wants to tell a program that has no use for CUDA from one that we never got into:
 * it gives us a file to leave a letter in. Without that file, nothing is done.
 */
#ifndef GV_PROCESS_RUN_NOTE_H
#define GV_PROCESS_RUN_NOTE_H

/* From the constructor: we are here. */
void gv_run_note_here(void);
/* From the destructor of a process that made no CUDA call: whether it has the driver loaded. */
void gv_run_note_driver(void);

/* We could not record a process that uses CUDA. */
void gv_run_note_failed(void);

#endif
