/*
 * dl_iterate_phdr(), so that no thread of ours is inside it while the process forks: it holds a
 * lock of the loader's that a child finds as it was, and a child whose parent looked something up
 * in another thread would wait for it for ever.
 *
 * Nobody waits here without an end: a fork goes on after a while, and so does a look-up.
 */
#ifndef GV_BASE_LOADER_H
#define GV_BASE_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* As dl_iterate_phdr(). May be called from within a visit. The thread's signals wait meanwhile. */
int gv_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context);

/* Around other work that takes a lock of the loader's: a fork waits for it in the same way. */
void gv_loader_enter(void);
void gv_loader_leave(void);

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
