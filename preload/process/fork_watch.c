/*
 * Handles fork(): the child must find that nothing here is its own, and no lock taken by a thread
 * that it does not have.
 */
#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/bind/entry_points.h"
#include "preload/ranges/ranges.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

void gv_fork_watch_set_token(uint64_t token)
{
    atomic_store(&gv_process_own.changes, &gv_process.spool.header->control.changes);
    atomic_store(&gv_process_own.token, token);
    atomic_store(&gv_process_own.open, token);
}

/* No other thread may be in the middle of a change while the process is copied. */
static void before(void)
{
    /* In this order: a thread in the loader may look up a call, which takes the other. */
    gv_loader_hold();
    gv_entry_points_hold();
}

static void in_parent(void)
{
    gv_entry_points_release(false);
    gv_loader_release(false);
}

static void in_child(void)
{
    gv_entry_points_release(true);
    gv_loader_release(true);
    gv_ranges_start_over();
    gv_clock_use(NULL); /* the parent's session goes when this process is attached */
    atomic_store(&gv_process_own.token, 0);
    atomic_store(&gv_process_own.open, 0);
    atomic_store(&gv_process_own.gpu_starter, 0);
    atomic_store(&gv_process_own.stage, 0);
    atomic_store(&gv_process_own.changes, NULL);
    atomic_store(&gv_process_own.gpu_module, NULL);
}

int gv_fork_watch_start(void)
{
    /* Before Linux 4.14, our handler after fork() empties it. */
    if (madvise(&gv_process_own, sizeof gv_process_own, MADV_WIPEONFORK) < 0)
        gv_log_info("no MADV_WIPEONFORK: children of a bare clone() count as their parent");
    gv_loader_find_lock();
    return -pthread_atfork(before, in_parent, in_child);
}
