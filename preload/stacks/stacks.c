#include "preload/stacks/stacks.h"

#include "preload/base/budget.h"
#include "preload/base/hot.h"
#include "preload/base/own_memory.h"
#include "preload/base/own_work.h"
#include "preload/stacks/python_take.h"
#include "preload/stacks/stack_copy.h"
#include "preload/stacks/stack_objects.h"
#include "trace/call_table.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GV_STACKS_OF_FAILED 4u /* of each function */
/* The stack space that taking a stack may need. */
#define GV_STACK_ROOM_BYTES 8192u

GV_HOT uint64_t gv_stacks_least_ns = UINT64_MAX;
GV_HOT uint8_t gv_stacks_chosen_traits;
/* What a call adds to a graph runs as often as the graph: it gets its own, up to so many in the
 * process. */
#define GV_STACKS_OF_NODES 16384u
static atomic_uint of_nodes;
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

static struct gv_known written; /* stacks that are no copies, with their numbers from 1 on */
/*
 * Sites, in two kinds of cells. A hash with the Python frame has the number 1 if the site has
 * a stack; the site's own number is the cell plus one. A hash without the Python frame has the
 * number of the only site that was seen there, or GV_SITE_HAS_SEVERAL.
 */
struct gv_known gv_stack_sites;
_Static_assert(GV_KNOWN_CELLS == GV_STACK_SITES, "a site's number is its cell's");

void gv_stacks_start(const struct gv_settings *settings, bool forked)
{
    if (forked) { /* other threads and what was written are the parent's */
        memset(&written, 0, sizeof written);
        gv_python_start_over();
    }
    if (settings->stacks != GV_STACKS_OFF || settings->idle_stacks != GV_IDLE_STACKS_OFF)
        gv_stack_objects_start();
    if (settings->stacks == GV_STACKS_OFF || forked)
        return;
    gv_stack_copy_start();
    gv_python_prepare((uint32_t)syscall(SYS_gettid));
    gv_stacks_least_ns =
        settings->stacks == GV_STACKS_ALL ? 0 : (uint64_t)settings->stall_us * 1000u;
    gv_stacks_chosen_traits = settings->stacks == GV_STACKS_STALLS ? GV_TRAIT_SAMPLED : 0;
}

/* ---- what is known ---- */

/* Of a stack that is no copy. *is_new: the caller must write it. 0: there is no room, or another
 * thread is just giving it its number. */
static uint32_t number_of(uint64_t hash, bool *is_new)
{
    struct gv_known_hash *cell = gv_known_find(&written, hash ? hash : 1, true, is_new);

    if (!cell) {
        atomic_fetch_add_explicit(&gv_process.spool.header->lost.stacks, 1, memory_order_relaxed);
        return 0;
    }
    if (*is_new)
        atomic_store_explicit(&cell->number, atomic_fetch_add(&written.count, 1) + 1,
                              memory_order_release);
    return atomic_load_explicit(&cell->number, memory_order_acquire);
}

static struct gv_known_hash *add_site(uint64_t site)
{
    bool is_new;
    struct gv_known_hash *cell = gv_known_find(&gv_stack_sites, site, true, &is_new);

    if (is_new)
        atomic_fetch_add(&gv_stack_sites.count, 1);
    return cell;
}

/* What is known of the sites with this hash, which lacks the Python frame: 0, nothing. */
static uint32_t sites_at(uint64_t native)
{
    bool is_new;
    struct gv_known_hash *cell = gv_known_find(&gv_stack_sites, native, false, &is_new);

    return cell ? atomic_load_explicit(&cell->number, memory_order_relaxed) : 0;
}

static uint32_t site_number(const struct gv_known_hash *cell)
{
    return (uint32_t)(cell - gv_stack_sites.at) + 1;
}

/* Its number if it has a stack; 0: it has none. */
static uint32_t site_with_stack(uint64_t native, uint64_t top)
{
    bool is_new;
    struct gv_known_hash *cell =
        gv_known_find(&gv_stack_sites, gv_mix(native, top), false, &is_new);

    return cell && atomic_load_explicit(&cell->number, memory_order_relaxed) ? site_number(cell)
                                                                             : 0;
}

/* Its number; 0: there is no room for it. */
static uint32_t note_site(uint64_t native, uint64_t top)
{
    struct gv_known_hash *cell = add_site(gv_mix(native, top)), *around = add_site(native);
    uint32_t one, before;

    if (!cell)
        return 0;
    atomic_store_explicit(&cell->number, 1, memory_order_relaxed);
    one = site_number(cell);
    if (!around)
        return one;
    before = atomic_load_explicit(&around->number, memory_order_relaxed);
    if (before != one)
        atomic_store_explicit(&around->number, before ? GV_SITE_HAS_SEVERAL : one,
                              memory_order_relaxed);
    return one;
}

/* ---- writing ---- */

static void write_new(struct gv_thread *thread, uint32_t number, uintptr_t function,
                      const struct gv_python_position *positions, unsigned count)
{
    union gv_record record = {.stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE},
                                        .number = number,
                                        .function = function}};

    if (!gv_thread_write(thread, GV_ROOM_CODE, &record))
        return;
    for (unsigned at = 0; at < count; at += GV_RECORD_POSITIONS) {
        unsigned used = count - at < GV_RECORD_POSITIONS ? count - at : GV_RECORD_POSITIONS;

        record = (union gv_record){.python_frames = {.head = {.kind = GV_RECORD_PYTHON_FRAMES,
                                                              .flags = GV_RECORD_MORE,
                                                              .api = (uint16_t)used}}};
        memcpy(record.python_frames.position, &positions[at], used * sizeof *positions);
        if (!gv_thread_write(thread, GV_ROOM_CODE, &record))
            return;
    }
}

/* No stack is taken for this call: it gets the last one of its site; 0: none. */
static void write_representative(struct gv_thread *thread, uint32_t site)
{
    union gv_record *record;

    gv_thread_count(&thread->slot->stacks_spared);
    record = site ? gv_thread_reserve(thread, GV_ROOM_CODE) : NULL;
    if (!record)
        return;
    record->stack = (struct gv_record_stack){
        .head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE | GV_RECORD_REPRESENTS},
        .call_start_ns = thread->outer_start_ns,
        .site = site};
    gv_thread_publish(thread);
}

/* The call has its own. `native`: its site; 0: any. False: there is no room for a copy. */
static bool write_own(struct gv_thread *thread, uint64_t native, uint32_t one_of,
                      enum gv_stack_room room)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE},
                  .one_of = one_of,
                  .call_start_ns = thread->outer_start_ns}};
    struct gv_stack_taken taken;
    struct gv_stack_copy *copy;
    unsigned count = 0;

    if (!gv_stack_copy_take(thread, room, &taken))
        return false;
    copy = taken.copy;
    if (!gv_python_take(thread, copy->position, &count, &copy->python_low, &copy->python_high)) {
        copy->flags |= GV_STACK_COPY_LACKS_PYTHON;
        atomic_fetch_add(&gv_process.spool.header->lost.python_stacks, 1);
        record.stack.one_of = 0; /* its line is not known */
    }
    copy->position_count = (uint16_t)count;
    gv_stack_copy_finish(&taken);
    record.stack.copy = taken.chunk;
    record.stack.serial = taken.serial;
    if (native)
        record.stack.site = note_site(native, count ? gv_python_top_of(copy->position) : 0);
    if (gv_thread_write(thread, GV_ROOM_CODE, &record)) {
        gv_stack_copy_hand_over(&taken);
    } else {
        if (record.stack.site) /* it has no stack yet, so the next call takes one */
            atomic_store_explicit(&gv_stack_sites.at[record.stack.site - 1].number, 0,
                                  memory_order_relaxed);
        gv_stack_copy_drop(&taken);
    }
    return true;
}

/* A thread with the smallest stack has made its call with what it has, so we must not need more.
 * Where a coroutine's or a signal's stack ends is not known. */
static bool has_room(struct gv_thread *thread)
{
    char here;
    uintptr_t now = (uintptr_t)&here;

    gv_stack_copy_find_bounds(thread);
    if (now > thread->stack_low && now < thread->stack_high)
        return now - thread->stack_low > GV_STACK_ROOM_BYTES;
    /* Each page, as one of them can be a guard. */
    return gv_own_memory_is_readable(now - GV_STACK_ROOM_BYTES / 2) &&
           gv_own_memory_is_readable(now - GV_STACK_ROOM_BYTES);
}

/* A child that was forked by a process which uses CUDA cannot use it. */
static bool can_take(struct gv_thread *thread)
{
    return !gv_process.forked && has_room(thread);
}

/* Whether a call of this thread can get one. */
static bool is_possible(void)
{
    bool can;

    if (!gv_stacks_are_on())
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
    return is_possible() &&
           atomic_fetch_add_explicit(&failures[api], 1, memory_order_relaxed) < GV_STACKS_OF_FAILED;
}

/* ---- the budget ---- */

/* True for one of `of` calls, not in step with the program's loops. */
static bool is_sample(const struct gv_thread *thread, unsigned of)
{
    return (gv_mix(0, thread->stacks.at_ns) >> 32) % of == 0;
}

/* Of the thread as it stands; 0: it has no stack, or cannot be told. */
static uint32_t site_of_thread(struct gv_thread *thread, uint64_t native)
{
    uint64_t top;

    return gv_python_top(thread, &top) ? site_with_stack(native, top) : 0;
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
    uint64_t native = gv_stack_site_hash(thread, site), start_ns;
    int64_t budget_ns = thread->stacks.left_ns;
    bool may_be_first =
        budget_ns > -(site->can_wait ? GV_STACKS_FIRST_LATER_NS : GV_STACKS_FIRST_NS);
    uint32_t one = sites_at(native), site_of_top = 0;
    bool has_several = one == GV_SITE_HAS_SEVERAL;
    bool is_chosen = one_of && budget_ns > -GV_STACKS_RANDOM_NS;
    bool takes = is_chosen ||
                 (one ? !site->is_short && gv_budget_allows(thread, site->can_wait) : may_be_first);
    bool looks = has_several || may_be_first, took;

    if (site->can_wait)
        looks = may_be_first &&
                (is_sample(thread, has_several ? GV_SITE_LOOKS_OF_SEVERAL : GV_SITE_LOOKS) ||
                 (has_several && budget_ns > 0));
    if (!takes && (!one || !looks)) {
        if (one && !has_several)
            site_of_top = one;
        write_representative(thread, site_of_top);
        return;
    }
    start_ns = gv_clock_now_ns();
    if (!takes)
        site_of_top = site_of_thread(thread, native);
    took = (takes || (!site_of_top && may_be_first)) &&
           write_own(thread, native, is_chosen ? one_of : 0,
                     is_chosen ? GV_STACK_ROOM_CHOSEN : GV_STACK_ROOM_REST);
    if (!took && takes && one) /* there was no room */
        site_of_top = site_of_thread(thread, native);
    if (!took)
        write_representative(thread, site_of_top);
    gv_budget_pay(thread, GV_OWN_COST_STACKS, start_ns);
}

/* Whatever it costs. */
static void write_exactly(struct gv_thread *thread, uint64_t native, uint32_t one_of)
{
    uint64_t start_ns = gv_clock_now_ns();

    write_own(thread, native, one_of, GV_STACK_ROOM_WAITS);
    gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_STACKS,
                    gv_clock_now_ns() - start_ns);
}

bool gv_stacks_wanted_of_first(struct gv_thread *thread, const struct gv_stack_site *site)
{
    bool is_new;

    return thread->stacks.left_ns > -GV_STACKS_FIRST_LATER_NS &&
           !gv_known_is_full(&gv_stack_sites) &&
           !gv_known_find(&gv_stack_sites, gv_stack_site_hash(thread, site), false, &is_new) &&
           is_possible();
}

void gv_stacks_write(struct gv_thread *thread, const struct gv_stack_site *site, uint32_t one_of)
{
    int saved_errno = gv_own_work_begin();

    if (can_take(thread)) {
        if (gv_stacks_least_ns == 0)
            write_exactly(thread, 0, 0);
        else if (site->is_node && atomic_fetch_add(&of_nodes, 1) < GV_STACKS_OF_NODES)
            write_exactly(thread, gv_stack_site_hash(thread, site), one_of);
        else
            write_within_budget(thread, site, one_of);
    }
    gv_own_work_end(saved_errno);
}

uint32_t gv_stacks_write_function(struct gv_thread *thread, uintptr_t function)
{
    uint32_t number = 0;
    bool is_new;

    if (!gv_stacks_are_on())
        return 0;
    int saved_errno = gv_own_work_begin();
    if (can_take(thread)) {
        gv_stack_objects_look();
        number = number_of(gv_mix(1, function), &is_new);
        if (is_new)
            write_new(thread, number, function, NULL, 0);
    }
    gv_own_work_end(saved_errno);
    return number;
}

uint32_t gv_stacks_write_positions(struct gv_thread *thread,
                                   const struct gv_python_position *positions, unsigned count)
{
    uint64_t hash = 2;
    uint32_t number;
    bool is_new;

    /* How many were left out is not mixed in: a recursion has one stack, however deep it is. */
    for (unsigned i = 0; i < count; i++)
        hash = gv_mix(hash, ((uint64_t)positions[i].code << 32 | positions[i].instruction) +
                                ((uint64_t)(positions[i].left_out > 0) << 63));
    number = number_of(hash, &is_new);
    if (is_new)
        write_new(thread, number, 0, positions, count);
    return number;
}
