/*
 * Handles fork(): the child must find that nothing here is its own, and no lock taken by a thread
 * that it does not have.
 */
#include "preload/process/attach.h"

#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/bind/entry_points.h"
#include "preload/ranges/ranges.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096

/* The page behind gv_process_own, once it exists. */
static struct gv_process_own *own_page;

int gv_fork_watch_set_token(uint64_t token)
{
    void *page;

    if (!own_page) {
        page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return -errno;
        /* The Linux kernel empties it in a child, however it is made. Before Linux 4.14, our
         * handler after fork() does. */
        if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) < 0)
            gv_log_info("no MADV_WIPEONFORK: children of a bare clone() count as their parent");
        own_page = page;
    }
    atomic_store(&own_page->changes, &gv_process.spool.header->control.changes);
    atomic_store(&own_page->token, token);
    atomic_store(&own_page->open, token);
    atomic_store(&gv_process_own, own_page);
    return 0;
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
    if (!own_page)
        return;
    atomic_store(&own_page->token, 0);
    atomic_store(&own_page->open, 0);
    atomic_store(&own_page->gpu_starter, 0);
}

int gv_fork_watch_start(void)
{
    gv_loader_find_lock();
    return -pthread_atfork(before, in_parent, in_child);
}
