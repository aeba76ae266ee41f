/*
 * longjmp() out of a CUDA call, from a callback or a signal handler: it skips the end of our
 * wrapper, and would leave the thread "inside" that call for ever. So the four functions that jump
 * are wrapped: they note the jump and go on to the real ones.
 */
#ifndef GV_HOOKS_JUMPS_H
#define GV_HOOKS_JUMPS_H

/* Looks up the real functions. From the constructor: a jump may come from a signal handler. */
void gv_jumps_find_real(void);

#endif
