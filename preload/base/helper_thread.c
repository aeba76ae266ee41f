#include "preload/base/helper_thread.h"

#include "preload/base/loader.h"
#include "preload/base/loader_lock.h"
#include "preload/base/own_thread.h"
#include "trace/futex.h"

#include <errno.h>

/* Mapped, and used only as far as dlopen() needs. */
#define GV_HELPER_STACK_BYTES (1024u * 1024u)

static void *run(void *context)
{
    struct gv_helper_thread *helper = context;

    gv_loader_enter();
    helper->work();
    gv_loader_leave();
    atomic_store_explicit(&helper->done, 1, memory_order_release);
    gv_futex_wake(&helper->done);
    return NULL;
}

int gv_helper_thread_start(struct gv_helper_thread *helper)
{
    if (gv_loader_is_broken())
        return -EDEADLK;
    return gv_own_thread_start(run, helper, GV_HELPER_STACK_BYTES);
}

bool gv_helper_thread_await(struct gv_helper_thread *helper, int64_t patience_ms)
{
    uint64_t end_ns = gv_monotonic_ns() + (uint64_t)patience_ms * 1000000u;

    while (!gv_helper_thread_is_done(helper) && gv_futex_wait_until(&helper->done, 0, end_ns))
        ;
    return gv_helper_thread_is_done(helper);
}
