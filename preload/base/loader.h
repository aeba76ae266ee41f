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

/* For gv_loader_hold() and gv_loader_release(): new visitors wait, and those that are there come
 * out; they go on; they start over in a child, which visits without the lock if it is orphaned: a
 * thread that is not there holds it for ever. */
void gv_loader_hold_visits(void);
void gv_loader_release_visits(void);
void gv_loader_start_over(bool is_orphaned);

#endif
