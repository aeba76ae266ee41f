/*
 * The calls by which a process becomes another program, wrapped (exec_calls.c).
 */
#ifndef GV_PROCESS_EXEC_CALLS_H
#define GV_PROCESS_EXEC_CALLS_H

/* From the constructor: looks up what our wrappers go on to. */
void gv_exec_calls_find_real(void);

#endif
