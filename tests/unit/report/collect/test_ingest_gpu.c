/* From the GPU side's records to rows: operations and their calls, kernels, loads, losses. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/correlate.h"
#include "report/collect/recovery.h"
#include "tests/unit/report/spool_fixture.h"

#include <stdio.h>
#include <string.h>

#define BEFORE 1 /* a thread whose records are read before those of ... */
#define GPU    2 /* the thread of the GPU side, and ... */
#define AFTER  3 /* one whose records are read after them */

static struct fixture fixture;
static struct fixture_spool spool;

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
    atomic_store(&spool.writer.header->gpu.cupti_version, 130001);
    atomic_store(&spool.writer.header->gpu.state, GV_GPU_SEEN);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static int64_t number(const char *sql)
{
    return fixture_number(fixture.trace, sql);
}

static void expect_text(const char *sql, const char *expected)
{
    fixture_expect_text(fixture.trace, sql, expected);
}

static void recover(void)
{
    static struct gv_recovery recovery;

    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
}

static void call(uint32_t thread, enum fixture_api api, uint64_t start_ns, uint64_t duration_ns,
                 uint32_t correlation)
{
    union gv_record record = {.call = {.head = {.kind = GV_RECORD_CALL, .api = (uint16_t)api},
                                       .start_ns = FIXTURE_EPOCH_NS + start_ns,
                                       .duration_ns = duration_ns,
                                       .correlation = correlation}};

    assert_true(fixture_append(&spool, thread, &record));
}

static void operation(enum gv_gpu_op_kind kind, uint64_t start_ns, uint32_t correlation,
                      uint32_t shape)
{
    union gv_record record = {.gpu_op = {.head = {.kind = GV_RECORD_GPU_OP, .api = (uint16_t)kind},
                                         .start_ns = start_ns ? FIXTURE_EPOCH_NS + start_ns : 0,
                                         .duration_ns = start_ns ? 250 : 0,
                                         .device = 0,
                                         .context = 1,
                                         .stream = 7,
                                         .correlation = correlation,
                                         .shape = shape}};

    assert_true(fixture_append(&spool, GPU, &record));
}

static void named_kernel(const char *name)
{
    union gv_record record = {.gpu_name = {
                                  .head = {.kind = GV_RECORD_GPU_NAME, .flags = GV_RECORD_MORE},
                                  .number = 1,
                                  .text_bytes = (uint32_t)strlen(name),
                              }};

    assert_true(fixture_append(&spool, GPU, &record));
    fixture_text(&spool, GPU, name, false);
    record = (union gv_record){.gpu_shape = {.head = {.kind = GV_RECORD_GPU_SHAPE},
                                             .number = 1,
                                             .name = 1,
                                             .grid = {3, 2, 1},
                                             .block = {128, 1, 1},
                                             .static_shared_bytes = 100,
                                             .dynamic_shared_bytes = 20,
                                             .registers = 40}};
    assert_true(fixture_append(&spool, GPU, &record));
}

/* More come before their calls than can wait: the others are matched at the end. */
static void operations_that_were_given_up_find_their_calls_in_the_end(void **state)
{
    (void)state;
    const uint32_t count = GV_CORRELATE_WAITING + 1000;

    for (uint32_t i = 1; i <= count; i++)
        operation(GV_GPU_KERNEL, 1000 + i, i, 0);
    for (uint32_t i = 1; i <= count; i++)
        if (i != 7) /* it was lost */
            call(AFTER, FIXTURE_LAUNCH, i, 1, i);
    recover();
    assert_int_equal(number("SELECT count(*) FROM gpu_ops"), count);
    assert_int_equal(number("SELECT count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call"
                            " AND c.start_ns = o.start_ns - 1000"),
                     count - 1);
    assert_int_equal(number("SELECT start_ns FROM gpu_ops WHERE call IS NULL"), 1007);
}

/* CUPTI has the first name of a handle, also after another function got it. */
static void after_an_unload_a_kernel_has_the_name_of_its_launch(void **state)
{
    (void)state;
    atomic_store(&spool.writer.header->gpu.unloaded_ns, FIXTURE_EPOCH_NS + 300);
    fixture_name(&spool, BEFORE, 42, 0, "new_name", false);
    named_kernel("old_name");
    for (uint32_t i = 1; i <= 3; i++) {
        const union gv_record launch = {
            .call = {.head = {.kind = GV_RECORD_CALL, .api = FIXTURE_LAUNCH},
                     .start_ns = FIXTURE_EPOCH_NS + 100ull * i,
                     .duration_ns = 10,
                     .kernel = 42,
                     .correlation = i}};
        assert_true(fixture_append(&spool, BEFORE, &launch));
    }
    operation(GV_GPU_KERNEL, 200, 1, 1); /* before */
    operation(GV_GPU_KERNEL, 400, 2, 1);
    operation(GV_GPU_KERNEL, 0, 3, 1); /* had not ended when the process did */
    recover();
    expect_text("SELECT group_concat(name, ' ') FROM (SELECT o.name FROM gpu_ops o JOIN calls c ON "
                "c.id = o.call"
                " ORDER BY c.start_ns)",
                "old_name new_name new_name");
}

static void what_is_unknown_is_null(void **state)
{
    (void)state;
    operation(GV_GPU_SET, 0, 0, 0);
    recover();
    expect_text("SELECT kind FROM gpu_ops", "set");
    assert_int_equal(number("SELECT start_ns IS NULL AND duration_ns IS NULL AND bytes IS NULL AND"
                            " call IS NULL AND stream IS NULL AND grid_x IS NULL AND"
                            " registers IS NULL FROM gpu_ops"),
                     1);
}

/* A process that ended normally. Its GPU side was recorded from 50 to 1000. */
static void it_has_finished(void)
{
    struct gv_spool_gpu *gpu = &spool.writer.header->gpu;

    atomic_store(&gpu->started_ns, FIXTURE_EPOCH_NS + 50);
    atomic_store(&gpu->flushed_ns, FIXTURE_EPOCH_NS + 1000);
    atomic_store(&gpu->finished, 1);
}

static int64_t missing(void)
{
    return number("SELECT coalesce(sum(count), 0) FROM losses WHERE what = 'GPU record' AND class ="
                  " 'missing'");
}

static void launches_without_an_operation_are_missing(void **state)
{
    (void)state;
    it_has_finished();
    call(BEFORE, FIXTURE_LAUNCH, 10, 10, 0);   /* the GPU's side was not on */
    call(BEFORE, FIXTURE_LAUNCH, 100, 10, 5);  /* seen */
    call(BEFORE, FIXTURE_LAUNCH, 200, 10, 6);  /* missing */
    call(BEFORE, FIXTURE_LAUNCH, 300, 10, 0);  /* missing */
    call(BEFORE, FIXTURE_LAUNCH, 1100, 10, 7); /* after the last flush */
    call(AFTER, FIXTURE_LAUNCH, 250, 10, 8);   /* missing */
    operation(GV_GPU_KERNEL, 110, 5, 0);
    recover();
    assert_int_equal(missing(), 3);
    assert_int_equal(number("SELECT count FROM losses WHERE class = 'last flush'"), 1);
    assert_int_equal(number("SELECT count(*) FROM losses"), 2);
    assert_int_equal(number("SELECT start_ns FROM recording WHERE side = 'gpu'"), 50);
    assert_int_equal(number("SELECT end_ns FROM recording WHERE side = 'gpu'"), 1000);
}

static void stream_call(enum fixture_api api, uint64_t start_ns, uint64_t stream)
{
    union gv_record record = {
        .call = {
            .head = {.kind = GV_RECORD_CALL, .api = (uint16_t)api, .flags = GV_RECORD_HAS_STREAM},
            .start_ns = FIXTURE_EPOCH_NS + start_ns,
            .duration_ns = 5,
            .stream = stream}};

    assert_true(fixture_append(&spool, BEFORE, &record));
}

/* A short capture inside a long one, of another stream, does not end it. */
static void what_is_launched_while_a_stream_is_captured_is_not_missing(void **state)
{
    (void)state;
    it_has_finished();
    call(BEFORE, FIXTURE_LAUNCH, 60, 10, 5); /* missing */
    stream_call(FIXTURE_BEGIN_CAPTURE, 100, 0x10);
    stream_call(FIXTURE_BEGIN_CAPTURE, 200, 0x20);
    stream_call(FIXTURE_END_CAPTURE, 300, 0x20);
    call(BEFORE, FIXTURE_LAUNCH, 400, 10, 6);
    stream_call(FIXTURE_END_CAPTURE, 500, 0x10);
    call(BEFORE, FIXTURE_LAUNCH, 600, 10, 7); /* missing */
    recover();
    assert_int_equal(missing(), 2);
    assert_int_equal(number("SELECT count(*) FROM losses"), 1);
}

static void an_operation_without_its_call_is_taken_off(void **state)
{
    (void)state;
    it_has_finished();
    call(BEFORE, FIXTURE_LAUNCH, 100, 10, 5);
    call(BEFORE, FIXTURE_LAUNCH, 200, 10, 5); /* a handler's call had the same number */
    call(BEFORE, FIXTURE_LAUNCH, 300, 10, 6);
    operation(GV_GPU_KERNEL, 110, 5, 0);
    operation(GV_GPU_KERNEL, 210, 77, 0);
    recover();
    assert_int_equal(missing(), 1);
}

static void what_is_known_to_be_lost_is_not_missing_too(void **state)
{
    (void)state;
    it_has_finished();
    atomic_store(&spool.writer.header->gpu.dropped, 1);
    atomic_store(&spool.writer.header->gpu.lost, 1);
    call(BEFORE, FIXTURE_LAUNCH, 100, 10, 5);
    call(BEFORE, FIXTURE_LAUNCH, 200, 10, 6);
    call(BEFORE, FIXTURE_LAUNCH, 300, 10, 7);
    recover();
    assert_int_equal(missing(), 1);
    assert_int_equal(number("SELECT sum(count) FROM losses"), 3);
}

/* What is seen changes; a path: because of this library. */
static void changed(enum gv_recording what, uint64_t at_ns, const char *path)
{
    union gv_record record = {.recording = {.head = {.kind = GV_RECORD_RECORDING,
                                                     .flags = path ? GV_RECORD_MORE : 0,
                                                     .api = (uint16_t)what},
                                            .at_ns = FIXTURE_EPOCH_NS + at_ns,
                                            .text_bytes = path ? (uint32_t)strlen(path) : 0}};

    assert_true(fixture_append(&spool, GPU, &record));
    if (path)
        fixture_text(&spool, GPU, path, false);
}

static const char periods[] =
    "SELECT group_concat(start_ns || '-' || coalesce(end_ns, '') || ' ' || gpu || coalesce(' ' ||"
    " profiler, ''), ', ') FROM (SELECT * FROM recording WHERE side = 'gpu' ORDER BY start_ns)";

static void another_profiler_had_the_gpu_side(void **state)
{
    (void)state;
    it_has_finished();
    changed(GV_RECORDING_ALL, 50, NULL);
    changed(GV_RECORDING_OTHER, 300, "/opt/torch/lib/libtorch_cpu.so");
    changed(GV_RECORDING_OPERATIONS, 500, "/opt/torch/lib/libtorch_cpu.so");
    changed(GV_RECORDING_ALL, 700, NULL);
    changed(GV_RECORDING_ALL, 710, NULL);
    changed(GV_RECORDING_OTHER, 900, "/opt/libmine.so");
    recover();
    expect_text(periods, "50-300 seen, 300-500 other torch.profiler,"
                         " 500-700 operations torch.profiler, 700-900 seen, 900- other libmine.so");
    assert_int_equal(number("SELECT count(*) FROM recording WHERE side = 'calls' AND gpu IS NULL"),
                     1);
}

static void a_profiler_that_came_first_had_it_from_the_start(void **state)
{
    (void)state;
    it_has_finished();
    changed(GV_RECORDING_OTHER, 10, NULL);
    changed(GV_RECORDING_ALL, 50, NULL);
    recover();
    expect_text(periods, "10-50 other, 50-1000 seen");
}

static void what_another_profiler_had_is_not_missing(void **state)
{
    (void)state;
    it_has_finished();
    call(BEFORE, FIXTURE_LAUNCH, 100, 10, 5); /* seen */
    call(BEFORE, FIXTURE_LAUNCH, 120, 10, 6); /* missing: a later one was seen */
    call(BEFORE, FIXTURE_LAUNCH, 140, 10, 7); /* seen */
    call(BEFORE, FIXTURE_LAUNCH, 280, 10, 8); /* ran when it was not seen any more */
    call(BEFORE, FIXTURE_LAUNCH, 400, 10, 0);
    call(BEFORE, FIXTURE_LAUNCH, 495, 10, 0); /* meanwhile it is seen again */
    call(BEFORE, FIXTURE_LAUNCH, 600, 10, 0); /* an operation without its call */
    call(BEFORE, FIXTURE_LAUNCH, 800, 10, 9); /* missing */
    call(BEFORE, FIXTURE_LAUNCH, 820, 10, 10);
    operation(GV_GPU_KERNEL, 110, 5, 0);
    operation(GV_GPU_KERNEL, 150, 7, 0);
    changed(GV_RECORDING_OTHER, 300, NULL);
    changed(GV_RECORDING_ALL, 500, NULL);
    changed(GV_RECORDING_OPERATIONS, 550, NULL);
    operation(GV_GPU_KERNEL, 610, 77, 0);
    changed(GV_RECORDING_ALL, 700, NULL);
    operation(GV_GPU_KERNEL, 830, 10, 0);
    recover();
    assert_int_equal(missing(), 2);
    assert_int_equal(number("SELECT count(*) FROM losses"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(operations_that_were_given_up_find_their_calls_in_the_end),
        TEST(after_an_unload_a_kernel_has_the_name_of_its_launch),
        TEST(what_is_unknown_is_null),
        TEST(launches_without_an_operation_are_missing),
        TEST(what_is_launched_while_a_stream_is_captured_is_not_missing),
        TEST(an_operation_without_its_call_is_taken_off),
        TEST(what_is_known_to_be_lost_is_not_missing_too),
        TEST(another_profiler_had_the_gpu_side),
        TEST(a_profiler_that_came_first_had_it_from_the_start),
        TEST(what_another_profiler_had_is_not_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
