/* Sums over all calls and operations, for small and unusual traces. */
#include "report/analyse/gpu_unseen.h"
#include "report/analyse/stalls/analysis.h"
#include "report/analyse/totals/duration_total.h"
#include "report/analyse/totals/memory_log.h"
#include "report/analyse/totals/timeline_lane.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse/facts/occupancy.h"
#include "tests/unit/report/totals_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct gv_memory_log memory;

static int setup(void **state)
{
    totals_open(state);
    memory = (struct gv_memory_log){0};
    totals_execute(
        "INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, "
        "'cuStreamSynchronize',"
        " 'sync'), (3, 'cuMemAlloc_v2', 'alloc'), (4, 'cuMemFree_v2', 'free');"
        "INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'k'), (2, 1, 2, 'l');"
        "INSERT INTO device (id, process, device, name, uuid, multiprocessors) VALUES"
        " (1, 1, 0, 'd', 'u', 100), (2, 2, 0, 'd', 'u', 100), (3, 1, 1, 'e', 'v', 100);"
        "INSERT INTO gpu_name VALUES (1, 1, 1, 'k', 'k'), (2, 1, 2, 'l', 'l');"
        "INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z) VALUES"
        " (1, 1, 1, 1, 10, 1, 1), (2, 1, 2, 2, 20, 10, 1);"
        "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 0, 1, 8), (3, 2, 0, 1, 7),"
        " (4, 1, 1, 2, 7);");
    return 0;
}

static int teardown(void **state)
{
    gv_memory_log_free(&memory);
    return totals_close(state);
}

static void durations_have_exact_ends_and_a_near_median(void **state)
{
    struct gv_duration_total total = {0};

    assert_int_equal(gv_duration_total_median_ns(&total), 0);
    for (int64_t i = 1; i <= 1000; i++)
        assert_int_equal(gv_duration_total_add(&total, i, 1), 0);
    assert_int_equal(gv_duration_total_median_ns(&total), 500);
    assert_int_equal(total.total_ns, 500500);
    for (int64_t i = 0; i < 3000; i++)
        gv_duration_total_add(&total, 1000000 + i * 1000, 1);
    assert_int_equal(total.min_ns, 1);
    assert_int_equal(total.max_ns, 3999000);
    /* Number 2000 of all is the 1000th of the second batch: 1,999,000. */
    assert_in_range(gv_duration_total_median_ns(&total), 1997000, 2001000);
    gv_duration_total_add(&total, INT64_MAX, 1);
    gv_duration_total_add(&total, -5, 1);
    assert_int_equal(total.min_ns, 0);
    assert_int_equal(total.max_ns, INT64_MAX);
    gv_duration_total_free(&total);
}

static void a_median_is_never_beyond_what_was_seen(void **state)
{
    struct gv_duration_total total = {0};

    gv_duration_total_add(&total, 123456789, 1);
    assert_int_equal(gv_duration_total_median_ns(&total), 123456789);
    gv_duration_total_free(&total);
}

static void a_median_is_exact_after_a_second_reading(void **state)
{
    struct gv_duration_total total = {0};

    for (int reading = 0; reading < 2; reading++) {
        for (int64_t i = 0; i < 3000; i++) {
            int64_t duration_ns = 5000000 + i * 7919 % 3000;
            int error = reading ? gv_duration_total_again(&total, duration_ns, 2)
                                : gv_duration_total_add(&total, duration_ns, 2);
            assert_int_equal(error, 0);
        }
        if (!reading)
            gv_duration_total_reread(&total);
    }
    assert_int_equal(gv_duration_total_median_ns(&total), 5001499);
    gv_duration_total_free(&total);
}

static void lanes_keep_their_sum_when_they_widen(void **state)
{
    static struct gv_lane lane;
    int64_t sum = 0;

    for (int64_t i = 0; i < 1000; i++)
        gv_lane_add(&lane, i * 1000003, i * 1000003 + 777);
    gv_lane_add(&lane, -100, 50); /* only what is after the start */
    gv_lane_add(&lane, 500, 400);
    for (size_t i = 0; i < GV_LANE_STRETCHES; i++) {
        assert_true(lane.taken_ns[i] <= lane.stretch_ns);
        sum += lane.taken_ns[i];
    }
    assert_int_equal(sum, 1000 * 777 + 50);
}

static void log_take(const struct gv_memory_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gv_memory_event event = events[i];
        event.at_ns = event.at_ns ? event.at_ns : 10 * (int64_t)(i + 1);
        event.process = event.process ? event.process : 1;
        event.call = (int64_t)i + 1;
        assert_int_equal(gv_memory_log_take(&memory, &event), 0);
    }
}

#define TAKE(...)                                                                                  \
    log_take((const struct gv_memory_event[]){__VA_ARGS__},                                        \
             sizeof((const struct gv_memory_event[]){__VA_ARGS__}) /                               \
                 sizeof(struct gv_memory_event))
#define GOT(at, size, where, ...)                                                                  \
    {                                                                                              \
        .object = (at), .bytes = (size), .space = GV_MEMORY_##where, __VA_ARGS__                   \
    }
#define DID(what, at, ...)                                                                         \
    {                                                                                              \
        .object = (at), .space = GV_MEMORY_##what, __VA_ARGS__                                     \
    }

static void memory_is_followed_in_order_of_time(void **state)
{
    TAKE(GOT(0x1000, 100, DEVICE, .at_ns = 10), GOT(0x1000, 7, DEVICE, .at_ns = 12, .process = 2),
         GOT(0x3000, 999, HOST, .at_ns = 15), GOT(0x2000, 50, MANAGED, .at_ns = 20),
         DID(FREE, 0x1000, .at_ns = 30), GOT(0x1000, 70, DEVICE, .at_ns = 40),
         DID(FREE, 0x9000, .at_ns = 50));
    gv_memory_log_end(&memory);
    assert_int_equal(gv_memory_log_fullest(&memory)->peak_bytes, 157);
    assert_int_equal(gv_memory_log_fullest(&memory)->peak_ns, 20);
    /* 50 + 70 + 7; pinned memory is the host's */
    assert_int_equal(gv_memory_log_fullest(&memory)->live_bytes, 127);
    assert_int_equal(memory.left_bytes, 127);
}

static const struct gv_memory_line *log_line(int64_t place)
{
    for (size_t i = 0; i < memory.line_count; i++)
        if (memory.lines[i].place == place)
            return &memory.lines[i];
    fail();
    return NULL;
}

/* Line 2 holds most at once, but not when the device is fullest. */
static void each_line_has_its_memory(void **state)
{
    TAKE(GOT(0x1000, 100, DEVICE, .place = 1, .duration_ns = 3),
         GOT(0x2000, 60, DEVICE, .place = 2), GOT(0x3000, 30, DEVICE, .place = 2),
         DID(FREE, 0x1000, .duration_ns = 4), DID(FREE, 0x3000),
         GOT(0x4000, 95, DEVICE, .place = 1, .duration_ns = 3), GOT(0x5000, 40, DEVICE, .place = 3),
         DID(FREE, 0x4000, .duration_ns = 4), GOT(0x6000, 999, HOST, .place = 3));
    gv_memory_log_end(&memory);
    const struct gv_memory_line *first = log_line(1), *second = log_line(2);
    assert_int_equal(gv_memory_log_fullest(&memory)->peak_bytes, 60 + 95 + 40);
    assert_int_equal(gv_memory_log_fullest(&memory)->peak_ns, 70);
    assert_int_equal(first->allocations, 2);
    assert_int_equal(first->freed, 2);
    assert_int_equal(first->allocated_bytes, 195);
    assert_int_equal(first->largest_bytes, 100);
    assert_int_equal(first->peak_bytes, 100);
    assert_int_equal(first->at_peak_bytes, 95);
    assert_int_equal(first->left_bytes, 0);
    assert_int_equal(first->time_ns, 14);
    assert_int_equal(gv_duration_total_median_ns(&first->life), 20);
    assert_int_equal(second->peak_bytes, 90);
    assert_int_equal(second->at_peak_bytes, 60);
    assert_int_equal(second->left_bytes, 60);
    assert_int_equal(memory.lines[2].at_peak_bytes, 40);
    assert_int_equal(memory.lines[3].left_bytes, 999);
    assert_int_equal(memory.left_bytes, 100);
}

static void devices_have_peaks_of_their_own(void **state)
{
    TAKE(GOT(0x1000, 100, DEVICE, .place = 1, .device = 1), DID(FREE, 0x1000),
         GOT(0x2000, 80, DEVICE, .place = 1, .device = 2));
    gv_memory_log_end(&memory);
    assert_int_equal(gv_memory_log_fullest(&memory)->peak_bytes, 100);
    assert_int_equal(memory.devices[2].peak_bytes, 80);
    assert_int_equal(memory.line_count, 1);
    assert_int_equal(memory.holder_count, 2);
    assert_int_equal(memory.lines[0].at_peak_bytes, 180);
    assert_int_equal(memory.lines[0].peak_bytes, 100);
}

/* The handle is released at once, as PyTorch does. */
static void physical_memory_lives_as_long_as_its_mappings(void **state)
{
    TAKE(GOT(0x99, 100, PHYSICAL), GOT(0x10000, 100, MAPPED, .second = 0x99), DID(RELEASED, 0x99),
         GOT(0x98, 100, PHYSICAL), GOT(0x10064, 100, MAPPED, .second = 0x98),
         GOT(0x20000, 100, MAPPED, .second = 0x98), DID(RELEASED, 0x98));
    assert_int_equal(memory.devices[0].live_bytes, 200);
    /* one call for both ranges */
    TAKE(GOT(0x10000, 200, UNMAPPED));
    assert_int_equal(memory.devices[0].live_bytes, 100);
    TAKE(DID(RETAINED, 0x97, .second = 0x20000), GOT(0x20000, 100, UNMAPPED));
    assert_int_equal(memory.devices[0].live_bytes, 100);
    TAKE(DID(RETAINED, 0x97), DID(RELEASED, 0x97));
    assert_int_equal(memory.devices[0].live_bytes, 100);
    TAKE(DID(RELEASED, 0x97));
    assert_int_equal(memory.devices[0].live_bytes, 0);
    gv_memory_log_end(&memory);
    assert_int_equal(memory.devices[0].peak_bytes, 200);
    assert_int_equal(memory.lines[0].freed, 2);
    assert_int_equal(memory.left_bytes, 0);
}

/* Another process's memory, or allocated before the recording began. */
static void memory_that_was_not_seen_is_not_counted(void **state)
{
    TAKE(GOT(0x10000, 100, MAPPED, .second = 0x55), GOT(0x10000, 100, UNMAPPED),
         DID(RELEASED, 0x55), DID(FREE, 0x1000), DID(RETAINED, 0x55, .second = 0x10000),
         GOT(0x1000, 10, DEVICE));
    gv_memory_log_end(&memory);
    assert_int_equal(memory.devices[0].peak_bytes, 10);
    assert_int_equal(memory.left_bytes, 10);
}

/* The nearest one counts, with what was allocated at its time. */
static void samples_show_what_is_used_besides(void **state)
{
    const struct gv_memory_device *one = &memory.devices[1], *two = &memory.devices[2];

    TAKE(GOT(0, 500, SAMPLED, .device = 1), GOT(0x1000, 100, DEVICE, .device = 1),
         GOT(0, 620, SAMPLED, .device = 1), GOT(0x2000, 900, DEVICE, .device = 1, .at_ns = 45),
         GOT(0, 1530, SAMPLED, .device = 1, .at_ns = 55),
         GOT(0, 700, SAMPLED, .device = 1, .at_ns = 3000000000));
    assert_int_equal(one->outside_bytes, 530);
    TAKE(GOT(0x3000, 2000, DEVICE, .device = 1, .at_ns = 5000000000));
    assert_int_equal(one->near_ns, INT64_MAX); /* the last one is too old */
    TAKE(GOT(0x4000, 10, MANAGED, .device = 2), GOT(0, 50, SAMPLED, .device = 2));
    assert_int_equal(two->outside_bytes, -1); /* it may lie on the host */
}

/* Whatever their number: only simultaneous allocations count. */
static void memory_that_is_freed_is_forgotten(void **state)
{
    for (int64_t i = 1; i <= 4 * (int64_t)GV_MEMORY_BLOCKS; i++) {
        struct gv_memory_event event = GOT(0x1000 * i, 10, DEVICE, .at_ns = i, .process = 1);
        assert_int_equal(gv_memory_log_take(&memory, &event), 0);
        event.object -= 3 * 0x1000; /* three are left */
        event.space = GV_MEMORY_FREE;
        assert_int_equal(gv_memory_log_take(&memory, &event), 0);
    }
    gv_memory_log_end(&memory);
    assert_false(memory.too_many);
    assert_int_equal(memory.block_count, 4);
    assert_int_equal(memory.devices[0].peak_bytes, 40);
    assert_int_equal(memory.left_bytes, 30);
}

static void too_much_memory_at_a_time_is_not_followed(void **state)
{
    for (int64_t i = 1; i <= (int64_t)GV_MEMORY_BLOCKS + 1; i++) {
        struct gv_memory_event event = GOT(0x1000 * i, 10, DEVICE, .at_ns = i, .process = 1);
        assert_false(memory.too_many);
        assert_int_equal(gv_memory_log_take(&memory, &event), 0);
    }
    gv_memory_log_end(&memory);
    assert_true(memory.too_many);
    assert_int_equal(memory.left_bytes, 0);
}

/* A handle is reused for the next context. */
static void memory_ends_with_its_context(void **state)
{
    totals_keep_with(
        "INSERT INTO api (id, name, class) VALUES (10, 'cuCtxCreate_v4', 'context'), (11, "
        "'cuCtxDestroy_v2',"
        " 'context'), (12, 'cuDevicePrimaryCtxReset_v2', 'context'), (13, 'cuCtxSetCurrent',"
        " 'context'), (14, 'cuCtxResetPersistingL2Cache', 'context'), (15, 'cuMemAllocHost_v2',"
        " 'alloc'), (16, 'cuMemCreate', 'alloc'), (17, 'cuMemAllocAsync', 'alloc');"
        "INSERT INTO context (id, process, handle) VALUES (1, 1, 4096), (2, 1, 8192);"
        "INSERT INTO stream VALUES (1, 1, 2, NULL, 99, 'created');"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, stream,"
        " bytes, object) VALUES"
        " (1, 1, 10, 10, 1, 0, 1, NULL, NULL, 4096),"
        " (2, 1, 3, 20, 1, 0, 1, NULL, 1000, 65536), (3, 1, 15, 21, 1, 0, 1, NULL, 5, 70000),"
        " (4, 1, 11, 30, 1, 0, 1, NULL, NULL, 4096),"
        " (5, 1, 10, 40, 1, 0, 1, NULL, NULL, 4096),"
        " (6, 1, 3, 50, 1, 0, 1, NULL, 1000, 131072),"
        " (7, 1, 4, 55, 1, 0, 1, NULL, NULL, 65536)," /* gone already */
        " (8, 1, 11, 60, 1, 0, 1, NULL, NULL, 4096),"
        " (9, 1, 13, 70, 1, 0, 2, NULL, NULL, 8192),"
        " (10, 1, 3, 80, 1, 0, 2, NULL, 700, 196608),"
        " (11, 1, 17, 81, 1, 0, NULL, 1, 200, 262144),"
        " (12, 1, 16, 82, 1, 0, 2, NULL, 30, 777),"
        " (13, 1, 14, 90, 1, 0, 2, NULL, NULL, NULL),"
        " (14, 1, 3, 91, 1, 0, 2, NULL, 50, 327680),"
        " (15, 1, 12, 95, 1, 0, NULL, NULL, NULL, NULL),"
        " (16, 1, 3, 99, 1, 0, 2, NULL, 4, 196608),"
        " (17, 1, 12, 100, 1, 700, 2, NULL, NULL, NULL);"); /* it failed */
    assert_int_equal(totals_fact("memory_peak_bytes"), 1000);
    assert_int_equal(totals_fact("memory_peak_at_ns"), 21);
    assert_int_equal(totals_fact("memory_left_bytes"), 34);
    assert_int_equal(totals_number("SELECT sum(bytes) FROM memory_left"), 34);
    assert_int_equal(totals_number("SELECT count(*) FROM memory_left"), 2);
    totals_keep_with("UPDATE call SET api = 13 WHERE id IN (12, 15)"); /* no reset */
    assert_int_equal(totals_fact("memory_left_bytes"), 200 + 50 + 4);
    assert_int_equal(totals_fact("memory_peak_bytes"), 1000);
    totals_keep_with("UPDATE call SET api = 13 WHERE id IN (4, 8)"); /* no context is destroyed */
    assert_int_equal(totals_fact("memory_peak_bytes"), 1000 + 700 + 200 + 50);
}

/* Resets the primary context while the thread works in another one. */
static void a_reset_ends_the_primary_context(void **state)
{
    totals_keep_with(
        "INSERT INTO api (id, name, class) VALUES (10, 'cuCtxCreate_v4', 'context'), (12,"
        " 'cuDevicePrimaryCtxReset_v2', 'context'), (13, 'cudaDeviceReset', 'context');"
        "INSERT INTO context (id, process, handle) VALUES (1, 1, 4096), (2, 1, 8192);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, bytes,"
        " object) VALUES"
        " (1, 1, 3, 5, 1, 0, 2, 100, 65536), (2, 1, 10, 10, 1, 0, 1, NULL, 4096),"
        " (3, 1, 3, 20, 1, 0, 1, 1000, 131072), (4, 1, 12, 30, 1, 0, 1, NULL, NULL);");
    assert_int_equal(totals_fact("memory_left_bytes"), 1000);
    totals_keep_with("UPDATE call SET api = 13 WHERE id = 4");
    assert_int_equal(totals_fact("memory_left_bytes"), 1000);
    totals_keep_with(
        "UPDATE call SET api = 1 WHERE id = 2"); /* both are primary: the current one ends */
    assert_int_equal(totals_fact("memory_left_bytes"), 100);
}

/* The call says which context ended; of releases, only the last use ends one. */
static void a_reset_and_a_release_end_the_context_that_they_name(void **state)
{
    totals_keep_with(
        "INSERT INTO api (id, name, class) VALUES (10, 'cuDevicePrimaryCtxRetain', 'context'), (11,"
        " 'cuDevicePrimaryCtxRelease_v2', 'context'), (12, 'cuDevicePrimaryCtxReset_v2',"
        " 'context'), (13, 'cudaDeviceReset', 'context');"
        "INSERT INTO context (id, process, handle) VALUES (1, 1, 4096), (2, 1, 8192),"
        " (3, 1, 12288);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, bytes,"
        " object) VALUES"
        " (1, 1, 3, 10, 1, 0, 1, 1000, 65536), (2, 1, 3, 20, 1, 0, 2, 200, 131072),"
        " (3, 1, 3, 30, 1, 0, 3, 30, 196608),"
        " (4, 1, 12, 40, 1, 0, 3, NULL, 4096), (5, 1, 13, 50, 1, 0, 3, NULL, 8192),"
        " (6, 1, 11, 60, 1, 0, 3, NULL, NULL);");
    assert_int_equal(totals_fact("memory_left_bytes"), 30);
    totals_keep_with("UPDATE call SET object = 12288 WHERE id = 6");
    assert_int_equal(totals_fact("memory_left_bytes"), 0);
    assert_int_equal(totals_fact("memory_peak_bytes"), 1230);
}

static void memory_of_a_process_that_ended_takes_no_room(void **state)
{
    totals_keep_with(
        "UPDATE process SET end_ns = 100 WHERE id = 1;"
        "INSERT INTO thread VALUES (3, 2, 1, 30, 'c', 0);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, bytes, object) VALUES"
        " (1, 1, 3, 10, 1, 0, 1000, 65536), (2, 3, 3, 200, 1, 0, 900, 65536),"
        " (3, 1, 4, 300, 1, 0, NULL, 65536);");
    assert_int_equal(totals_fact("memory_peak_bytes"), 1000);
    assert_int_equal(totals_fact("memory_left_bytes"), 900);
    totals_keep_with("DELETE FROM call WHERE id = 3"); /* nobody freed it */
    assert_int_equal(totals_fact("memory_peak_bytes"), 1000);
    assert_int_equal(totals_fact("memory_left_bytes"), 1900);
    totals_keep_with("UPDATE process SET end_ns = NULL");
    assert_int_equal(totals_fact("memory_peak_bytes"), 1900);
}

static void overlapping_operations_count_once(void **state)
{
    totals_keep_with(
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns) VALUES"
        " (1, 1, 1, 1, 1000, 1000), (2, 2, 1, 2, 1500, 1000), (3, 1, 2, NULL, 1800, 1200),"
        " (4, 1, 1, 1, 5000, 500), (5, 4, 1, 1, 0, 100), (6, 3, 1, 1, 5400, 200);");
    /* Device u, of both processes: [1000, 3000) and [5000, 5600). */
    assert_int_equal(
        totals_number("SELECT busy_ns FROM device_total t JOIN device d ON d.id = t.device"
                      " WHERE d.uuid = 'u'"),
        2600);
    assert_int_equal(totals_number("SELECT kernel_ns FROM device_total WHERE operations = 5"),
                     2100);
    assert_int_equal(totals_number("SELECT copy_ns FROM device_total WHERE operations = 5"), 1200);
    assert_int_equal(totals_number("SELECT busy_ns FROM device_total WHERE operations = 1"), 100);
    assert_int_equal(totals_fact("kernel_time_ns"), 1000 + 1000 + 500 + 100 + 200);
    assert_int_equal(totals_fact("underfilled_ns"),
                     1000 + 500 + 100 + 200); /* 10 blocks, not 200 */
    assert_int_equal(totals_fact("filled_ns"), 100 + 1000 + 50 + 10 + 20);
    assert_int_equal(totals_number("SELECT count FROM kernel_total WHERE name = 'k'"), 4);
}

static void kernels_of_nccl_use_few_blocks_by_design(void **state)
{
    totals_keep_with(
        "UPDATE gpu_name SET name = 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)' WHERE "
        "id = 1;"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns) VALUES"
        " (1, 1, 1, 1, 1000, 1000), (2, 1, 1, 2, 3000, 500);");
    assert_int_equal(totals_fact("kernel_time_ns"), 1500);
    assert_int_equal(totals_fact("underfilled_ns"), 0);
    assert_int_equal(totals_fact("blocks_known_ns"), 500);
}

/* More than fits into memory at once, stored in an order unrelated to time. */
static void the_order_of_storage_does_not_matter(void **state)
{
    totals_keep_with(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1299999)"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns) SELECT i + 1, 1 + "
        "i % 2,"
        " 1, 1, (i * 7919) % 1300000 * 1000, 600 FROM n;");
    assert_int_equal(totals_number("SELECT busy_ns FROM device_total"), INT64_C(1300000) * 600);
    assert_int_equal(totals_number("SELECT sum(taken_ns) FROM timeline WHERE lane = 'busy 1'"),
                     INT64_C(1300000) * 600);
}

static void in_order_they_are_read_in_stretches(void **state)
{
    totals_keep_with(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1299999)"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns) SELECT i + 1, 1 + "
        "i % 2,"
        " 1, 1, i * 1000, 1200 FROM n;");
    assert_int_equal(totals_number("SELECT busy_ns FROM device_total"),
                     INT64_C(1300000) * 1000 + 200);
}

static void copies_are_told_apart_by_the_hosts_memory(void **state)
{
    totals_keep_with(
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, bytes, copy_kind) VALUES"
        " (1, 1, 2, 0, 10, 100, 17), (2, 1, 2, 20, 10, 50, 33), (3, 1, 2, 40, 10, 7, 8),"
        " (4, 1, 2, 60, 10, 3, 17), (5, 1, 2, 80, 10, 1, 99999);");
    assert_int_equal(totals_number("SELECT bytes FROM copy_total WHERE copy_kind = 17"), 103);
    assert_int_equal(totals_number("SELECT bytes FROM copy_total WHERE copy_kind = 33"), 50);
    assert_int_equal(totals_number("SELECT bytes FROM copy_total WHERE copy_kind = 0"), 1);
    assert_int_equal(totals_number("SELECT bytes FROM copy_summary WHERE name = 'host to device'"),
                     153);
    assert_int_equal(totals_number("SELECT count(*) FROM gpu_ops WHERE host_memory = 'pageable'"),
                     2);
}

/* The views give the same with totals as without. */
static void summaries_are_the_same_with_totals_and_without(void **state)
{
    totals_keep_with(
        "INSERT INTO gpu_name VALUES (3, 1, 3, NULL, NULL);"
        "INSERT INTO gpu_shape (id, process, number, name) VALUES (3, 1, 3, 3), (4, 1, 4, NULL);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) SELECT i, 1 + i % 2,"
        " 1 + i % 7 % 4, i * 1000, abs(random()) % (100 << i % 25), CASE i % 50 WHEN 7 THEN NULL"
        " WHEN 8 THEN 600 WHEN 9 THEN 2 WHEN 10 THEN 4 ELSE 0 END FROM n;"
        "INSERT INTO call_fold SELECT id, 1 + id % 5, duration_ns FROM call WHERE result = 600"
        " AND id % 100 < 50;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, bytes, copy_kind)"
        " SELECT i, 1 + i % 4, 1 + i % 7 % 4, nullif(i % 6, 0), i * 1000,"
        " abs(random()) % (100 << i % 25), i, CASE WHEN i % 11 THEN i % 3 + 16 * (i % 6) END FROM "
        "n;"
        "CREATE TABLE before AS SELECT 'call' AS kind, name, count, total_ns, min_ns, median_ns,"
        "  max_ns, share, errors AS more FROM api_summary"
        " UNION ALL SELECT 'kernel', name, count, total_ns, min_ns, median_ns, max_ns, share, 0 "
        "FROM"
        "  kernel_summary"
        " UNION ALL SELECT 'copy', name, count, total_ns, min_ns, median_ns, max_ns, share, bytes"
        "  FROM copy_summary;");
    totals_execute(
        "CREATE TABLE after AS SELECT 'call' AS kind, name, count, total_ns, min_ns, median_ns,"
        "  max_ns, share, errors AS more FROM api_summary"
        " UNION ALL SELECT 'kernel', name, count, total_ns, min_ns, median_ns, max_ns, share, 0 "
        "FROM"
        "  kernel_summary"
        " UNION ALL SELECT 'copy', name, count, total_ns, min_ns, median_ns, max_ns, share, bytes"
        "  FROM copy_summary;");
    assert_int_equal(totals_number("SELECT count(*) FROM before"), 4 + 3 + 4);
    assert_int_equal(totals_number("SELECT count(*) FROM (SELECT * FROM before INTERSECT SELECT *"
                                   " FROM after)"),
                     4 + 3 + 4);
    assert_int_equal(totals_number("SELECT count(*) FROM after"), 4 + 3 + 4);
    /* No nanosecond of a folded poll is lost. */
    assert_int_equal(totals_number("SELECT sum(total_ns) FROM before WHERE kind = 'call'"),
                     totals_number("SELECT sum(duration_ns) FROM call"));
    /* They do read the totals. */
    totals_execute("DELETE FROM call; DELETE FROM gpu_op");
    assert_int_equal(totals_number("SELECT sum(count) FROM api_summary"),
                     totals_number("SELECT sum(count) FROM before WHERE kind = 'call'"));
    totals_execute("UPDATE meta SET value = 'recording' WHERE key = 'state'");
    assert_int_equal(totals_number("SELECT count(*) FROM api_summary"), 0);
}

static void copies_between_host_and_device_count_alone(void **state)
{
    totals_keep_with(
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, bytes, copy_kind) VALUES"
        " (1, 1, 2, 0, 10, 100, 17), (2, 2, 2, 5, 10, 50, 33), (3, 1, 2, 40, 1000, 7, 8),"
        " (4, 1, 3, 2000, 5000, 3, NULL), (5, 4, 2, 0, 4, 1, 2);");
    assert_int_equal(totals_number("SELECT sum(copy_ns) FROM device_total"), 15 + 1000 + 5000 + 4);
    assert_int_equal(totals_fact("host_copy_ns"), 15 + 4);
}

static void what_had_not_ended_ends_what_is_known(void **state)
{
    totals_keep_with(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 0, 10, 0, 1), (2, 1, 1, 20, 10, 0, 1), (3, 1, 1, 40, 10, 0, 1),"
        " (4, 1, 2, 9000, 1000, 0, NULL);"
        "INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES"
        " (1, 1, 1, 1, 1000, 2000, 1), (2, 1, 1, 1, NULL, NULL, 2),"
        " (3, 2, 1, 1, 2500, 2500, 3);");
    assert_int_equal(totals_fact("untimed_operations"), 1);
    assert_int_equal(totals_fact("gpu_known_ns"), 3000);
    assert_int_equal(totals_fact("gpu_busy_ns"), 2000);
}

static void calls_are_summed(void **state)
{
    totals_keep_with(
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns) VALUES (1, 1, 4, 0, 1000),"
        " (2, 1, 4, 11000, 1000);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, kernel) VALUES"
        " (1, 1, 1, 500, 1500, 0, 1), (2, 1, 1, 3000, 100, 0, 1), (3, 1, 1, 4000, 100, 719, 2),"
        " (4, 1, 2, 10000, 3000, 600, NULL);");
    assert_int_equal(totals_fact("first_ns"), 500);
    assert_int_equal(totals_fact("last_ns"), 13000);
    assert_int_equal(totals_fact("launched_kernels"), 1);
    assert_int_equal(totals_number("SELECT errors FROM api_total WHERE api = 1"), 1);
    assert_int_equal(totals_number("SELECT errors FROM api_total WHERE api = 2"),
                     0); /* not ready */
    assert_int_equal(totals_number("SELECT count FROM error_total WHERE result = 719"), 1);
    assert_int_equal(totals_number("SELECT count FROM launch_total WHERE kernel = 1"), 2);
}

static void a_part_hides_what_is_kept(void **state)
{
    struct gv_totals_part part = GV_TOTALS_ALL;

    totals_keep_with("INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                     " (1, 1, 2, 100, 10, 0), (2, 2, 2, 200, 10, 0), (3, 1, 2, 300, 10, 0);");
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    assert_int_equal(totals_fact("calls"), 3);
    part.process = 1;
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    assert_int_equal(totals_fact("calls"), 2);
    part.from_ns = 150;
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    assert_int_equal(totals_fact("calls"), 1);
    part = GV_TOTALS_ALL;
    part.thread = 2;
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    assert_int_equal(totals_fact("calls"), 1);
    part = GV_TOTALS_ALL;
    assert_int_equal(gv_totals_ensure(totals_trace, &part), 0);
    assert_int_equal(totals_fact("calls"), 3);
    assert_int_equal(totals_number("SELECT count(*) FROM temp.sqlite_master WHERE type = 'table' "
                                   "AND name <> 'totals_part'"),
                     0);
}

/* Two streams: the killed program's second operation on the first of them is missing. */
static void what_is_missing_bounds_what_is_known(void **state)
{
    totals_keep_with(
        "INSERT INTO process (id, identity, gpu, ended) VALUES (8, 8, 'cupti', 'killed');"
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 8, 1, 3);"
        "INSERT INTO api (id, name, class) VALUES (80, 'cuLaunchKernel', 'launch');"
        "INSERT INTO gpu_place VALUES (8, 8, 0, 1, 7);"
        "INSERT INTO loss VALUES (8, 'GPU operation', 'last flush', 1);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, correlation)"
        " VALUES (1, 8, 80, 1000, 5, 0, 1, 1), (2, 8, 80, 2000, 5, 0, 1, 2),"
        " (3, 8, 80, 3000, 9000, 0, 2, 3);"
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
        " (1, 8, 4, 1500, 4500, 1), (2, 8, 4, 5000, 4000, 3), (3, 8, 4, 9500, 10, 3)");
    assert_int_equal(totals_fact("gpu_known_ns"), 6000);
    assert_int_equal(totals_fact("gpu_busy_ns"), 4500);
    assert_int_equal(totals_number("SELECT busy_ns FROM device_total"), 7510);
    totals_keep_with("DELETE FROM loss");
    assert_int_equal(totals_fact("gpu_known_ns"), INT64_MAX);
    assert_int_equal(totals_fact("gpu_busy_ns"), 7510);
    totals_keep_with("UPDATE process SET ended = NULL WHERE id = 8"); /* it still runs */
    assert_int_equal(totals_fact("gpu_known_ns"), 6000);
}

/* Another profiler had the GPU side from 3000 to 5000. An operation may run on until 3000, and one
 * of that time until 5500, when one is seen that begins. From 7000 to 8000 operations lack their
 * calls. */
static void what_another_profiler_had_is_neither_busy_nor_idle(void **state)
{
    totals_keep_with(
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 3);"
        "INSERT INTO api (id, name, class) VALUES (80, 'cuLaunchKernel', 'launch');"
        "INSERT INTO gpu_place VALUES (8, 1, 0, 1, 7);"
        "INSERT INTO gpu_change VALUES (1, 3000, 'other', 'Proton'), (1, 5000, 'seen', NULL),"
        " (1, 7000, 'operations', 'Proton'), (1, 8000, 'seen', NULL);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, correlation)"
        " VALUES (1, 8, 80, 1000, 5, 0, 1, 1), (2, 8, 80, 2500, 5, 0, 1, NULL),"
        " (3, 8, 80, 5400, 5, 0, 1, 3), (4, 8, 80, 8990, 10, 0, 1, 4);"
        "UPDATE process SET ended = 'exit';"
        "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call) VALUES"
        " (1, 8, 4, 1500, 500, 1), (2, 8, 4, 5500, 500, 3), (3, 8, 4, 7500, 100, NULL)");
    assert_int_equal(totals_fact("gpu_known_ns"), INT64_MAX);
    assert_int_equal(totals_fact("gpu_unseen_ns"), 2500);
    assert_int_equal(totals_fact("gpu_busy_ns"), 1100);
    /* What was launched before is missing too: it may have begun when the last one ended. */
    totals_keep_with("UPDATE call SET correlation = 2 WHERE id = 2");
    assert_int_equal(totals_fact("gpu_unseen_ns"), 3000);
    totals_keep_with("DELETE FROM gpu_change WHERE at_ns > 3000"); /* it is never seen again */
    assert_int_equal(totals_fact("gpu_known_ns"), 2500);
    assert_int_equal(totals_fact("gpu_unseen_ns"), 6500);
}

static int count_steps(void *steps)
{
    ++*(int64_t *)steps;
    return 0;
}

/* SQLite's steps to read the times of so many stops, each with a call and an operation after it. */
static int64_t steps_for_stops(int64_t stops)
{
    struct gv_gpu_unseen_list list;
    int64_t steps = 0;
    char sql[600];

    snprintf(sql, sizeof(sql),
             "DELETE FROM gpu_change; DELETE FROM gpu_op; DELETE FROM call;"
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
             " SELECT i, 8, 80, i * 100 + 60, 5, 0 FROM n;"
             "INSERT INTO gpu_change SELECT 1, id * 100, 'stopped', NULL FROM call"
             " UNION ALL SELECT 1, id * 100 + 50, 'seen', NULL FROM call;"
             "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call)"
             " SELECT id, 8, 4, start_ns + 10, 5, id FROM call",
             (int)stops);
    totals_execute(sql);
    sqlite3_progress_handler(totals_trace, 100, count_steps, &steps);
    assert_int_equal(gv_gpu_unseen_read(totals_trace, &list), 0);
    sqlite3_progress_handler(totals_trace, 0, NULL, NULL);
    assert_int_equal(list.count, stops);
    free(list.times);
    return steps;
}

/* A program may stop and start in each of its steps. */
static void many_stops_are_read_in_linear_time(void **state)
{
    totals_execute("INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 3);"
                   "INSERT INTO api (id, name, class, gpu_work) VALUES (80, 'cuLaunchKernel',"
                   " 'launch', 1); INSERT INTO gpu_place VALUES (8, 1, 0, 1, 7);"
                   "UPDATE process SET ended = 'exit', gpu = 'cupti'");
    assert_true(steps_for_stops(400) < 8 * steps_for_stops(100));
    totals_execute("UPDATE process SET gpu = 'off'");
    assert_true(steps_for_stops(400) < 8 * steps_for_stops(100));
}

static clock_t time_for_streams(int count)
{
    char sql[1024];

    totals_execute(
        "DELETE FROM gpu_op; DELETE FROM call; DELETE FROM gpu_place; DELETE FROM stream");
    snprintf(sql, sizeof(sql),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context) "
             "SELECT i, 8, 80,"
             " i * 1000, 100, 0, i, 1 FROM n;"
             "INSERT INTO gpu_place SELECT id, 1, 0, 1, id FROM call;"
             "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, call)"
             " SELECT id, id, 1, start_ns + 200, 100, id FROM call",
             count);
    totals_execute(sql);
    clock_t begin = clock();
    struct gv_pass *pass = NULL;
    assert_int_equal(gv_pass_open(&pass, totals_trace, 0), 0);
    assert_int_equal(gv_stalls_analyse(totals_trace, 100000, pass), 0);
    gv_pass_close(pass);
    return clock() - begin;
}

/* A program may make a stream in each of its steps. */
static void many_streams_are_read_in_linear_time(void **state)
{
    totals_execute("INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 3);"
                   "INSERT INTO api (id, name, class, gpu_work) VALUES (80, 'cuLaunchKernel',"
                   " 'launch', 1); UPDATE process SET ended = 'exit', gpu = 'cupti'");
    assert_true(time_for_streams(64000) < 10 * time_for_streams(16000));
}

/* With recorded graph nodes, and before the GPU side started, records may be missing. */
static void what_leaves_no_operation_is_not_missing(void **state)
{
    totals_keep_with(
        "INSERT INTO process (id, identity, gpu) VALUES (8, 8, 'cupti');"
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 8, 1, 3);"
        "INSERT INTO api (id, name, class) VALUES (80, 'cuLaunchKernel', 'launch'), (81, "
        "'cuGraphLaunch', 'launch');"
        "INSERT INTO gpu_interval VALUES (8, 1, 500, NULL);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, correlation)"
        " VALUES (1, 8, 80, 400, 5, 0, 1, 1), (2, 8, 81, 2000, 5, 0, 2, 2)");
    assert_int_equal(totals_fact("gpu_known_ns"), 2000);
    totals_keep_with("INSERT INTO meta VALUES ('graphs', 'nodes')");
    assert_int_equal(totals_fact("gpu_known_ns"), INT64_MAX);
}

/* One of them becomes a node of another graph. */
static void launches_of_graphs_are_not_of_kernels(void **state)
{
    totals_execute(
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 6);"
        "INSERT INTO api (id, name, class, gpu_work, begins_capture, ends_capture) VALUES"
        " (80, 'cuLaunchKernel', 'launch', 1, 0, 0), (81, 'cuGraphLaunch', 'launch', 2, 0, 0),"
        " (82, 'cuStreamBeginCapture_v2', 'stream', 0, 1, 0),"
        " (83, 'cuStreamEndCapture', 'stream', 0, 0, 1);"
        "INSERT INTO call (thread, api, start_ns, duration_ns, result) VALUES (8, 80, 100, 5, 0),"
        " (8, 82, 200, 5, 0), (8, 80, 300, 5, 0), (8, 81, 400, 5, 0), (8, 83, 500, 5, 0),"
        " (8, 81, 600, 5, 0)");
    totals_keep();
    assert_int_equal(totals_fact("launch_calls"), 4);
    assert_int_equal(totals_fact("captured_launches"), 2);
    assert_int_equal(totals_fact("graph_launches"), 1);
}

static void calls_of_steps(void)
{
    totals_execute(
        "INSERT INTO thread (id, process, serial, records) VALUES (8, 1, 8, 3), (9, 1, 9, 3);"
        "INSERT INTO api (id, name, class, gpu_work) VALUES (80, 'cuLaunchKernel', 'launch', 1),"
        " (81, 'cuGraphLaunch', 'launch', 2), (82, 'cuStreamSynchronize', 'sync', 0),"
        " (83, 'cuMemcpyHtoDAsync_v2', 'copy', 3), (84, 'cuGraphInstantiate', 'graph', 0)");
}

/* At so many us. */
static void step_call(int thread, int api, int at_us, int object)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO call (thread, api, start_ns, duration_ns, result, object) VALUES"
             " (%d, %d, %d * 1000, 100, 0, %d)",
             thread, api, at_us, object);
    totals_execute(sql);
}

static int64_t steps_of_8(void)
{
    totals_keep();
    return totals_number("SELECT count(*) FROM step p JOIN step_series s ON s.id = p.series"
                         " WHERE s.thread = 8");
}

/* The program never waits; a thread that measured before waited for each of its launches. */
static void an_autotuners_threads_have_no_steps_of_the_program(void **state)
{
    calls_of_steps();
    step_call(8, 83, 0, 0);
    for (int i = 0; i < 10; i++) {
        step_call(9, 80, 10 + 2 * i, 0);
        step_call(9, 82, 11 + 2 * i, 0);
    }
    for (int i = 0; i < 40; i++) {
        step_call(8, 83, 100 + 2 * i, 0);
        step_call(8, 81, 101 + 2 * i, 77);
    }
    assert_int_equal(steps_of_8(), 40);
}

static void steps_whose_graphs_are_made_anew(void **state)
{
    calls_of_steps();
    for (int i = 0; i < 40; i++) {
        step_call(8, 84, 100 + 2 * i, 0);
        step_call(8, 81, 101 + 2 * i, 70 + i);
    }
    totals_execute("INSERT INTO call_object SELECT id, 5 FROM call WHERE api = 84");
    assert_int_equal(steps_of_8(), 39); /* not the first: it might be the only graph */
}

/* Before 40 steps of 1 ms, so many others of so many us. The first one that is no warm-up. */
static int64_t first_after_set_up(int count, int each_us)
{
    totals_execute("DELETE FROM call");
    for (int i = 0; i < count; i++) {
        step_call(8, 80, each_us * i, 0);
        step_call(8, 82, each_us * i + each_us - 10, 0);
    }
    for (int i = 0; i < 40; i++) {
        step_call(8, 83, each_us * count + 1000 * i, 0);
        step_call(8, 81, each_us * count + 1000 * i + 100, 77);
        step_call(8, 82, each_us * count + 1000 * i + 900, 0);
    }
    assert_int_equal(steps_of_8(), count + 40);
    return totals_number("SELECT min(number) FROM step WHERE NOT warmup");
}

/* A kind of short work that comes only before the loop sets it up, if it is little. */
static void what_sets_up_a_loop_is_a_warm_up(void **state)
{
    (void)state;
    calls_of_steps();
    assert_int_equal(first_after_set_up(5, 100), 6);
    assert_int_equal(first_after_set_up(5, 600), 1);
    assert_int_equal(first_after_set_up(50, 100), 1);
}

/* They go into the graph: how many there are, and how often it is made, says nothing of the steps.
 */
static void what_is_captured_is_no_work_of_a_step(void **state)
{
    calls_of_steps();
    totals_execute(
        "INSERT INTO api (id, name, class, gpu_work, begins_capture, ends_capture) VALUES"
        " (85, 'cuStreamBeginCapture_v2', 'stream', 0, 1, 0),"
        " (86, 'cuStreamEndCapture', 'stream', 0, 0, 1)");
    for (int i = 0; i < 40; i++) {
        step_call(8, 83, 100 * i, 0);
        step_call(8, 85, 100 * i + 1, 0);
        for (int j = 0; j < 60; j++)
            step_call(8, j % 2 ? 80 : 83, 100 * i + 2 + j, 0);
        step_call(8, 86, 100 * i + 70, 0);
        step_call(8, 81, 100 * i + 71, 77);
        step_call(8, 82, 100 * i + 72, 0);
    }
    assert_int_equal(steps_of_8(), 40);
}

/* Before the steps there are more launches, but little work. */
static void a_graph_is_as_much_work_as_it_takes(void **state)
{
    calls_of_steps();
    for (int i = 0; i < 200; i++)
        step_call(8, 80, 10 * i, 0);
    for (int i = 0; i < 40; i++) {
        step_call(8, 83, 10000 + 100 * i, 0);
        step_call(8, 81, 10010 + 100 * i, 77);
    }
    assert_int_equal(steps_of_8(), 0);
    totals_execute("INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call)"
                   " SELECT 1, CASE api WHEN 80 THEN 1 ELSE 4 END, start_ns + 100,"
                   " CASE api WHEN 80 THEN 500 ELSE 50000 END, id FROM call WHERE api <> 83");
    assert_int_equal(steps_of_8(), 40);
}

/* Its waits are those of another thread's start. */
static void a_thread_that_comes_and_goes_has_no_steps_beside_another(void **state)
{
    calls_of_steps();
    for (int i = 0; i < 10; i++) {
        step_call(9, 80, 10 + 2 * i, 0);
        step_call(9, 82, 11 + 2 * i, 0);
    }
    for (int i = 0; i < 40; i++) {
        step_call(8, 80, 100 + 20 * i, 0);
        step_call(8, 82, 101 + 20 * i, 0);
    }
    assert_int_equal(steps_of_8(), 40);
    assert_int_equal(totals_number("SELECT count(*) FROM step_series"), 1);
}

/* The time in an unfinished call belongs to the run. */
static void a_call_in_flight_takes_time(void **state)
{
    totals_keep_with("INSERT INTO thread (id, process, serial, records) VALUES (9, 1, 9, 3);"
                     "INSERT INTO api (id, name, class) VALUES (80, 'cuCtxSynchronize', 'sync');"
                     "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                     " (1, 9, 80, 1000, 5, 0);"
                     "INSERT INTO flight (process, thread_serial, api, start_ns, seen_ns) VALUES"
                     " (1, 9, 80, 2000, 9000), (1, 9, 80, 9500, 100)");
    assert_int_equal(totals_fact("calls"), 1);
    assert_int_equal(totals_fact("first_ns"), 1000);
    assert_int_equal(totals_fact("last_ns"), 9000);
    assert_int_equal(totals_number("SELECT total_ns FROM thread_total"), 7005);
}

static void occupancy_is_nvidias(void **state)
{
    static const struct {
        struct gv_occupancy_use use;
        int percent;
    } cases[] = {
        {{90, 256, 32, 0}, 100},     {{90, 1024, 64, 0}, 50},     {{80, 128, 40, 0}, 75},
        {{90, 1, 16, 0}, 50},        {{86, 128, 32, 0}, 100},     {{75, 1024, 64, 0}, 100},
        {{90, 256, 32, 100000}, 25}, {{90, 256, 32, 227328}, 12}, {{90, 256, 255, 0}, 12},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal((int)(gv_occupancy(&cases[i].use) * 100), cases[i].percent);
    assert_true(gv_occupancy(&(struct gv_occupancy_use){33, 256, 32, 0}) < 0);
    assert_true(gv_occupancy(&(struct gv_occupancy_use){90, 5000, 32, 0}) < 0);
    assert_true(gv_occupancy(&(struct gv_occupancy_use){90, 0, 32, 0}) < 0);
}

/* Calls 1 and 65 are launches of one graph whose nodes run in turns. */
static void launches_of_graphs_that_run_at_the_same_time_are_told_apart(void **state)
{
    totals_execute(
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
        " (1, 1, 1, 1000, 10, 0), (65, 1, 1, 1100, 10, 0);"
        "INSERT INTO gpu_op (place, kind, start_ns, duration_ns, call, graph_node) VALUES"
        " (1, 1, 2000, 100, 1, 71), (2, 1, 2050, 100, 65, 71),"
        " (1, 1, 2100, 100, 1, 72), (2, 1, 2150, 100, 65, 72)");
    totals_keep();
    assert_int_equal(totals_number("SELECT count(*) FROM graph_total"), 1);
    assert_int_equal(totals_number("SELECT launches FROM graph_total"), 2);
    assert_int_equal(totals_number("SELECT total_ns FROM graph_total"), 400);
}

/* The node of the second graph has no sums of its own. */
static void a_graph_beyond_the_limit_of_lines_is_one_graph(void **state)
{
    totals_execute(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5)"
        " INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
        " SELECT n, 1, 1, 1000 * n, 10, 0 FROM n;"
        "WITH RECURSIVE n(n) AS (SELECT 101 UNION ALL SELECT n + 1 FROM n WHERE n < 9000)"
        " INSERT INTO gpu_name SELECT n, 1, n, 'k' || n, 'k' FROM n;"
        "INSERT INTO gpu_shape (id, process, number, name)"
        " SELECT id, 1, id, id FROM gpu_name WHERE id > 100;"
        "INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call, graph_node)"
        " SELECT 1, 1, id, 2000 * id, 100, 1, id FROM gpu_shape WHERE id BETWEEN 101 AND 8900;"
        "INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call, graph_node)"
        " SELECT 1, 1, 9000, 100000000 + 2000 * id, 100, id, 9000 FROM call WHERE id > 1");
    totals_keep();
    assert_int_equal(totals_number("SELECT count(*) FROM graph_line"), 8192);
    assert_int_equal(totals_number("SELECT count(*) FROM graph_total"), 2);
    assert_int_equal(totals_number("SELECT min(launches) + max(launches) FROM graph_total"), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(durations_have_exact_ends_and_a_near_median),
        TEST(a_median_is_never_beyond_what_was_seen),
        TEST(a_median_is_exact_after_a_second_reading),
        TEST(lanes_keep_their_sum_when_they_widen),
        TEST(memory_ends_with_its_context),
        TEST(a_reset_ends_the_primary_context),
        TEST(a_reset_and_a_release_end_the_context_that_they_name),
        TEST(memory_of_a_process_that_ended_takes_no_room),
        TEST(memory_is_followed_in_order_of_time),
        TEST(each_line_has_its_memory),
        TEST(devices_have_peaks_of_their_own),
        TEST(physical_memory_lives_as_long_as_its_mappings),
        TEST(memory_that_was_not_seen_is_not_counted),
        TEST(samples_show_what_is_used_besides),
        TEST(memory_that_is_freed_is_forgotten),
        TEST(too_much_memory_at_a_time_is_not_followed),
        TEST(kernels_of_nccl_use_few_blocks_by_design),
        TEST(overlapping_operations_count_once),
        TEST(the_order_of_storage_does_not_matter),
        TEST(in_order_they_are_read_in_stretches),
        TEST(copies_are_told_apart_by_the_hosts_memory),
        TEST(summaries_are_the_same_with_totals_and_without),
        TEST(copies_between_host_and_device_count_alone),
        TEST(what_had_not_ended_ends_what_is_known),
        TEST(calls_are_summed),
        TEST(a_part_hides_what_is_kept),
        TEST(what_is_missing_bounds_what_is_known),
        TEST(what_another_profiler_had_is_neither_busy_nor_idle),
        TEST(many_stops_are_read_in_linear_time),
        TEST(many_streams_are_read_in_linear_time),
        TEST(an_autotuners_threads_have_no_steps_of_the_program),
        TEST(steps_whose_graphs_are_made_anew),
        TEST(what_sets_up_a_loop_is_a_warm_up),
        TEST(launches_of_graphs_are_not_of_kernels),
        TEST(what_is_captured_is_no_work_of_a_step),
        TEST(a_graph_is_as_much_work_as_it_takes),
        TEST(a_thread_that_comes_and_goes_has_no_steps_beside_another),
        TEST(what_leaves_no_operation_is_not_missing),
        TEST(a_call_in_flight_takes_time),
        TEST(occupancy_is_nvidias),
        TEST(launches_of_graphs_that_run_at_the_same_time_are_told_apart),
        TEST(a_graph_beyond_the_limit_of_lines_is_one_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
