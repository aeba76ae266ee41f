/*
 * The calls by which a program sends a signal to itself, wrapped (deadly_signals.c).
 */
#ifndef GV_PROCESS_DEADLY_SIGNALS_H
#define GV_PROCESS_DEADLY_SIGNALS_H

/* From the constructor: looks up what our wrappers go on to. */
void gv_deadly_signals_find_real(void);

#endif
