/*
 * Functions that the CPU runs when a stream reaches them: cudaLaunchHostFunc(), stream callbacks.
 * The driver gets our function and a cell with the program's. A launch with no free cell is passed
 * on as it is. The driver drops a function after an error; its cell is lost.
 *
 * While its stream is captured, a function becomes a node of a graph. It is passed on as it is: the
 * program can ask for a node's function, and a graph runs it any number of times.
 */
#include "preload/hooks/facts.h"

#include "preload/base/clock.h"
#include "preload/base/own_work.h"
#include "preload/bind/entry_points.h"
#include "preload/stacks/stacks.h"

#include <stdatomic.h>
#include <stddef.h>

/* Launched and not started. A stream's queue holds about 1024 operations. */
#define CELLS 8192u

/* CUstreamCaptureStatus, CUresult */
#define NOT_CAPTURED             0
#define RESULT_NOT_INITIALIZED   3
#define RESULT_NO_CONTEXT        201
#define FIRST_FREE(head)         ((uint32_t)(head))
#define NEXT_HEAD(head, element) ((((head) >> 32) + 1) << 32 | (element))

struct cell {
    void *function, *data; /* the program's */
    uint64_t number;       /* counted from 1 in each process */
    uint64_t token;        /* of the process that launched it */
    _Atomic uint32_t next; /* while free: the next free one plus one */
};

static struct cell cells[CELLS];
static _Atomic uint64_t free_head;  /* tag << 32 | cell plus one; see trace/spool_free_list.h */
static _Atomic uint32_t never_used; /* cells from this one on are free too */
static _Atomic uint64_t last_number;

static void count_lost(void)
{
    atomic_fetch_add_explicit(&gv_process.spool.header->lost.host_functions, 1,
                              memory_order_relaxed);
}

/* ---- cells ---- */

static struct cell *take(void)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_acquire);
    uint32_t fresh = atomic_load_explicit(&never_used, memory_order_relaxed);

    while (FIRST_FREE(head)) {
        struct cell *cell = &cells[FIRST_FREE(head) - 1];
        uint32_t next = atomic_load_explicit(&cell->next, memory_order_relaxed);

        if (atomic_compare_exchange_weak_explicit(&free_head, &head, NEXT_HEAD(head, next),
                                                  memory_order_acquire, memory_order_acquire))
            return cell;
    }
    while (fresh < CELLS)
        if (atomic_compare_exchange_weak_explicit(&never_used, &fresh, fresh + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return &cells[fresh];
    return NULL;
}

static void give_back(struct cell *cell)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_relaxed);

    do
        atomic_store_explicit(&cell->next, FIRST_FREE(head), memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&free_head, &head,
                                                  NEXT_HEAD(head, (uint32_t)(cell - cells) + 1),
                                                  memory_order_release, memory_order_relaxed));
}

/* ---- in the driver's thread ---- */

/* No call of CUDA is allowed in it. */
static void write_run(const struct cell *cell, uint64_t start_ns, uint64_t end_ns)
{
    struct gv_thread *thread = &gv_thread;
    union gv_record *record;

    /* A forked child may return here. */
    if (cell->token != gv_process_token_now() ||
        (!gv_thread_is_live(thread) && !gv_thread_join(thread)))
        return;
    bool inside = gv_thread_begin_group(thread);
    record = inside ? NULL : gv_thread_reserve(thread, GV_ROOM_WORK);
    if (record) {
        record->host = (struct gv_record_host){.head = {.kind = GV_RECORD_HOST_FUNCTION},
                                               .number = cell->number,
                                               .start_ns = start_ns,
                                               .duration_ns = end_ns - start_ns};
        gv_thread_publish(thread);
    } else {
        count_lost();
    }
    gv_thread_end_group(thread, inside);
}

static void note_run(const struct cell *cell, uint64_t start_ns)
{
    uint64_t end_ns = gv_clock_now_ns();
    int saved_errno = gv_own_work_begin();

    write_run(cell, start_ns, end_ns);
    gv_own_work_end(saved_errno);
}

static struct cell empty(void *data)
{
    struct cell *cell = data, copy = {.function = cell->function,
                                      .data = cell->data,
                                      .number = cell->number,
                                      .token = cell->token};

    give_back(cell);
    return copy;
}

static void run_function(void *data)
{
    struct cell cell = empty(data);
    uint64_t start_ns = gv_clock_now_ns();

    ((void (*)(void *))cell.function)(cell.data);
    note_run(&cell, start_ns);
}

static void run_callback(void *stream, int result, void *data)
{
    struct cell cell = empty(data);
    uint64_t start_ns = gv_clock_now_ns();

    ((void (*)(void *, int, void *))cell.function)(stream, result, cell.data);
    note_run(&cell, start_ns);
}

/* ---- in the launching thread ---- */

/* True also if that is unknown. Asking is allowed during any capture, and does not disturb it. */
static bool may_be_captured(const struct gv_call *call, const struct gv_facts *facts)
{
    int api = gv_api_rows[call->api].per_thread ? GV_ID_cuStreamIsCapturing_ptsz
                                                : GV_ID_cuStreamIsCapturing;
    int (*is_capturing)(void *, int *) = (int (*)(void *, int *))gv_real_driver[api];
    int status = NOT_CAPTURED, result;

    if (!is_capturing)
        return true;
    int saved_errno = gv_own_work_begin();
    result = is_capturing((void *)(uintptr_t)facts->stream, &status);
    gv_own_work_end(saved_errno);
    /* The runtime may make a context current only in this call. */
    if (result == RESULT_NO_CONTEXT || result == RESULT_NOT_INITIALIZED)
        return false;
    return result != 0 || status != NOT_CAPTURED;
}

void gv_host_function_wrap(const struct gv_call *call, struct gv_facts *facts, bool is_callback,
                           void **function, void **data)
{
    struct cell *cell;

    if (!call->live || call->depth != 0 || !*function || may_be_captured(call, facts))
        return;
    cell = take();
    if (!cell) {
        count_lost();
        return;
    }
    cell->function = *function;
    cell->data = *data;
    cell->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    cell->token = gv_process_token_now();
    facts->what = GV_FACT_HOST_FUNCTION;
    facts->made = cell->number;
    facts->owner = (uintptr_t)*function;
    *function = is_callback ? (void *)run_callback : (void *)run_function;
    *data = cell;
}

void gv_host_function_unwrap(struct gv_facts *facts, void *data)
{
    if (facts->what != GV_FACT_HOST_FUNCTION)
        return;
    facts->what = GV_FACT_NONE;
    give_back(data);
}

void gv_host_function_write_launch(struct gv_thread *thread, const struct gv_facts *facts)
{
    uint32_t stack = gv_stacks_write_function(thread, (uintptr_t)facts->owner);
    union gv_record *record = gv_thread_reserve(thread, GV_ROOM_WORK);

    if (!record) {
        count_lost();
        return;
    }
    record->host = (struct gv_record_host){
        .head = {.kind = GV_RECORD_HOST_LAUNCH, .flags = GV_RECORD_MORE},
        .number = facts->made,
        .start_ns = thread->outer_start_ns,
        .stack = stack,
    };
    gv_thread_publish(thread);
}
