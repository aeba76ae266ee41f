/*
 * What `gpuverify run` learns about a program that leaves no trace: the library appends letters to
 * the file that this variable names.
 */
#ifndef GV_TRACE_RUN_NOTE_H
#define GV_TRACE_RUN_NOTE_H

#define GV_RUN_NOTE "GPUVERIFY_RUN_NOTE"

#define GV_RUN_NOTE_HERE   'h' /* the library was loaded into a process */
#define GV_RUN_NOTE_DRIVER 'd' /* a process had the CUDA driver loaded when it ended */
#define GV_RUN_NOTE_FAILED                                                                         \
    'f' /* a process used CUDA but could not be recorded; the library printed the reason */

#endif
