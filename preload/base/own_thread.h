/*
 * A thread of our own in the program: detached, and no signal of the program's is handled on it.
 */
#ifndef GV_BASE_OWN_THREAD_H
#define GV_BASE_OWN_THREAD_H

#include <stddef.h>

/* 0 or -errno. The stack has `stack_bytes`, or the usual size if that does not hold the
 * thread-local memory of the program's libraries, which is taken out of it. */
int gv_own_thread_start(void *(*run)(void *), void *context, size_t stack_bytes);

#endif
