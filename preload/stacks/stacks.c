#include "preload/stacks/stacks.h"

#include "preload/base/helper_thread.h"
#include "preload/base/hot.h"
#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/own_work.h"
#include "preload/bind/plt_slots.h"
#include "preload/stacks/python_frames.h"
#include "preload/stacks/stack_objects.h"
#include "trace/call_table.h"
#include "trace/mix.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define GV_STACK_FRAMES_MOST 64u
#define GV_STACKS_MOST       4096u /* distinct stacks in a process; a power of two */
#define GV_STACKS_FULL_AT    (GV_STACKS_MOST / 4 * 3)
#define GV_STACK_PATIENCE_MS 200
#define GV_STACKS_OF_FAILED  4u /* of each function */
/* The stack space that taking a stack may need. */
#define GV_STACK_ROOM_BYTES 40960u

GV_HOT uint64_t gv_stacks_least_ns = UINT64_MAX;
static atomic_ushort failures[GV_API_COUNT]; /* of each function, as far as they are counted */

struct known_stack {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic uint32_t number;
};
static struct known_stack known[GV_STACKS_MOST];
static _Atomic uint32_t numbers;

struct stack {
    uintptr_t native[GV_STACK_FRAMES_MOST];
    unsigned native_count;
    struct gv_python python; /* if there are Python frames */
    struct gv_python_memory memory;
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    unsigned frame_count;
};

/*
 * glibc's backtrace() loads libgcc_s at its first call, and uses the tables of C++ exceptions: 3 to
 * 6 us for a stack of 20 frames.
 */
static void warm(void)
{
    void *address;

    backtrace(&address, 1);
}

static struct gv_helper_thread warming = {.work = warm};
static _Atomic int is_warm; /* 1, or the thread `warming` says so */
static _Atomic int waited;  /* for it, once in a process */

void gv_stacks_prepare(const struct gv_settings *settings, bool forked)
{
    if (settings->stacks == GV_STACKS_OFF)
        gv_stacks_least_ns = UINT64_MAX;
    else if (settings->stacks == GV_STACKS_ALL)
        gv_stacks_least_ns = 0;
    else
        gv_stacks_least_ns = (uint64_t)settings->stall_us * 1000u;
    if (settings->stacks == GV_STACKS_OFF || forked)
        return;
    if (gv_loader_is_held_here()) {
        warm();
        atomic_store(&is_warm, 1);
    } else if (gv_helper_thread_start(&warming)) {
        gv_stacks_least_ns = UINT64_MAX;
        gv_log_info("no stacks: cannot start a thread");
    }
}

/* The first stack waits a moment for it, unless somebody has the loader's lock. */
static bool can_walk(void)
{
    if (gv_helper_thread_is_done(&warming) || atomic_load_explicit(&is_warm, memory_order_relaxed))
        return true;
    return !atomic_exchange(&waited, 1) && gv_helper_thread_await(&warming, GV_STACK_PATIENCE_MS);
}

static void take_native(struct stack *stack)
{
    void *addresses[GV_STACK_FRAMES_MOST + 8];
    int count = backtrace(addresses, sizeof addresses / sizeof addresses[0]), first = 0;
    struct gv_object us;

    if (!gv_objects_at((uintptr_t)gv_plt_slots, &us))
        return;
    while (first < count && gv_object_has(&us, (uintptr_t)addresses[first]))
        first++;
    for (; first < count && stack->native_count < GV_STACK_FRAMES_MOST; first++)
        stack->native[stack->native_count++] = (uintptr_t)addresses[first];
}

static void take_python(struct stack *stack)
{
    if (!gv_python_runtime_enter(&stack->python, stack->native, stack->native_count))
        return;
    gv_python_memory_forget(&stack->memory);
    stack->python.memory = &stack->memory;
    if (!gv_python_frames(&stack->python, stack->frames, &stack->frame_count))
        gv_python_runtime_distrust();
    else if (stack->frame_count && !stack->python.trusted)
        gv_python_runtime_trust();
    gv_python_runtime_leave();
    if (gv_python_runtime_is_distrusted())
        stack->frame_count = 0;
}

/* Hashes the frames' names, because the address of a freed code object is reused. */
static bool place_of(const struct stack *stack, unsigned i, struct gv_python_place *place)
{
    if (i % GV_PYTHON_AHEAD == 0)
        gv_python_places_ahead(&stack->python, &stack->frames[i], stack->frame_count - i);
    if (gv_python_place(&stack->python, &stack->frames[i], place))
        return true;
    gv_python_runtime_distrust();
    return false;
}

static uint64_t mix_python(struct stack *stack, uint64_t hash)
{
    struct gv_python_place place;
    unsigned kept = 0;

    for (unsigned i = 0; i < stack->frame_count; i++) {
        if (!place_of(stack, i, &place)) {
            kept = 0;
            break;
        }
        if (place.is_hidden)
            continue;
        stack->frames[kept++] = stack->frames[i];
        hash = gv_mix_bytes(hash, place.file, place.file_bytes);
        hash = gv_mix_bytes(hash, place.function, place.function_bytes);
        hash = gv_mix(hash, (uint64_t)(uint32_t)place.line);
    }
    stack->frame_count = kept;
    return hash;
}

static uint64_t hash_of(struct stack *stack)
{
    uint64_t hash = stack->native_count;

    for (unsigned i = 0; i < stack->native_count; i++)
        hash = gv_mix(hash, stack->native[i]);
    hash = mix_python(stack, hash);
    return hash ? hash : 1;
}

/* The stack's number. *is_new: the caller must write it. 0: there is no room, or another thread
 * is just giving it its number. */
static uint32_t number_of(uint64_t hash, bool *is_new)
{
    *is_new = false;
    for (unsigned i = 0; i < GV_STACKS_MOST; i++) {
        struct known_stack *place = &known[(hash + i) % GV_STACKS_MOST];
        uint64_t found = atomic_load_explicit(&place->hash, memory_order_acquire);

        if (found == hash)
            return atomic_load_explicit(&place->number, memory_order_acquire);
        if (found)
            continue;
        if (atomic_load_explicit(&numbers, memory_order_relaxed) >= GV_STACKS_FULL_AT)
            return 0;
        if (!atomic_compare_exchange_strong(&place->hash, &found, hash)) {
            i--;
            continue;
        }
        uint32_t number = atomic_fetch_add(&numbers, 1) + 1;
        atomic_store_explicit(&place->number, number, memory_order_release);
        *is_new = true;
        return number;
    }
    return 0;
}

static bool write_addresses(struct gv_thread *thread, const struct stack *stack)
{
    for (unsigned at = 0; at < stack->native_count; at += GV_RECORD_FRAMES) {
        unsigned left = stack->native_count - at;
        unsigned count = left < GV_RECORD_FRAMES ? left : GV_RECORD_FRAMES;
        union gv_record record = {.head = {.kind = GV_RECORD_FRAMES_OF_STACK,
                                           .flags = GV_RECORD_MORE,
                                           .api = (uint16_t)count}};

        memcpy(record.frames.address, &stack->native[at], count * sizeof stack->native[0]);
        if (!gv_thread_write(thread, GV_ROOM_CODE, &record))
            return false;
    }
    return true;
}

static void write_python(struct gv_thread *thread, const struct stack *stack)
{
    struct gv_python_place place;

    for (unsigned i = 0; i < stack->frame_count && place_of(stack, i, &place); i++) {
        union gv_record record = {
            .python_frame = {
                .head = {.kind = GV_RECORD_PYTHON_FRAME, .flags = GV_RECORD_MORE},
                .line = (uint32_t)place.line,
                .file_bytes = (uint16_t)place.file_bytes,
                .function_bytes = (uint16_t)place.function_bytes,
            }};

        if (!gv_thread_write(thread, GV_ROOM_CODE, &record))
            return;
        /* one text: the file's name, then the function's */
        memcpy(place.file + place.file_bytes, place.function, place.function_bytes);
        gv_thread_write_text(thread, place.file,
                             (uint32_t)(place.file_bytes + place.function_bytes), true);
    }
}

static void write_new(struct gv_thread *thread, const struct stack *stack, uint32_t number)
{
    union gv_record record = {.stack = {
                                  .head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE},
                                  .number = number,
                                  .python_frames = stack->frame_count,
                                  .python_low = stack->frame_count ? stack->python.low : 0,
                                  .python_high = stack->frame_count ? stack->python.high : 0,
                              }};

    gv_stack_objects_tell(thread, stack->native, stack->native_count);
    if (gv_thread_write(thread, GV_ROOM_CODE, &record) && write_addresses(thread, stack))
        write_python(thread, stack);
}

static void write_number(struct gv_thread *thread, uint32_t number)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE},
                  .number = number,
                  .call_start_ns = thread->outer_start_ns}};

    gv_thread_write(thread, GV_ROOM_CODE, &record);
}

/* Asked once for each thread: for the first one, glibc reads all of /proc/self/maps. */
static void find_bounds(struct gv_thread *thread)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    thread->stack_low = thread->stack_high = 1;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        thread->stack_low = (uintptr_t)low;
        thread->stack_high = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* A thread with the smallest stack has made its call with what it has, so we must not need more.
 * On a signal's alternate stack, the free space is unknown. */
static bool has_room(struct gv_thread *thread)
{
    char here;
    uintptr_t now = (uintptr_t)&here;

    if (thread->stack_low == 0)
        find_bounds(thread);
    return now > thread->stack_low && now < thread->stack_high &&
           now - thread->stack_low > GV_STACK_ROOM_BYTES;
}

/* In a forked child, a thread that does not exist here may have a lock of the unwinder. */
static bool can_take(struct gv_thread *thread)
{
    return !gv_process.forked && can_walk() && has_room(thread);
}

bool gv_stacks_possible(void)
{
    bool can;

    if (gv_stacks_least_ns == UINT64_MAX)
        return false;
    int saved_errno = gv_own_work_begin();
    can = can_take(&gv_thread);
    gv_own_work_end(saved_errno);
    return can;
}

bool gv_stacks_wanted_of_failed(unsigned api)
{
    if (api >= GV_API_COUNT ||
        atomic_load_explicit(&failures[api], memory_order_relaxed) >= GV_STACKS_OF_FAILED)
        return false;
    return gv_stacks_possible() &&
           atomic_fetch_add_explicit(&failures[api], 1, memory_order_relaxed) < GV_STACKS_OF_FAILED;
}

static void take_and_write(struct gv_thread *thread)
{
    struct stack stack;
    uint64_t hash;
    uint32_t number;
    bool is_new;

    stack.native_count = stack.frame_count = 0;
    take_native(&stack);
    take_python(&stack);
    if (stack.native_count == 0 && stack.frame_count == 0)
        return;
    hash = hash_of(&stack);
    if (stack.frame_count == 0 && gv_python_runtime_is_missed(stack.native, stack.native_count))
        atomic_fetch_add(&gv_process.spool.header->lost.python_stacks, 1);
    number = number_of(hash, &is_new);
    if (is_new)
        write_new(thread, &stack, number);
    if (number)
        write_number(thread, number);
}

void gv_stacks_write(struct gv_thread *thread)
{
    int saved_errno = gv_own_work_begin();

    if (can_take(thread))
        take_and_write(thread);
    gv_own_work_end(saved_errno);
}

uint32_t gv_stacks_write_function(struct gv_thread *thread, uintptr_t function)
{
    struct stack stack;
    uint32_t number;
    bool is_new;

    if (!gv_stacks_possible())
        return 0;
    int saved_errno = gv_own_work_begin();
    stack.native[0] = function + 1; /* as a return address: the code is before it */
    stack.native_count = 1;
    stack.frame_count = 0;
    number = number_of(hash_of(&stack), &is_new);
    if (is_new)
        write_new(thread, &stack, number);
    gv_own_work_end(saved_errno);
    return number;
}
