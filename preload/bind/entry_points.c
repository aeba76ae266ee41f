#include "preload/bind/entry_points.h"

#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "trace/gpu_module.h"
#include "trace/mix.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

void *gv_real_driver[GV_DRIVER_COUNT];
void *gv_real_runtime[GV_RUNTIMES][GV_RUNTIME_COUNT];
void *gv_real_nccl[GV_NCCL_COUNT];
struct gv_driver_calls gv_driver_calls;
struct gv_nccl_calls gv_nccl_calls;

static void *const *const runtime_hooks[GV_RUNTIMES] = {gv_hooks_runtime0, gv_hooks_runtime1,
                                                        gv_hooks_runtime2, gv_hooks_runtime3};

/* A CUDA library that was found: index 0 is the driver, 1 + i the runtime number i, and
 * the last one NCCL. */
struct library {
    struct gv_object object;
    char name[64]; /* its DT_SONAME */
    _Atomic int known;
    unsigned learned; /* how often this slot was filled */
};

#define NCCL      (1 + GV_RUNTIMES)
#define LIBRARIES (NCCL + 1)

static struct library libraries[LIBRARIES];
static _Atomic bool any_bound; /* there is something to forget */
static atomic_flag learning = ATOMIC_FLAG_INIT;

/* Locked for some microseconds, by a thread that found a library or saw one go. Signals are
 * blocked: a handler that asks for a call would wait for the thread that it interrupted. */
static void learning_begin(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    while (atomic_flag_test_and_set_explicit(&learning, memory_order_acquire))
        sched_yield();
}

static void learning_end(const sigset_t *before)
{
    atomic_flag_clear_explicit(&learning, memory_order_release);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Of the forking thread. */
static sigset_t before_fork;

void gv_entry_points_hold(void)
{
    sigset_t before;

    learning_begin(&before);
    before_fork = before;
}

static bool is_driver_name(const char *name)
{
    return strcmp(name, "libcuda.so.1") == 0 || strcmp(name, "libcuda.so") == 0;
}

/* Python wheels rename it: libcudart-9335f6a2.so.12.4.99 */
static bool is_runtime_name(const char *name)
{
    size_t stem = strlen("libcudart");

    return strncmp(name, "libcudart", stem) == 0 && (name[stem] == '.' || name[stem] == '-') &&
           strstr(name, ".so") != NULL;
}

static bool is_nccl_name(const char *name)
{
    return strcmp(name, "libnccl.so.2") == 0 || strcmp(name, "libnccl.so") == 0;
}

bool gv_entry_points_is_cuda(const struct gv_object *object)
{
    const char *name = gv_object_name(object);

    return is_driver_name(name) || is_runtime_name(name) || is_nccl_name(name);
}

/* ---- addresses of the driver ---- */

/* Maps addresses of the mapped driver to calls of the table. Looking up is lock-free, on any
 * thread. Adding and forgetting is for one thread at a time. */

#define CELLS 1024u

_Static_assert(GV_DRIVER_COUNT * 2 < CELLS, "at most half full");

static struct {
    _Atomic uintptr_t address;
    _Atomic int api;
} cells[CELLS];

static uint32_t hash_of(uintptr_t address)
{
    return (uint32_t)(gv_mix(0, address) >> 40);
}

static void addresses_add(void *address, int api)
{
    uint32_t cell = hash_of((uintptr_t)address);

    while (atomic_load(&cells[cell % CELLS].address))
        cell++;
    atomic_store(&cells[cell % CELLS].api, api);
    atomic_store(&cells[cell % CELLS].address, (uintptr_t)address);
}

static void addresses_forget(void)
{
    for (uint32_t cell = 0; cell < CELLS; cell++)
        atomic_store(&cells[cell].address, 0);
}

/* The number of the driver call at this address, or -1. While another driver replaces this one, it
 * may be the number of another call: the caller must compare. */
static int addresses_find(void *address)
{
    for (uint32_t cell = hash_of((uintptr_t)address);; cell++) {
        uintptr_t found = atomic_load(&cells[cell % CELLS].address);

        if (found == (uintptr_t)address)
            return atomic_load(&cells[cell % CELLS].api);
        if (!found)
            return -1;
    }
}

/* ---- finding libraries ---- */

/* Hooks and look-ups read it meanwhile. */
static void set_real(void **real, void *address)
{
    __atomic_store_n(real, address, __ATOMIC_RELEASE);
}

static void learn_driver(const struct gv_object *object)
{
    static const struct {
        const char *name;
        size_t offset;
    } own_calls[] = {
        {"cuCtxGetCurrent", offsetof(struct gv_driver_calls, context_get_current)},
        {"cuCtxGetDevice", offsetof(struct gv_driver_calls, context_get_device)},
        {"cuGraphGetNodes", offsetof(struct gv_driver_calls, graph_get_nodes)},
        {"cuDevicePrimaryCtxGetState", offsetof(struct gv_driver_calls, primary_context_get_state)},
        {"cuFuncGetName", offsetof(struct gv_driver_calls, function_get_name)},
        {"cuFuncGetModule", offsetof(struct gv_driver_calls, function_get_module)},
        {"cuKernelGetName", offsetof(struct gv_driver_calls, kernel_get_name)},
        {"cuKernelGetLibrary", offsetof(struct gv_driver_calls, kernel_get_library)},
        {"cuDriverGetVersion", offsetof(struct gv_driver_calls, driver_get_version)},
        {"cuDeviceGetCount", offsetof(struct gv_driver_calls, device_get_count)},
        {"cuDeviceGet", offsetof(struct gv_driver_calls, device_get)},
        {"cuDeviceGetName", offsetof(struct gv_driver_calls, device_get_name)},
        {"cuDeviceGetAttribute", offsetof(struct gv_driver_calls, device_get_attribute)},
        {"cuDeviceGetUuid", offsetof(struct gv_driver_calls, device_get_uuid)},
        {"cuDeviceTotalMem_v2", offsetof(struct gv_driver_calls, device_total_memory)},
        {"cuCtxSetCurrent", offsetof(struct gv_driver_calls, context_set_current)},
        {"cuEventCreate", offsetof(struct gv_driver_calls, event_create)},
        {"cuEventRecord", offsetof(struct gv_driver_calls, event_record)},
        {"cuEventQuery", offsetof(struct gv_driver_calls, event_query)},
        {"cuEventElapsedTime", offsetof(struct gv_driver_calls, event_elapsed_time)},
        {"cuStreamCreate", offsetof(struct gv_driver_calls, stream_create)},
        {"cuStreamGetCtx", offsetof(struct gv_driver_calls, stream_get_context)},
        {"cuStreamIsCapturing", offsetof(struct gv_driver_calls, stream_is_capturing)},
        {"cuThreadExchangeStreamCaptureMode",
         offsetof(struct gv_driver_calls, thread_exchange_capture_mode)},
    };

    for (int api = 0; api < GV_DRIVER_COUNT; api++) {
        void *address = gv_object_symbol(object, gv_api_rows[api].name);

        set_real(&gv_real_driver[api], address);
        if (address)
            addresses_add(address, api);
    }
    for (size_t i = 0; i < sizeof own_calls / sizeof own_calls[0]; i++)
        set_real((void **)(void *)((char *)&gv_driver_calls + own_calls[i].offset),
                 gv_object_symbol(object, own_calls[i].name));
}

static void learn_runtime(const struct gv_object *object, int instance)
{
    for (int i = 0; i < GV_RUNTIME_COUNT; i++)
        set_real(&gv_real_runtime[instance][i],
                 gv_object_symbol(object, gv_api_rows[GV_DRIVER_COUNT + i].name));
}

static void learn_nccl(const struct gv_object *object)
{
    for (int i = 0; i < GV_NCCL_COUNT; i++)
        set_real(&gv_real_nccl[i], gv_object_symbol(object, gv_api_rows[GV_CUDA_COUNT + i].name));
    set_real((void **)(void *)&gv_nccl_calls.count, gv_object_symbol(object, "ncclCommCount"));
    set_real((void **)(void *)&gv_nccl_calls.user_rank,
             gv_object_symbol(object, "ncclCommUserRank"));
}

static int find_known(const struct gv_object *object)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (atomic_load_explicit(&libraries[i].known, memory_order_acquire) &&
            libraries[i].object.base == object->base &&
            libraries[i].object.dynamic == object->dynamic)
            return i;
    return -1;
}

static int learn_into(int index, const struct gv_object *object, const char *name)
{
    struct library *library = &libraries[index];

    atomic_store(&any_bound, true);
    library->object = *object;
    library->learned++;
    strncpy(library->name, name, sizeof library->name - 1);
    if (index == 0)
        learn_driver(object);
    else if (index == NCCL)
        learn_nccl(object);
    else
        learn_runtime(object, index - 1);
    atomic_store_explicit(&library->known, 1, memory_order_release);
    return index;
}

/* The number of this CUDA library, or -1. */
static int library_of(const struct gv_object *object)
{
    const char *name = gv_object_name(object);
    int first = is_driver_name(name) ? 0 : is_nccl_name(name) ? NCCL : 1;
    int end = first == 1 ? NCCL : first + 1;
    int index;
    sigset_t before;

    if (first == 1 && !is_runtime_name(name))
        return -1;
    learning_begin(&before);
    index = find_known(object);
    for (int i = first; index < 0 && i < end; i++)
        if (!atomic_load(&libraries[i].known))
            index = learn_into(i, object, name);
    learning_end(&before);
    return index;
}

static int library_at(uintptr_t address)
{
    struct gv_object object;
    sigset_t before;
    int index = -1;

    learning_begin(&before);
    for (int i = 0; i < LIBRARIES && index < 0; i++)
        if (atomic_load(&libraries[i].known) && gv_object_has(&libraries[i].object, address))
            index = i;
    learning_end(&before);
    if (index >= 0)
        return index;
    return gv_objects_at(address, &object) ? library_of(&object) : -1;
}

/* ---- swapping ---- */

static bool runtime_is_hooked(int api)
{
    return gv_process_records_runtime() || gv_api_rows[api].class == GV_CLASS_REGISTER;
}

/* Whether a call of the table is one of this library's. */
static bool has_call(int library, int api)
{
    if (library == 0)
        return api < GV_DRIVER_COUNT;
    return library == NCCL ? api >= GV_CUDA_COUNT : gv_api_in_runtime(api);
}

static void *hook_of(int library, int api)
{
    if (library == 0)
        return gv_hooks_driver[api];
    if (library == NCCL)
        return gv_hooks_nccl[api - GV_CUDA_COUNT];
    return runtime_hooks[library - 1][api - GV_DRIVER_COUNT];
}

static void *real_of(int library, int api)
{
    void **real;

    if (library == 0)
        real = &gv_real_driver[api];
    else if (library == NCCL)
        real = &gv_real_nccl[api - GV_CUDA_COUNT];
    else
        real = &gv_real_runtime[library - 1][api - GV_DRIVER_COUNT];
    return __atomic_load_n(real, __ATOMIC_ACQUIRE);
}

void *gv_entry_points_swap(void *address, int api)
{
    int library = library_at((uintptr_t)address);

    if (library < 0 || !has_call(library, api))
        return address;
    if (gv_api_in_runtime(api) && !runtime_is_hooked(api))
        return address;
    return real_of(library, api) == address ? hook_of(library, api) : address;
}

void *gv_entry_points_swap_driver(void *address)
{
    int api;

    if (!atomic_load_explicit(&libraries[0].known, memory_order_acquire) &&
        library_at((uintptr_t)address) != 0)
        return address;
    api = addresses_find(address);
    return api >= 0 && real_of(0, api) == address ? gv_hooks_driver[api] : address;
}

/* ---- unloaded libraries ---- */

/* The last object that asked for an entry point and is not a tool. One word has its first page
 * and its number of pages. */
#define PAGE_BYTES 4096u
#define MOST_PAGES ((1u << 20) - 1)

static _Atomic uint64_t plain;

static bool is_plain(uintptr_t caller)
{
    uint64_t known = atomic_load(&plain);

    return caller / PAGE_BYTES - known / (MOST_PAGES + 1) < known % (MOST_PAGES + 1);
}

static uint64_t pages_of(const struct gv_object *object)
{
    uint64_t first = (object->low + PAGE_BYTES - 1) / PAGE_BYTES;
    uint64_t count = object->high / PAGE_BYTES - first;

    return first * (MOST_PAGES + 1) + (count < MOST_PAGES ? count : MOST_PAGES);
}

/* Threads in dlclose(). What finalizers bind must not outlive the call: the library may be gone,
 * and mapped elsewhere by another thread, before we notice. */
static _Atomic int closing;

static void forget(int index)
{
    atomic_store(&libraries[index].known, 0);
    if (index == 0)
        addresses_forget();
}

static bool forget_if_gone(int index)
{
    struct library *library = &libraries[index];
    struct gv_object object;
    unsigned learned;
    sigset_t before;
    bool known;

    learning_begin(&before);
    known = atomic_load(&library->known);
    object = library->object;
    learned = library->learned;
    learning_end(&before);
    /* Called without our lock: the loader has its own, under which a program may call us. */
    if (!known || gv_objects_mapped(&object))
        return false;
    learning_begin(&before);
    known = atomic_load(&library->known) && library->learned == learned;
    if (known)
        forget(index);
    learning_end(&before);
    return known;
}

static void unbind(int first)
{
    sigset_t before;

    learning_begin(&before);
    for (int api = first; api < GV_API_COUNT; api++)
        gv_plt_slot_unbind(&gv_plt_slots[api]);
    learning_end(&before);
}

static void forget_unmapped(void)
{
    bool any = false;

    atomic_store(&plain, 0);
    if (!atomic_load(&any_bound))
        return;
    for (int i = 0; i < LIBRARIES; i++)
        any |= forget_if_gone(i);
    /* Also when an object with cached calls went: another one may be mapped at its address. */
    unbind(any ? 0 : GV_DRIVER_COUNT);
}

/* Another thread may have unmapped a library and not yet forgotten it, while this one asks for
 * the same library at another address. Returns how many were unloaded so far. */
static unsigned long long forget_what_others_unmapped(void)
{
    static _Atomic unsigned long long seen;
    unsigned long long unloads = gv_objects_unloads();

    if (unloads != atomic_load(&seen)) {
        forget_unmapped();
        atomic_store(&seen, unloads);
    }
    return unloads;
}

void gv_entry_points_release(bool in_child)
{
    sigset_t before = before_fork;

    if (in_child)
        atomic_store(&closing, 0); /* the other threads do not exist here */
    learning_end(&before);
}

void gv_entry_points_begin_close(void)
{
    atomic_fetch_add(&closing, 1);
    if (atomic_load(&any_bound))
        unbind(0);
}

void gv_entry_points_end_close(void)
{
    int threads = atomic_load(&closing);

    forget_unmapped();
    while (threads > 0 && !atomic_compare_exchange_weak(&closing, &threads, threads - 1))
        ;
}

bool gv_entry_points_is_tool(uintptr_t caller)
{
    unsigned long long unloads = forget_what_others_unmapped();
    struct gv_object object;
    uint64_t pages;
    const char *name;

    if (is_plain(caller) || !gv_objects_at(caller, &object))
        return false;
    name = gv_object_name(&object);
    if (strncmp(name, "libcupti", 8) == 0 || strncmp(name, "libnvperf", 9) == 0 ||
        strcmp(name, GV_GPU_MODULE_FILE) == 0)
        return true;
    pages = pages_of(&object);
    atomic_store(&plain, pages);
    /* It may have been unloaded and forgotten before it was noted. */
    if (gv_objects_unloads() != unloads)
        atomic_compare_exchange_strong(&plain, &pages, 0);
    return false;
}

/* ---- binding PLT calls ---- */

/* CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, and cudaErrorSharedObjectSymbolNotFound. */
static int answer_missing(void)
{
    return 302;
}

struct search {
    const char *name;
    bool runtime;
    bool past_us;
    bool is_linked_with;            /* consider only the libcudart that the caller names */
    const struct gv_object *caller; /* NULL: unknown */
    struct gv_object object;
    void *found;
};

/*
 * Whether the caller's look-up, without us, would reach `object`. A library opened later with
 * dlopen() counts if the caller needs it, or if it is CUDA itself: a program may have opened it
 * with RTLD_GLOBAL.
 */
static bool is_in_sight(const struct search *search, const struct gv_object *object)
{
    if (search->is_linked_with && is_runtime_name(gv_object_name(object)))
        return search->caller && gv_object_needs(search->caller, gv_object_name(object));
    return object->at_startup || gv_entry_points_is_cuda(object) ||
           (search->caller && gv_object_reaches(search->caller, object));
}

/* Those before us were found first and called us: the wrappers of another preloaded library. */
static bool is_first_definition(const struct gv_object *object, void *context)
{
    struct search *search = context;

    if (gv_object_is_us(object))
        search->past_us = true;
    if (!search->past_us || gv_object_is_us(object))
        return false;
    search->found = gv_object_symbol(object, search->name);
    if (!search->found || !is_in_sight(search, object))
        search->found = NULL;
    search->object = *object;
    return search->found != NULL;
}

static void *target_of(const struct search *search, int api)
{
    int library = library_of(&search->object);

    if (library < 0 || (gv_api_in_runtime(api) && !runtime_is_hooked(api)) ||
        !has_call(library, api) || !gv_process_is_ours())
        return search->found;
    return real_of(library, api) == search->found ? hook_of(library, api) : search->found;
}

/* For every later call through this slot; for a runtime slot, those from the same object. */
static void keep_target(struct gv_plt_slot *slot, const struct search *search, void *target)
{
    sigset_t before;

    /* What only this caller sees must not be used for others. */
    if (!search->object.at_startup && !gv_entry_points_is_cuda(&search->object))
        return;
    learning_begin(&before);
    if (!atomic_load(&closing)) {
        if (!search->runtime)
            atomic_store(&slot->target, target);
        else if (search->caller)
            gv_plt_slot_bind(slot, search->caller->low, search->caller->high, target);
    }
    learning_end(&before);
}

void *gv_entry_points_bind(struct gv_plt_slot *slot, uintptr_t caller)
{
    int api = (int)(slot - gv_plt_slots);
    struct search search = {.name = gv_api_rows[api].name, .runtime = gv_api_in_runtime(api)};
    struct gv_object from;
    void *target = gv_plt_slot_find(slot, caller);

    if (target)
        return target;
    forget_what_others_unmapped();
    if (gv_objects_at(caller, &from))
        search.caller = &from;
    /*
     * With several libcudarts, a caller means the one that it was linked with. A caller that names
     * none (a tail call: the return address is its caller's) gets the first one in look-up order.
     */
    search.is_linked_with = search.runtime;
    if (!gv_objects_visit(is_first_definition, &search) && search.runtime) {
        search.is_linked_with = false;
        search.past_us = false;
        gv_objects_visit(is_first_definition, &search);
    }
    if (!search.found)
        return (void *)answer_missing;
    target = target_of(&search, api);
    atomic_store(&any_bound, true);
    keep_target(slot, &search, target);
    return target;
}
