/* The dynamic loader's lock, read from glibc's data: who has it, and what that means for a
 * fork(). */
#ifndef GV_BASE_LOADER_LOCK_H
#define GV_BASE_LOADER_LOCK_H

#include <stdbool.h>

/* Whether this thread is in a constructor or destructor run by the loader, or otherwise has the
 * loader's lock. Reads glibc's data; false if that looks different. Does not wait. */
bool gv_loader_is_held_here(void);

/* Whether another thread has the lock of gv_loader_visit(). Does not wait; false if glibc's data
 * look different. */
bool gv_loader_is_busy(void);
/* False: this glibc's locks look different, so nobody knows who has them. After
 * gv_loader_find_lock(). */
bool gv_loader_lock_is_known(void);

/* Call it once, before any fork. A child forked while another thread loads or unloads a library
 * finds the lock taken for ever, and then visits without it. */
void gv_loader_find_lock(void);

/* In such a child: loading a library or starting a thread may wait for ever, so we must not do
 * it. */
bool gv_loader_is_broken(void);

/* Put these around a fork(). */
void gv_loader_hold(void);
void gv_loader_release(bool in_child);

#endif
