/*
 * gv_start() and gv_stop() of gpuverify.h. What `gpuverify start` and `stop` do from outside needs
 * nothing here: they change the spool's control (trace/spool_control.h), which every call reads.
 */
#ifndef GV_PROCESS_CONTROL_H
#define GV_PROCESS_CONTROL_H

/* The process has just begun to record: stops that at once if it has said so, or else if its
 * session says so. */
void gv_control_begin(void);

#endif
