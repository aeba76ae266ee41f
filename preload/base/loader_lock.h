/* The loader's own lock, read from glibc's data: who holds it, and what that means for a fork(). */
#ifndef GV_BASE_LOADER_LOCK_H
#define GV_BASE_LOADER_LOCK_H

#include <stdbool.h>

/* Is this thread in a constructor or a destructor that the loader runs, or otherwise holds the
 * loader's lock? Read from glibc's own; false where that looks different. Waits for nothing. */
bool gv_loader_is_held_here(void);

/* Once, before any fork. A child whose parent was loading or unloading a library in another thread
 * finds the lock held for ever, and from then on visits without it. */
void gv_loader_find_lock(void);

/* In such a child: whoever loads a library, or starts a thread, may wait for ever. Not ours to do.
 */
bool gv_loader_is_broken(void);

/* Around a fork(). */
void gv_loader_hold(void);
void gv_loader_release(bool in_child);

#endif
