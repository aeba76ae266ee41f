#include "preload/gpu_start.h"

#include "preload/clock.h"
#include "preload/entry_points.h"
#include "preload/log.h"
#include "preload/objects.h"
#include "preload/own_work.h"
#include "trace/gpu_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES_MOST 64

/* CUdevice_attribute */
enum device_attribute {
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
};

static struct gv_gpu_host host;
static const struct gv_gpu_module
    *module; /* recording; inherited by a child, which must not use it */
static uint32_t module_pid;
static _Atomic uint32_t started_pid; /* the process that has tried */
static _Atomic int ended;

/* ---- devices ---- */

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
    char name[256] = "";
    union gv_record record = {.head = {.kind = GV_RECORD_DEVICE}};
    union gv_record *into;
    size_t memory_bytes = 0;
    int device;

    if (gv_driver_calls.device_get(&device, ordinal) != 0)
        return;
    if (gv_driver_calls.device_get_name)
        gv_driver_calls.device_get_name(name, sizeof name, device);
    name[sizeof name - 1] = 0;
    if (gv_driver_calls.device_total_memory)
        gv_driver_calls.device_total_memory(&memory_bytes, device);
    if (gv_driver_calls.device_get_uuid)
        gv_driver_calls.device_get_uuid(record.device.uuid, device);
    record.head.api = (uint16_t)strlen(name);
    record.head.flags = name[0] ? GV_RECORD_MORE : 0;
    record.device.memory_bytes = memory_bytes;
    record.device.device = (uint32_t)ordinal;
    record.device.cc_major = attribute(device, ATTRIBUTE_CC_MAJOR);
    record.device.cc_minor = attribute(device, ATTRIBUTE_CC_MINOR);
    record.device.multiprocessors = attribute(device, ATTRIBUTE_MULTIPROCESSORS);
    record.device.clock_khz = attribute(device, ATTRIBUTE_CLOCK_KHZ);
    record.device.memory_clock_khz = attribute(device, ATTRIBUTE_MEMORY_CLOCK_KHZ);
    into = gv_thread_reserve(thread, true);
    if (!into)
        return;
    *into = record;
    gv_thread_publish(thread);
    gv_thread_write_text(thread, name, gv_thread_text_bytes(name), false);
}

static void write_devices(struct gv_thread *thread)
{
    int count = 0;

    if (!gv_driver_calls.device_get_count || !gv_driver_calls.device_get ||
        gv_driver_calls.device_get_count(&count) != 0)
        return;
    for (int i = 0; i < count && i < DEVICES_MOST; i++)
        write_device(thread, i);
}

/* ---- the module ---- */

static void *open_beside(const char *relative)
{
    struct gv_object object;
    static char path[GV_SESSION_PATH_BYTES]; /* once in a process, maybe on a small stack */
    const char *slash;

    if (!gv_objects_at((uintptr_t)gv_plt_slots, &object))
        return NULL;
    slash = strrchr(object.path, '/');
    if (!slash ||
        (size_t)snprintf(path, sizeof path, "%.*s%s/" GV_GPU_MODULE_FILE,
                         (int)(slash - object.path), object.path, relative) >= sizeof path)
        return NULL;
    return access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static const struct gv_gpu_module *open_module(char *why)
{
    const struct gv_gpu_module *found;
    void *handle = open_beside("");

    if (!handle)
        handle = open_beside("/../cupti"); /* in the build tree */
    if (!handle) {
        snprintf(why, GV_SPOOL_WHY_BYTES,
                 GV_GPU_MODULE_FILE " does not lie beside libgpuverify.so, or cannot be opened");
        return NULL;
    }
    found = dlsym(handle, GV_GPU_MODULE_SYMBOL);
    if (found && found->version == GV_GPU_MODULE_VERSION)
        return found;
    snprintf(why, GV_SPOOL_WHY_BYTES, GV_GPU_MODULE_FILE " is of another version of gpuverify");
    return NULL;
}

static void at_exit(int code, void *context)
{
    (void)code;
    (void)context;
    if (gv_process_is_attached_here())
        gv_gpu_finish(gv_process.settings.exit_wait_ms);
}

static bool start_module(void)
{
    struct gv_spool_gpu *gpu = &gv_process.spool.header->gpu;
    const struct gv_gpu_module *found;

    if (module_pid) {
        snprintf(gpu->why, sizeof gpu->why,
                 "a child by fork without exec: CUPTI cannot be used in it");
        return false;
    }
    found = open_module(gpu->why);
    if (!found)
        return false;
    module_pid = gv_process.pid;
    host = (struct gv_gpu_host){
        .now_ns = gv_clock_now_ns,
        .spool = &gv_process.spool,
        .cupti_path = gv_process.settings.cupti,
        .correlation_offset = (char *)&gv_thread.correlation - gv_gpu_thread_pointer(),
        .flush_ms = gv_process.settings.flush_ms,
        .driver_version = atomic_load(&gv_process.spool.header->driver_version),
        .graph_nodes = gv_process.settings.graphs == GV_GRAPHS_NODES,
    };
    if (found->start(&host) != 0)
        return false;
    module = found;
    /* Registered after the driver's own, it runs before them. */
    on_exit(at_exit, NULL);
    return true;
}

static void choose(void)
{
    struct gv_spool_gpu *gpu = &gv_process.spool.header->gpu;

    if (gv_process.settings.gpu == GV_SETTING_GPU_OFF) {
        snprintf(gpu->why, sizeof gpu->why, "GPUVERIFY_GPU=off");
        atomic_store(&gpu->state, GV_GPU_OFF);
        return;
    }
    if (start_module()) {
        atomic_store(&gpu->state, GV_GPU_SEEN);
        return;
    }
    atomic_store(&gpu->state, GV_GPU_HOST_ONLY);
    if (gv_process.settings.gpu == GV_SETTING_GPU_ON)
        gv_log_error("the GPU's side is not recorded: %s", gpu->why);
    else
        gv_log_info("the GPU's side is not recorded: %s", gpu->why);
}

void gv_gpu_start(struct gv_thread *thread)
{
    uint32_t known = atomic_load(&started_pid);
    struct gv_own_work work;

    if (known == gv_process.pid ||
        !atomic_compare_exchange_strong(&started_pid, &known, gv_process.pid))
        return;
    gv_own_work_begin(&work);
    gv_process_note_driver();
    write_devices(thread);
    choose();
    gv_own_work_end(&work);
}

void gv_gpu_finish(int64_t patience_ms)
{
    /* Once: past the first of our exit handlers CUPTI may be gone. */
    if (!module || module_pid != gv_process.pid || atomic_exchange(&ended, 1))
        return;
    module->finish((uint64_t)patience_ms * 1000000u);
}
