/*
 * Where the program was started, which is what relative paths in its settings start from, wherever
 * it goes later. Its children get such settings as absolute paths: the whole session has one trace.
 */
#ifndef GV_PROCESS_START_PLACE_H
#define GV_PROCESS_START_PLACE_H

/* From the constructor. Changes GPUVERIFY_TRACE and GPUVERIFY_SPOOL_DIR where they are relative. */
void gv_start_place_note(void);

/* Absolute, or what the kernel says when it is none; NULL: unknown. Before our constructor the
 * working directory of now, which only the thread that attaches may ask for. */
const char *gv_start_place(void);

#endif
