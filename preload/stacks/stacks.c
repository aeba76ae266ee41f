#include "preload/stacks/stacks.h"

#include "preload/base/budget.h"
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
#define GV_STACKS_FULL_AT    (GV_STACKS_MOST / 4 * 3)
#define GV_STACKS_OF_OTHERS  (GV_STACKS_MOST / 2) /* the rest is for slow calls */
#define GV_STACK_PATIENCE_MS 200
#define GV_STACKS_OF_FAILED  4u /* of each function */
/* The stack space that taking a stack may need. */
#define GV_STACK_ROOM_BYTES 40960u

GV_HOT uint64_t gv_stacks_least_ns = UINT64_MAX;
GV_HOT uint8_t gv_stacks_chosen_traits;
static atomic_ushort failures[GV_API_COUNT]; /* of each function, as far as they are counted */

/* How much a thread may owe when it takes the first stack of a site: for a call that can wait, and
 * for any other call. */
#define GV_STACKS_FIRST_LATER_NS 20000000
#define GV_STACKS_FIRST_NS       30000000
/* And when it takes that of a call chosen at random. They are few, so it stays far below, whatever
 * else borrows; refusing them by what the program did just before would favour some lines. */
#define GV_STACKS_RANDOM_NS 30000000

/* A site whose calls cannot be told apart without their Python frames. */
#define GV_SITE_HAS_SEVERAL UINT32_MAX
/* The Python frame is read for one of so many waits that the program asked for, whatever is left
 * of the budget. */
#define GV_SITE_LOOKS            128u
#define GV_SITE_LOOKS_OF_SEVERAL 32u

static struct gv_known stacks; /* with their numbers, counted from 1 */
/*
 * Sites, in two kinds of cells. A hash with the Python frame has the number of the site's stack. A
 * hash without it has the cell plus one of the only site that was seen there, or
 * GV_SITE_HAS_SEVERAL.
 */
struct gv_known gv_stack_sites;

struct stack {
    uintptr_t native[GV_STACK_FRAMES_MOST];
    unsigned native_count;
    struct gv_python python; /* if there are Python frames */
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    unsigned frame_count;
    uint64_t top; /* hash of the innermost Python frame with its instruction; 0: none */
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
    if (forked) { /* other threads and what was written are the parent's */
        memset(&stacks, 0, sizeof stacks);
        gv_python_runtime_start_over();
        gv_python_memory_start_over();
    }
    if (settings->stacks == GV_STACKS_OFF)
        gv_stacks_least_ns = UINT64_MAX;
    else if (settings->stacks == GV_STACKS_ALL)
        gv_stacks_least_ns = 0;
    else
        gv_stacks_least_ns = (uint64_t)settings->stall_us * 1000u;
    gv_stacks_chosen_traits =
        settings->stacks == GV_STACKS_STALLS && !forked ? GV_TRAIT_WORKS_ON_GPU : 0;
    if (settings->stacks == GV_STACKS_OFF || forked)
        return;
    if (gv_loader_is_held_here()) {
        warm();
        atomic_store(&is_warm, 1);
    } else if (gv_helper_thread_start(&warming)) {
        gv_stacks_least_ns = UINT64_MAX;
        gv_stacks_chosen_traits = 0;
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

/* Where this library is: looked up once. False: not found. */
static bool find_us(uintptr_t *low, uintptr_t *high)
{
    static _Atomic uintptr_t known_low, known_high;
    struct gv_object us;

    *high = atomic_load_explicit(&known_high, memory_order_acquire);
    *low = atomic_load_explicit(&known_low, memory_order_relaxed);
    if (*high)
        return true;
    if (!gv_objects_at((uintptr_t)gv_plt_slots, &us))
        return false;
    atomic_store_explicit(&known_low, *low = us.low, memory_order_relaxed);
    atomic_store_explicit(&known_high, *high = us.high, memory_order_release);
    return true;
}

static void take_native(struct stack *stack)
{
    void *addresses[GV_STACK_FRAMES_MOST + 8];
    int count = backtrace(addresses, sizeof addresses / sizeof addresses[0]), first = 0;
    uintptr_t low, high;

    if (!find_us(&low, &high))
        return;
    while (first < count && (uintptr_t)addresses[first] >= low &&
           (uintptr_t)addresses[first] < high)
        first++;
    for (; first < count && stack->native_count < GV_STACK_FRAMES_MOST; first++)
        stack->native[stack->native_count++] = (uintptr_t)addresses[first];
}

static void count_missed(void)
{
    atomic_fetch_add(&gv_process.spool.header->lost.python_stacks, 1);
}

/* Until give_back_python(), if it has frames. */
static void take_python(struct stack *stack, uint32_t tid)
{
    struct gv_python *python = &stack->python;

    if (!gv_python_runtime_enter(python, stack->native, stack->native_count))
        return;
    python->memory = gv_python_memory_take(0, tid, GV_PYTHON_WHOLE_STACK);
    if (!python->memory)
        count_missed();
    else if (!gv_python_frames(python, stack->frames, GV_PYTHON_FRAMES_MOST, &stack->frame_count))
        gv_python_runtime_distrust();
    else if (stack->frame_count && !python->trusted)
        gv_python_runtime_trust();
    gv_python_runtime_leave();
    if (gv_python_runtime_is_distrusted())
        stack->frame_count = 0;
}

static void give_back_python(struct stack *stack)
{
    if (stack->python.memory)
        gv_python_memory_give_back(stack->python.memory);
}

/* What changes while it is read may look like anything. */
static void distrust(const struct gv_python *python)
{
    if (!python->is_other)
        gv_python_runtime_distrust();
}

static bool hash_frame(const struct gv_python *python, const struct gv_python_frame *frame,
                       uint64_t *hash)
{
    if (gv_python_frame_hash(python, frame, hash))
        return true;
    distrust(python);
    return false;
}

/* Frames' names, because the address of a freed code object is reused. How many were left out is
 * not mixed in: a recursion has one stack, however deep it is. */
static uint64_t mix_python(struct stack *stack, uint64_t hash)
{
    unsigned kept = 0;

    gv_python_frames_bring(&stack->python, stack->frames, stack->frame_count, false);
    for (unsigned i = 0; i < stack->frame_count; i++) {
        uint64_t frame;

        if (!hash_frame(&stack->python, &stack->frames[i], &frame)) {
            kept = 0;
            break;
        }
        if (i == 0)
            stack->top = gv_mix(frame, stack->frames[0].instruction);
        if (!frame) {
            if (kept)
                stack->frames[kept - 1].left_out += stack->frames[i].left_out;
            continue;
        }
        stack->frames[kept++] = stack->frames[i];
        hash = gv_mix(hash, frame + (stack->frames[i].left_out > 0));
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

/* Of this thread's innermost Python frame, as in struct stack. False: not known. */
static bool find_top(uint32_t tid, uint64_t *top)
{
    struct gv_python_frame frame;
    struct gv_python python;
    unsigned count = 0;
    bool found = true;

    *top = 0;
    if (!gv_python_runtime_enter(&python, NULL, 0))
        return true;
    python.memory = gv_python_memory_take(0, tid, GV_PYTHON_TOP_FRAME);
    if (python.memory) {
        found = gv_python_frames(&python, &frame, 1, &count) &&
                (count == 0 || hash_frame(&python, &frame, top));
        gv_python_memory_give_back(python.memory);
    }
    gv_python_runtime_leave();
    if (count)
        *top = gv_mix(*top, frame.instruction);
    return found && python.memory;
}

/* ---- what is known ---- */

static bool is_full(struct gv_known *known)
{
    return atomic_load_explicit(&known->count, memory_order_relaxed) >= GV_STACKS_FULL_AT;
}

/* The cell with this hash; NULL: none. *is_new: it was given this hash just now, which happens
 * only if `add`. */
static struct gv_known_hash *find(struct gv_known *known, uint64_t hash, bool add, bool *is_new)
{
    *is_new = false;
    for (unsigned i = 0; i < GV_STACKS_MOST; i++) {
        struct gv_known_hash *cell = &known->at[(gv_known_cell(hash) + i) % GV_STACKS_MOST];
        uint64_t found = atomic_load_explicit(&cell->hash, memory_order_acquire);

        if (found == hash)
            return cell;
        if (found)
            continue;
        if (!add || is_full(known))
            return NULL;
        if (!atomic_compare_exchange_strong(&cell->hash, &found, hash)) {
            i--;
            continue;
        }
        *is_new = true;
        return cell;
    }
    return NULL;
}

/* The stack's number. *is_new: the caller must write it. 0: there is no room, or another thread
 * is just giving it its number. */
static uint32_t number_of(uint64_t hash, bool *is_new)
{
    struct gv_known_hash *cell = find(&stacks, hash, true, is_new);

    if (!cell) {
        atomic_fetch_add_explicit(&gv_process.spool.header->lost.stacks, 1, memory_order_relaxed);
        return 0;
    }
    if (*is_new)
        atomic_store_explicit(&cell->number, atomic_fetch_add(&stacks.count, 1) + 1,
                              memory_order_release);
    return atomic_load_explicit(&cell->number, memory_order_acquire);
}

static uint32_t number_at_site(uint64_t site)
{
    bool is_new;
    struct gv_known_hash *cell = find(&gv_stack_sites, site, false, &is_new);

    return cell ? atomic_load_explicit(&cell->number, memory_order_relaxed) : 0;
}

static struct gv_known_hash *add_site(uint64_t site)
{
    bool is_new;
    struct gv_known_hash *cell = find(&gv_stack_sites, site, true, &is_new);

    if (is_new)
        atomic_fetch_add(&gv_stack_sites.count, 1);
    return cell;
}

/* Notes the last stack of a site. */
static void note_site(uint64_t native, uint64_t top, uint32_t number)
{
    struct gv_known_hash *cell = add_site(gv_mix(native, top)), *around = add_site(native);
    uint32_t one, before;

    if (!cell)
        return;
    atomic_store_explicit(&cell->number, number, memory_order_relaxed);
    if (!around)
        return;
    one = (uint32_t)(cell - gv_stack_sites.at) + 1;
    before = atomic_load_explicit(&around->number, memory_order_relaxed);
    if (before != one)
        atomic_store_explicit(&around->number, before ? GV_SITE_HAS_SEVERAL : one,
                              memory_order_relaxed);
}

/* ---- writing ---- */

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

    gv_python_frames_bring(&stack->python, stack->frames, stack->frame_count, true);
    for (unsigned i = 0; i < stack->frame_count; i++) {
        if (!gv_python_place(&stack->python, &stack->frames[i], &place)) {
            distrust(&stack->python);
            return;
        }
        union gv_record record = {
            .python_frame = {
                .head = {.kind = GV_RECORD_PYTHON_FRAME, .flags = GV_RECORD_MORE},
                .line = (uint32_t)place.line,
                .left_out = stack->frames[i].left_out,
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

/* `flags`: GV_RECORD_REPRESENTS or 0 */
static void write_number(struct gv_thread *thread, uint32_t number, uint8_t flags, uint32_t one_of)
{
    union gv_record record = {.stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL,
                                                 .flags = (uint8_t)(GV_RECORD_MORE | flags)},
                                        .number = number,
                                        .call_start_ns = thread->outer_start_ns,
                                        .one_of = one_of}};

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

/* The call's own stack. Its number; 0: none. */
static uint32_t take_and_write(struct gv_thread *thread, uint32_t one_of, uint64_t *top)
{
    struct stack stack;
    uint32_t number = 0;
    uint64_t hash;
    bool is_new;

    stack.native_count = stack.frame_count = 0;
    stack.top = 0;
    stack.python.memory = NULL;
    take_native(&stack);
    take_python(&stack, thread->tid);
    if (stack.native_count || stack.frame_count) {
        hash = hash_of(&stack);
        if (stack.frame_count == 0 &&
            gv_python_runtime_is_missed(stack.native, stack.native_count)) {
            count_missed();
            one_of = 0; /* its line is not known */
        }
        number = number_of(hash, &is_new);
        if (is_new)
            write_new(thread, &stack, number);
        if (number)
            write_number(thread, number, 0, one_of);
    }
    give_back_python(&stack);
    *top = stack.top;
    return number;
}

static void write_own(struct gv_thread *thread, uint64_t native, uint32_t one_of)
{
    uint64_t top;
    uint32_t number = take_and_write(thread, one_of, &top);

    if (number)
        note_site(native, top, number);
}

/* ---- the budget ---- */

/* True for one of `of` calls, not in step with the program's loops. */
static bool is_sample(const struct gv_thread *thread, unsigned of)
{
    return (gv_mix(0, thread->budget_at_ns) >> 32) % of == 0;
}

/* 0: it gets none. */
static void write_representative(struct gv_thread *thread, uint32_t number)
{
    gv_own_cost_spare(gv_process.spool.header->own_cost, GV_OWN_COST_STACKS);
    if (number)
        write_number(thread, number, GV_RECORD_REPRESENTS, 0);
}

/*
 * A call without a stack of its own gets that of an earlier call of its site. To tell sites apart,
 * the innermost Python frame is read: for a stall always, unless the thread owes the most that it
 * may and only one site was seen there; for a wait that the program asked for now and then, and if
 * several sites were seen there, also while the budget lasts.
 */
static void write_within_budget(struct gv_thread *thread, const struct gv_stack_site *site,
                                uint32_t one_of)
{
    uint64_t native = gv_stack_site_hash(thread, site), start_ns, top;
    int64_t budget_ns = thread->budget_ns;
    bool may_be_first =
        budget_ns > -(site->can_wait ? GV_STACKS_FIRST_LATER_NS : GV_STACKS_FIRST_NS);
    uint32_t one = number_at_site(native), number = 0;
    bool has_several = one == GV_SITE_HAS_SEVERAL;
    bool is_chosen = one_of && budget_ns > -GV_STACKS_RANDOM_NS;
    bool takes = is_chosen || (one ? gv_budget_allows(thread, site->can_wait) : may_be_first);
    bool looks = has_several || may_be_first;

    if (site->can_wait)
        looks = may_be_first &&
                (is_sample(thread, has_several ? GV_SITE_LOOKS_OF_SEVERAL : GV_SITE_LOOKS) ||
                 (has_several && budget_ns > 0));
    if (!takes && (!one || !looks)) {
        if (one && !has_several)
            number = atomic_load_explicit(&gv_stack_sites.at[one - 1].number, memory_order_relaxed);
        write_representative(thread, number);
        return;
    }
    start_ns = gv_clock_now_ns();
    if (!takes && find_top(thread->tid, &top))
        number = number_at_site(gv_mix(native, top));
    if (takes || (!number && may_be_first))
        write_own(thread, native, is_chosen ? one_of : 0);
    else
        write_representative(thread, number);
    gv_budget_pay(thread, GV_OWN_COST_STACKS, start_ns);
}

/* Whatever it costs. */
static void write_exactly(struct gv_thread *thread)
{
    uint64_t start_ns = gv_clock_now_ns(), top;

    take_and_write(thread, 0, &top);
    gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_STACKS,
                    gv_clock_now_ns() - start_ns);
}

bool gv_stacks_wanted_of_first(struct gv_thread *thread, const struct gv_stack_site *site)
{
    bool is_new;

    return thread->budget_ns > -GV_STACKS_FIRST_LATER_NS && !is_full(&stacks) &&
           !is_full(&gv_stack_sites) &&
           !find(&gv_stack_sites, gv_stack_site_hash(thread, site), false, &is_new) &&
           gv_stacks_possible();
}

void gv_stacks_write(struct gv_thread *thread, const struct gv_stack_site *site, uint32_t one_of)
{
    int saved_errno = gv_own_work_begin();

    if (can_take(thread)) {
        if (gv_stacks_least_ns == 0)
            write_exactly(thread);
        else
            write_within_budget(thread, site, one_of);
    }
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

uint32_t gv_stacks_write_python(struct gv_thread *thread, const struct gv_python *python,
                                const struct gv_python_frame *frames, unsigned count)
{
    struct stack stack = {.python = *python, .frame_count = count};
    bool is_new = false;
    uint32_t number = 0;
    uint64_t hash;

    memcpy(stack.frames, frames, count * sizeof *frames);
    hash = hash_of(&stack);
    if (stack.frame_count == 0)
        return 0;
    if (atomic_load_explicit(&stacks.count, memory_order_relaxed) < GV_STACKS_OF_OTHERS)
        number = number_of(hash, &is_new);
    else {
        struct gv_known_hash *cell = find(&stacks, hash, false, &is_new);

        number = cell ? atomic_load_explicit(&cell->number, memory_order_acquire) : 0;
    }
    if (is_new)
        write_new(thread, &stack, number);
    return number;
}
