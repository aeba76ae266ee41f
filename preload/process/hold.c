#include "preload/process/hold.h"

#include "preload/base/own_process.h"
#include "trace/call_table.h"
#include "trace/futex.h"

#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_EVERY_NS 20000
#define SETTLE_NS     10000000

static bool has_barrier;

/* A thread notes its call, and then looks whether it may make it. After this, either we see the
 * call or it sees that it may not. */
static void settle(void)
{
    if (!has_barrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        gv_pause_ns(SETTLE_NS); /* before Linux 4.14, or forbidden */
}

/* Takes some 10 ms in a process with threads, because Linux waits until each has been switched. */
static void prepare(void)
{
    static bool is_done;

    if (!is_done)
        has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    is_done = true;
}

static bool is_putting_work(const struct gv_spool_slot *slot)
{
    uint32_t api = atomic_load_explicit(&slot->api_plus_one, memory_order_acquire);

    return api && api <= GV_API_COUNT &&
           gv_call_kinds[gv_api_rows[api - 1].kind].flags & GV_CALL_CORRELATED;
}

static bool is_any_putting_work(void)
{
    uint64_t most = atomic_load(&gv_process.spool.header->threads_seen) + 1;

    for (unsigned i = 0; i < GV_SPOOL_SLOTS && i < most; i++)
        if (is_putting_work(&gv_process.spool.slots[i]))
            return true;
    return false;
}

bool gv_hold_calls(uint64_t patience_ns)
{
    struct gv_process_own *own = &gv_process_own;
    uint64_t end_ns, token = atomic_load(&own->token);

    prepare();
    end_ns = gv_monotonic_ns() + patience_ns;
    atomic_store(&own->held, 1);
    if (!atomic_compare_exchange_strong(&own->open, &token, 0)) {
        gv_process_let_calls_begin();
        return false;
    }
    settle();
    while (is_any_putting_work()) {
        if (gv_monotonic_ns() >= end_ns) {
            gv_process_let_calls_begin();
            return false;
        }
        gv_pause_ns(LOOK_EVERY_NS);
    }
    return true;
}
