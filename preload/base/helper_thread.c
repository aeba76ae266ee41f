#include "preload/base/helper_thread.h"

#include "preload/base/clock.h"
#include "preload/base/loader.h"
#include "preload/base/own_thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Mapped, and used as far as a dlopen() goes. */
#define GV_ASIDE_STACK_BYTES (1024u * 1024u)

static void *run(void *context)
{
    struct gv_aside *aside = context;

    gv_loader_enter();
    aside->work();
    gv_loader_leave();
    atomic_store_explicit(&aside->done, 1, memory_order_release);
    syscall(SYS_futex, &aside->done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return NULL;
}

int gv_aside_start(struct gv_aside *aside)
{
    if (gv_loader_is_broken())
        return -EDEADLK;
    return gv_own_thread_start(run, aside, GV_ASIDE_STACK_BYTES);
}

bool gv_aside_await(struct gv_aside *aside, int64_t patience_ms)
{
    uint64_t end_ns = gv_clock_monotonic_ns() + (uint64_t)patience_ms * 1000000u, now_ns;

    while (!gv_aside_is_done(aside) && (now_ns = gv_clock_monotonic_ns()) < end_ns) {
        struct timespec left = {.tv_sec = (time_t)((end_ns - now_ns) / 1000000000u),
                                .tv_nsec = (long)((end_ns - now_ns) % 1000000000u)};

        syscall(SYS_futex, &aside->done, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    return gv_aside_is_done(aside);
}
