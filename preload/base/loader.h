/*
 * A dl_iterate_phdr() that no thread of ours is in while the process forks. It takes a lock of the
 * loader, and a child forked meanwhile would wait for that lock for ever.
 *
 * Nobody waits here for ever: a fork continues after a while, and so does a look-up.
 */
#ifndef GV_BASE_LOADER_H
#define GV_BASE_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Like dl_iterate_phdr(). May be called within a visit. The thread's signals are blocked
 * meanwhile. */
int gv_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context);

/* Put these around other work that takes a lock of the loader: a fork waits for it too. */
void gv_loader_enter(void);
void gv_loader_leave(void);

/* For gv_loader_hold() and gv_loader_release(). Before a fork: new visitors wait, and present
 * ones finish. After it: they continue. In a child: they start over; if a thread that does not
 * exist here has the lock, the child visits without it. */
void gv_loader_hold_visits(void);
void gv_loader_release_visits(void);
void gv_loader_start_over(bool is_orphaned);

#endif
