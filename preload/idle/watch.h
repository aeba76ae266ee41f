/*
 * A thread of ours that looks, GPUVERIFY_IDLE_HZ times a second, at the threads of this process
 * that make CUDA calls while they are in none: what each does then (struct gv_record_idle_sample).
 *
 * It has a low priority and its own table of open files, sends no signal, takes no lock of the
 * program, and reads the program's memory only through the Linux kernel. It spends at most half a
 * per cent of a CPU; beyond that, it looks less often.
 */
#ifndef GV_IDLE_WATCH_H
#define GV_IDLE_WATCH_H

/* When the process has attached. Not being able to start it is no error. A forked child that
 * attaches itself starts its own. */
void gv_idle_start(void);

/* The thread writes nothing more; waits up to 10 ms for a look to end. Any thread, also in a signal
 * handler. */
void gv_idle_pause(void);
void gv_idle_go_on(void);

#endif
