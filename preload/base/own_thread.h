/*
 * Starts a thread of ours in the program: detached, with the program's signals blocked.
 */
#ifndef GV_BASE_OWN_THREAD_H
#define GV_BASE_OWN_THREAD_H

#include <stddef.h>

/* 0 or -errno. The stack has `stack_bytes`, or the default size if that is too small for the
 * thread-local memory of the program's libraries, which is part of it. */
int gv_own_thread_start(void *(*run)(void *), void *context, size_t stack_bytes);

#endif
