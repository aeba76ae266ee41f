/*
 * Tests the checker with the well-known litmus programs: it must find every outcome that C allows,
 * and no other. The exception is load buffering, which C allows and the checker does not model.
 */
#include "tests/model/checker.h"

#include <stdatomic.h>
#include <stdio.h>

static struct {
    _Atomic uint32_t x, y, z;
    uint32_t data;
} shared;

/* Outcomes of one execution's threads; and of all executions, one bit each. */
static uint32_t seen[4];
static uint32_t outcomes;

static bool name_shared(size_t offset, char name[MODEL_NAME_BYTES])
{
    snprintf(name, MODEL_NAME_BYTES, "%c", offset < 12 ? "xyz"[offset / 4] : 'd');
    return true;
}

static void prepare(void)
{
    model_share(&shared, sizeof shared, name_shared);
    outcomes = 0;
}

static void begin(void)
{
    for (int i = 0; i < 4; i++)
        seen[i] = 0;
}

static void note_seen(void)
{
    outcomes |= 1u << (seen[0] | seen[1] << 1 | seen[2] << 2 | seen[3] << 3);
}

#define ONLY(set)                                                                                  \
    static bool only_##set(void)                                                                   \
    {                                                                                              \
        return outcomes == set;                                                                    \
    }

ONLY(0xf) /* both, either, neither */
ONLY(0x3) /* the second never */
ONLY(0x7) /* not both */
ONLY(0xd) /* not the second without the first */

#define STORE(name, place, value, order)                                                           \
    static void name(void)                                                                         \
    {                                                                                              \
        atomic_store_explicit(&shared.place, value, memory_order_##order);                         \
    }

/* ---- message passing ---- */

static void send_released(void)
{
    shared.data = 1;
    atomic_store_explicit(&shared.x, 1, memory_order_release);
}

static void send_relaxed(void)
{
    shared.data = 1;
    atomic_store_explicit(&shared.x, 1, memory_order_relaxed);
}

static void send_behind_fence(void)
{
    shared.data = 1;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&shared.x, 1, memory_order_relaxed);
}

static void receive_acquired(void)
{
    if (atomic_load_explicit(&shared.x, memory_order_acquire))
        model_claim(shared.data == 1, "an old message");
}

static void receive_relaxed(void)
{
    if (atomic_load_explicit(&shared.x, memory_order_relaxed))
        seen[0] = shared.data;
}

static void receive_before_fence(void)
{
    if (atomic_load_explicit(&shared.x, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        model_claim(shared.data == 1, "an old message");
    }
}

static void add_relaxed(void)
{
    atomic_fetch_add_explicit(&shared.x, 1, memory_order_relaxed);
}

static void overwrite_relaxed(void)
{
    if (atomic_load_explicit(&shared.x, memory_order_relaxed) == 1)
        atomic_store_explicit(&shared.x, 2, memory_order_relaxed);
}

static void receive_second(void)
{
    if (atomic_load_explicit(&shared.x, memory_order_acquire) == 2)
        seen[0] = shared.data;
}

/* ---- two places ---- */

static void store_x_load_y(void)
{
    atomic_store_explicit(&shared.x, 1, memory_order_release);
    seen[0] = atomic_load_explicit(&shared.y, memory_order_acquire);
}

static void store_y_load_x(void)
{
    atomic_store_explicit(&shared.y, 1, memory_order_release);
    seen[1] = atomic_load_explicit(&shared.x, memory_order_acquire);
}

static void load_x_store_y(void)
{
    seen[0] = atomic_load_explicit(&shared.x, memory_order_relaxed);
    atomic_store_explicit(&shared.y, 1, memory_order_relaxed);
}

static void load_y_store_x(void)
{
    seen[1] = atomic_load_explicit(&shared.y, memory_order_relaxed);
    atomic_store_explicit(&shared.x, 1, memory_order_relaxed);
}

static void store_x1_y2(void)
{
    atomic_store_explicit(&shared.x, 1, memory_order_release);
    atomic_store_explicit(&shared.y, 2, memory_order_release);
}

static void store_y1_x2(void)
{
    atomic_store_explicit(&shared.y, 1, memory_order_release);
    atomic_store_explicit(&shared.x, 2, memory_order_release);
}

/* The last store at each location. */
static void note_last(void)
{
    seen[0] = atomic_load(&shared.x) == 1;
    seen[1] = atomic_load(&shared.y) == 1;
    note_seen();
}

/* ---- one place ---- */

STORE(store_x, x, 1, relaxed)
STORE(store_y, y, 1, relaxed)

static void load_x_twice(void)
{
    seen[0] = atomic_load_explicit(&shared.x, memory_order_relaxed);
    seen[1] = atomic_load_explicit(&shared.x, memory_order_relaxed);
}

static void load_both(void)
{
    seen[0] = atomic_load_explicit(&shared.x, memory_order_acquire);
    seen[1] = atomic_load_explicit(&shared.y, memory_order_acquire);
}

static void exchange_0(void)
{
    seen[0] = atomic_exchange_explicit(&shared.x, 1, memory_order_relaxed);
}

static void exchange_1(void)
{
    seen[1] = atomic_exchange_explicit(&shared.x, 1, memory_order_relaxed);
}

/* If two threads exchange, exactly one finds the first value. */
static bool one_is_first(void)
{
    return outcomes == (1u << 1 | 1u << 2);
}

/* ---- three threads: one that has seen x stores y ---- */

static void pass_on(void)
{
    seen[0] = atomic_load_explicit(&shared.x, memory_order_acquire);
    if (seen[0])
        atomic_store_explicit(&shared.y, 1, memory_order_release);
}

static void hear_of(void)
{
    if (atomic_load_explicit(&shared.y, memory_order_acquire))
        model_claim(atomic_load_explicit(&shared.x, memory_order_relaxed) == 1, "not passed on");
}

static void wait_for_x(void)
{
    while (!atomic_load_explicit(&shared.x, memory_order_relaxed))
        model_wait();
}

static void store_x_exchange_y_store_z(void)
{
    atomic_store_explicit(&shared.x, 1, memory_order_relaxed);
    atomic_exchange_explicit(&shared.y, 1, memory_order_relaxed);
    atomic_store_explicit(&shared.z, 1, memory_order_relaxed);
}

static void wait_for_x_load_both(void)
{
    wait_for_x();
    seen[0] = atomic_load_explicit(&shared.y, memory_order_relaxed);
    seen[1] = atomic_load_explicit(&shared.z, memory_order_relaxed);
}

#define LITMUS(title, ...)                                                                         \
    &(const struct model_case)                                                                     \
    {                                                                                              \
        .name = title, .prepare = prepare, .begin = begin, __VA_ARGS__                             \
    }

#define OUTCOMES(set) .end = note_seen, .after = only_##set

const struct model_case *const model_cases[] = {
    LITMUS("message passing",
           .threads = {{"sends", send_released}, {"receives", receive_acquired}}),
    LITMUS("message passing, relaxed store", .fails = "data race on d",
           .threads = {{"sends", send_relaxed}, {"receives", receive_acquired}}),
    LITMUS("message passing, relaxed load", .fails = "data race on d",
           .threads = {{"sends", send_released}, {"receives", receive_relaxed}}),
    LITMUS("message passing, fences",
           .threads = {{"sends", send_behind_fence}, {"receives", receive_before_fence}}),
    LITMUS("message passing, one fence", .fails = "data race on d",
           .threads = {{"sends", send_relaxed}, {"receives", receive_before_fence}}),
    LITMUS(
        "release sequence", OUTCOMES(0x3),
        .threads = {{"sends", send_released}, {"adds", add_relaxed}, {"receives", receive_second}}),
    LITMUS("release sequence, broken", .fails = "data race on d",
           .threads = {{"sends", send_released},
                       {"overwrites", overwrite_relaxed},
                       {"receives", receive_second}}),
    LITMUS("store buffering", OUTCOMES(0xf),
           .threads = {{"one", store_x_load_y}, {"two", store_y_load_x}}),
    LITMUS("load buffering", OUTCOMES(0x7),
           .threads = {{"one", load_x_store_y}, {"two", load_y_store_x}}),
    LITMUS("two stores each", .end = note_last, .after = only_0xf,
           .threads = {{"one", store_x1_y2}, {"two", store_y1_x2}}),
    LITMUS("coherence", OUTCOMES(0xd), .threads = {{"stores", store_x}, {"loads", load_x_twice}}),
    LITMUS("independent stores", OUTCOMES(0xf),
           .threads = {{"one", store_x}, {"two", store_y}, {"loads", load_both}}),
    LITMUS("passed on",
           .threads = {{"stores", store_x}, {"passes on", pass_on}, {"hears", hear_of}}),
    LITMUS("exchange", .end = note_seen, .after = one_is_first,
           .threads = {{"one", exchange_0}, {"two", exchange_1}}),
    LITMUS("waiting", .threads = {{"stores", store_x}, {"waits", wait_for_x}}),
    LITMUS("waiting, and what comes later", OUTCOMES(0xf),
           .threads = {{"stores", store_x_exchange_y_store_z}, {"waits", wait_for_x_load_both}}),
    LITMUS("waiting in vain", .fails = "wait for ever",
           .threads = {{"stores", store_y}, {"waits", wait_for_x}}),
    NULL};
