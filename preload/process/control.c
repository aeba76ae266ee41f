/*
 * gv_start() and gv_stop() of gpuverify.h. What `gpuverify start` and `stop` do from outside needs
 * nothing here: they change the spool's control (trace/spool_control.h), which every call reads.
 */
#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/own_work.h"
#include "preload/base/thread.h"
#include "preload/process/gpu_start.h"
#include "trace/gpu_module.h"
#include "trace/spool_control.h"

#define PATIENCE_NS UINT64_C(1000000000) /* usually a few ms; CUPTI may hang */

#define EXPORT __attribute__((visibility("default")))

EXPORT void gv_start(void);
EXPORT void gv_stop(void);

/* What the program said last; a forked child begins with that. */
enum said { SAID_NOTHING, SAID_START, SAID_STOP };
static _Atomic uint32_t said;

static struct gv_spool_control *control(void)
{
    return &gv_process.spool.header->control;
}

/* Room for the record first: a change without one would not be in the trace. False: no change, also
 * if this thread is in the middle of other records. */
static bool change(struct gv_thread *thread, bool stop)
{
    bool inside = gv_thread_begin_group(thread), changed = false;
    union gv_record *record = inside ? NULL : gv_thread_reserve(thread, GV_ROOM_CODE);
    uint64_t at_ns;
    uint32_t number =
        record ? gv_control_change(control(), stop, &gv_process.session->clock, &at_ns) : 0;

    if (number) {
        *record = (union gv_record){
            .change = {.head = {.kind = GV_RECORD_CHANGE}, .at_ns = at_ns, .number = number}};
        gv_thread_publish(thread);
        changed = true;
    }
    gv_thread_end_group(thread, inside);
    return changed;
}

static void apply(bool stop)
{
    struct gv_thread *thread = &gv_thread;
    const struct gv_gpu_module *module;

    if (!gv_process_is_recording() || !(gv_thread_is_live(thread) || gv_thread_join(thread)) ||
        !change(thread, stop))
        return;
    module = stop ? NULL : gv_process_gpu_module();
    if (!module)
        return;
    int saved_errno = gv_own_work_begin();
    /* What this thread launches next is seen. */
    module->go_on(PATIENCE_NS);
    gv_own_work_end(saved_errno);
}

static void say(enum said what)
{
    if (!gv_process_is_ours())
        return;
    atomic_store(&said, what);
    apply(what == SAID_STOP);
}

void gv_start(void)
{
    say(SAID_START);
}

void gv_stop(void)
{
    say(SAID_STOP);
}

/* If another thread calls gv_start() or gv_stop() now, it finds the process recording, or what it
 * said is read here. */
void gv_control_begin(void)
{
    uint32_t what = atomic_load(&said), recording = 0;

    if (what == SAID_STOP || (what == SAID_NOTHING && atomic_load(&gv_process.session->stopped)))
        atomic_compare_exchange_strong(&control()->changes, &recording, 1);
}
