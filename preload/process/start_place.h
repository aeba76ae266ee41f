/*
 * The directory in which the program was started. Relative paths in its settings start there,
 * wherever the program goes later. Its children get absolute paths, so that the whole session has
 * one trace.
 */
#ifndef GV_PROCESS_START_PLACE_H
#define GV_PROCESS_START_PLACE_H

/* From the constructor. Makes GPUVERIFY_TRACE and GPUVERIFY_SPOOL_DIR absolute. 0 or -errno. */
int gv_start_place_note(void);

/* Absolute, or what the Linux kernel says if it has no path; NULL: unknown. Before our
 * constructor it is the working directory, for which only the attaching thread may ask. */
const char *gv_start_place(void);

#endif
