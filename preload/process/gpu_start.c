#include "preload/process/gpu_start.h"

#include "preload/base/clock.h"
#include "preload/base/helper_thread.h"
#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/own_thread.h"
#include "preload/base/own_work.h"
#include "preload/bind/entry_points.h"
#include "preload/bind/other_profilers.h"
#include "preload/hooks/calls.h"
#include "preload/sample/pairs.h"
#include "trace/futex.h"
#include "trace/gpu_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES_MOST      64
#define PATIENCE_LEAST_MS 1000
#define PEERS_PATIENCE_NS UINT64_C(1000000000) /* usually 0.1 ms */

/* CUdevice_attribute */
enum device_attribute {
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
};

static struct gv_gpu_host host;
static uint64_t module_token;          /* of the process that tried to start one */
static _Atomic uint64_t started_token; /* of the process that tried it */
static _Atomic int ended;

/* The module is opened and started on a thread of its own, with a time limit: see
 * preload/base/helper_thread.h. */
#define LOADER_PATIENCE_MS  2000  /* until it got the loader's lock for the first time */
#define MODULE_PATIENCE_MS  10000 /* from then on: large libraries, perhaps from a slow disk */
#define CLAIMED_PATIENCE_MS 1000
/* The other threads' patience, for all of that and the questions to the driver. */
#define START_PATIENCE_MS                                                                          \
    (LOADER_PATIENCE_MS + MODULE_PATIENCE_MS + CLAIMED_PATIENCE_MS + UINT64_C(1000))

enum stage {
    STAGE_WAITING, /* for the loader */
    STAGE_STARTING,
    STAGE_CLAIMED, /* almost done: not abandoned any more */
    STAGE_GIVEN_UP,
};
static _Atomic int stage;
static char why[GV_SPOOL_WHY_BYTES];

/* ---- the driver and its devices ---- */

void gv_gpu_note_driver(void)
{
    struct gv_spool_header *header = gv_process.spool.header;
    int version = 0;

    if (atomic_load_explicit(&header->driver_version, memory_order_relaxed))
        return;
    if (gv_driver_calls.driver_get_version && gv_driver_calls.driver_get_version(&version) == 0)
        atomic_store_explicit(&header->driver_version, version, memory_order_relaxed);
}

static uint32_t attribute(int device, enum device_attribute which)
{
    int value = 0;

    if (!gv_driver_calls.device_get_attribute ||
        gv_driver_calls.device_get_attribute(&value, (int)which, device) != 0 || value < 0)
        return 0;
    return (uint32_t)value;
}

static void write_device(struct gv_thread *thread, int ordinal)
{
    const struct gv_driver_calls *driver = &gv_driver_calls;
    char name[256] = "";
    union gv_record record = {
        .device = {.head = {.kind = GV_RECORD_DEVICE}, .device = (uint32_t)ordinal}};
    size_t memory_bytes = 0;
    uint32_t bytes;
    int device;

    if (driver->device_get(&device, ordinal) != 0)
        return;
    if (driver->device_get_name)
        driver->device_get_name(name, sizeof name - 1, device);
    if (driver->device_total_memory)
        driver->device_total_memory(&memory_bytes, device);
    if (driver->device_get_uuid)
        driver->device_get_uuid(record.device.uuid, device);
    bytes = gv_spool_text_bytes(name);
    record.head.api = (uint16_t)bytes;
    record.head.flags = bytes ? GV_RECORD_MORE : 0;
    record.device.memory_bytes = memory_bytes;
    record.device.cc_major = attribute(device, ATTRIBUTE_CC_MAJOR);
    record.device.cc_minor = attribute(device, ATTRIBUTE_CC_MINOR);
    record.device.multiprocessors = attribute(device, ATTRIBUTE_MULTIPROCESSORS);
    record.device.clock_khz = attribute(device, ATTRIBUTE_CLOCK_KHZ);
    record.device.memory_clock_khz = attribute(device, ATTRIBUTE_MEMORY_CLOCK_KHZ);
    if (gv_thread_write(thread, GV_ROOM_CODE, &record))
        gv_thread_write_text(thread, name, bytes, false);
}

static void write_devices(struct gv_thread *thread)
{
    int count = 0;
    bool inside;

    if (!gv_driver_calls.device_get_count || !gv_driver_calls.device_get ||
        gv_driver_calls.device_get_count(&count) != 0)
        return;
    inside = gv_thread_begin_group(thread);
    for (int i = 0; i < count && i < DEVICES_MOST; i++)
        write_device(thread, i);
    gv_thread_end_group(thread, inside);
}

/* ---- the module ---- */

static void *open_beside(const char *relative)
{
    static char path[GV_SESSION_PATH_BYTES]; /* once in a process, perhaps on a small stack */

    return gv_objects_beside_us(path, sizeof path, relative) && access(path, R_OK) == 0
               ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
               : NULL;
}

static const struct gv_gpu_module *open_module(void)
{
    const struct gv_gpu_module *found;
    void *handle = open_beside("/" GV_GPU_MODULE_FILE);

    if (!handle)
        handle = open_beside("/../cupti/" GV_GPU_MODULE_FILE); /* in the build tree */
    if (!handle) {
        snprintf(why, sizeof why,
                 GV_GPU_MODULE_FILE " is not beside libgpuverify.so, or cannot be opened");
        return NULL;
    }
    found = dlsym(handle, GV_GPU_MODULE_SYMBOL);
    if (found && found->version == GV_GPU_MODULE_VERSION)
        return found;
    snprintf(why, sizeof why, GV_GPU_MODULE_FILE " belongs to another version of gpuverify");
    return NULL;
}

static void at_exit(int code, void *context)
{
    (void)code;
    (void)context;
    if (gv_process_is_attached_here())
        gv_gpu_finish(gv_process.settings.exit_wait_ms);
}

static bool move_on(int from, int to)
{
    return atomic_compare_exchange_strong(&stage, &from, to);
}

static bool is_wanted(void)
{
    return atomic_load(&stage) != STAGE_GIVEN_UP;
}

static bool claim(void)
{
    return move_on(STAGE_STARTING, STAGE_CLAIMED);
}

/* Runs on the helper thread. */
static void open_and_start(void)
{
    const struct gv_gpu_module *found;

    if (dlopen(NULL, RTLD_NOW | RTLD_NOLOAD)) /* waits for the lock, and adds a reference */
        move_on(STAGE_WAITING, STAGE_STARTING);
    found = is_wanted() ? open_module() : NULL;
    if (!found)
        return;
    if (found->start(&host) == 0)
        atomic_store(&gv_process_own.gpu_module, found);
}

static struct gv_helper_thread starting = {.work = open_and_start};

/* The step that it had reached; STAGE_CLAIMED: too far to be abandoned. */
static int give_up(void)
{
    if (move_on(STAGE_WAITING, STAGE_GIVEN_UP))
        return STAGE_WAITING;
    return move_on(STAGE_STARTING, STAGE_GIVEN_UP) ? STAGE_STARTING : STAGE_CLAIMED;
}

/* A thread in a constructor has the loader's lock, for which the helper thread would wait. */
static const char *start_beside(void)
{
    if (gv_loader_is_broken())
        return "this process was forked during another thread's dlopen() or dlclose(), so it "
               "cannot load a library";
    if (!gv_loader_lock_is_known())
        return "the locks of this glibc's dynamic loader are unknown, so it may be unsafe to load "
               "a library now";
    if (gv_loader_is_held_here()) {
        open_and_start();
        return why;
    }
    if (gv_helper_thread_start(&starting))
        return "cannot start a thread";
    if (gv_helper_thread_await(&starting, LOADER_PATIENCE_MS))
        return why;
    if (atomic_load(&stage) != STAGE_WAITING &&
        gv_helper_thread_await(&starting, MODULE_PATIENCE_MS))
        return why;
    int reached = give_up();
    if (reached == STAGE_CLAIMED && gv_helper_thread_await(&starting, CLAIMED_PATIENCE_MS))
        return why;
    return reached == STAGE_WAITING
               ? "the dynamic loader was busy: a library's constructor waits for this thread"
               : "CUPTI did not start within 10 s; GPUVERIFY_GPU=off avoids the attempt";
}

/* Registered after the driver's own handlers, so it runs before them. */
static void finish_at_exit(void)
{
    if (on_exit(at_exit, NULL))
        gv_log_info("out of memory: what the GPU did last before the exit may be lost");
}

static bool start_module(void)
{
    struct gv_spool_gpu *gpu = &gv_process.spool.header->gpu;
    const char *reason = why;

    if (module_token) {
        reason = "this process was forked without exec, so it cannot use CUPTI";
    } else {
        module_token = gv_process_token_now();
        host = (struct gv_gpu_host){
            .now_ns = gv_clock_now_ns,
            .spool = &gv_process.spool,
            .cupti_path = gv_process.settings.cupti,
            .correlation_offset = (char *)&gv_thread.correlation - gv_gpu_thread_pointer(),
            .flush_ms = gv_process.settings.flush_ms,
            .driver_version = atomic_load(&gv_process.spool.header->driver_version),
            .graph_nodes = gv_process.settings.graphs == GV_GRAPHS_NODES,
            .other = &gv_other_profiler,
            .graphs = &gv_graphs,
            .why = why,
            .is_wanted = is_wanted,
            .claim = claim,
            .note_node = gv_graph_node_note,
            .start_thread = gv_own_thread_start,
        };
        reason = start_beside();
    }
    if (reason == why && gv_process_gpu_module()) {
        finish_at_exit();
        return true;
    }
    snprintf(gpu->why, sizeof gpu->why, "%s", reason);
    return false;
}

static bool start_sampling(void)
{
    struct gv_spool_gpu *gpu = &gv_process.spool.header->gpu;
    const char *reason = gv_pairs_start();

    snprintf(gpu->why, sizeof gpu->why, "%s", reason ? reason : "GPUVERIFY_GPU=sampled");
    if (!reason)
        finish_at_exit();
    return !reason;
}

static void choose(void)
{
    struct gv_spool_gpu *gpu = &gv_process.spool.header->gpu;

    if (gv_process.settings.gpu == GV_SETTING_GPU_OFF) {
        snprintf(gpu->why, sizeof gpu->why, "GPUVERIFY_GPU=off");
        atomic_store(&gpu->state, GV_GPU_OFF);
        return;
    }
    uint64_t begun_ns = gv_clock_now_ns();
    bool is_sampled = gv_process.settings.gpu == GV_SETTING_GPU_SAMPLED;
    bool is_seen = is_sampled ? start_sampling() : start_module();
    gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_START,
                    gv_clock_now_ns() - begun_ns);
    atomic_store(&gpu->state, !is_seen     ? GV_GPU_HOST_ONLY
                              : is_sampled ? GV_GPU_SAMPLED
                                           : GV_GPU_SEEN);
    if (is_seen)
        return;
    if (gv_process.settings.gpu == GV_SETTING_GPU_ON || is_sampled)
        gv_log_error("the GPU side is not recorded: %s", gpu->why);
    else
        gv_log_info("the GPU side is not recorded: %s", gpu->why);
}

static void start_here(struct gv_thread *thread)
{
    int saved_errno = gv_own_work_begin();

    atomic_store(&started_token, gv_process_token_now());
    gv_gpu_note_driver();
    write_devices(thread);
    choose();
    gv_own_work_end(saved_errno);
}

/* ---- the others wait ---- */

static bool close_to_others(struct gv_process_own *own, const struct gv_thread *thread)
{
    uint32_t nobody = 0;

    if (!atomic_compare_exchange_strong(&own->gpu_starter, &nobody, thread->tid))
        return false;
    atomic_store(&own->open, 0);
    return true;
}

/* Any thread. */
static void open_to_others(struct gv_process_own *own)
{
    atomic_store(&own->open, atomic_load(&own->token));
    atomic_store(&own->gpu_starter, 0);
    gv_futex_wake(&own->gpu_starter);
}

static void await_starter(struct gv_process_own *own)
{
    uint64_t end_ns = gv_monotonic_ns() + START_PATIENCE_MS * 1000000u;
    uint32_t starter;

    while ((starter = atomic_load(&own->gpu_starter)) != 0)
        if (!gv_futex_wait_until(&own->gpu_starter, starter, end_ns))
            open_to_others(own); /* nobody waits for it again */
}

void gv_gpu_await_start(const struct gv_thread *thread)
{
    struct gv_process_own *own = &gv_process_own;
    uint32_t starter = atomic_load(&own->gpu_starter);

    if (__builtin_expect(!starter || starter == thread->tid || thread->joining, 1))
        return;
    int saved_errno = gv_own_work_begin();
    if (!gv_loader_is_held_here())
        await_starter(own);
    gv_own_work_end(saved_errno);
}

/* Also in a signal handler that interrupted the start and is about to jump. */
void gv_gpu_leave_start(struct gv_thread *thread)
{
    static const char left[] = "the thread that started CUPTI jumped out of cuInit(), or ended";
    struct gv_process_own *own = &gv_process_own;
    struct gv_spool_gpu *gpu;

    if (__builtin_expect(atomic_load(&own->gpu_starter) != thread->tid || !thread->tid, 1))
        return;
    gpu = &gv_process.spool.header->gpu;
    if (give_up() == STAGE_CLAIMED) {
        atomic_store(&gpu->state, GV_GPU_SEEN); /* it is recording, or is about to */
    } else if (atomic_load(&gpu->state) == GV_GPU_UNKNOWN) {
        memcpy(gpu->why, left, sizeof left);
        atomic_store(&gpu->state, GV_GPU_HOST_ONLY);
    }
    thread->writing = false;
    open_to_others(own);
}

void gv_gpu_start(struct gv_thread *thread)
{
    struct gv_process_own *own = &gv_process_own;

    if (atomic_load(&started_token) == gv_process_token_now() || !close_to_others(own, thread)) {
        gv_gpu_await_start(thread);
        return;
    }
    /* Another thread may have just done it. */
    if (atomic_load(&started_token) != gv_process_token_now())
        start_here(thread);
    open_to_others(own);
}

/* The module's thread answers within milliseconds, unless CUPTI hangs. A program that does not
 * want to wait for the collector does not want to lose this. */
static uint64_t patience_ns(int64_t patience_ms)
{
    return (uint64_t)(patience_ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : patience_ms) * 1000000u;
}

void gv_gpu_finish(int64_t patience_ms)
{
    const struct gv_gpu_module *recording;

    gv_pairs_fetch(patience_ns(patience_ms), true);
    /* Once: after the first of our exit handlers CUPTI may be gone. */
    recording = atomic_exchange(&gv_process_own.gpu_module, NULL);
    if (!recording)
        return;
    atomic_store(&ended, 1);
    uint64_t begun_ns = gv_clock_now_ns();
    recording->finish(patience_ns(patience_ms));
    gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_END,
                    gv_clock_now_ns() - begun_ns);
}

bool gv_gpu_fetch(int64_t patience_ms)
{
    const struct gv_gpu_module *recording = gv_process_gpu_module();

    return gv_pairs_fetch(patience_ns(patience_ms), false) &&
           (!recording || recording->fetch(patience_ns(patience_ms)));
}

void gv_gpu_go_on(void)
{
    if (!atomic_load(&ended))
        atomic_store(&gv_process.spool.header->gpu.finished, 0);
}

bool gv_gpu_expect_peers(void)
{
    static _Atomic bool is_expected;
    const struct gv_gpu_module *recording;

    if (__builtin_expect(atomic_load_explicit(&is_expected, memory_order_relaxed), 1))
        return false;
    recording = gv_process_gpu_module();
    if (!recording || atomic_exchange(&is_expected, true))
        return false;
    int saved_errno = gv_own_work_begin();
    recording->record_peers(PEERS_PATIENCE_NS);
    gv_own_work_end(saved_errno);
    return true;
}
