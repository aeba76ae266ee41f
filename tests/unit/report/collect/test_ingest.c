/* From records to rows: names, streams, loads, groups, losses, calls in flight. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "tests/unit/report/one_spool.h"

#include "trace/spool_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void a_call_is_a_row(void **state)
{
    (void)state;
    fixture_call(&spool, 1, FIXTURE_SYNC, 2000, 70, 719);
    recover();
    assert_int_equal(number("SELECT count(*) FROM calls"), 1);
    assert_int_equal(number("SELECT start_ns FROM calls"), 2000);
    assert_int_equal(number("SELECT duration_ns FROM calls"), 70);
    assert_int_equal(number("SELECT result FROM calls"), 719);
    expect_text("SELECT name FROM calls", "cuCtxSynchronize");
    expect_text("SELECT class FROM calls", "sync");
    expect_text("SELECT t.name FROM calls c JOIN threads t ON t.id = c.thread", "worker 1");
    assert_int_equal(number("SELECT t.tid FROM calls c JOIN threads t ON t.id = c.thread"), 1001);
    /* Unknown values are NULL. */
    assert_int_equal(number("SELECT stream IS NULL AND context IS NULL AND bytes IS NULL AND"
                            " kernel IS NULL AND module IS NULL AND correlation IS NULL AND"
                            " stack IS NULL AND object IS NULL FROM calls"),
                     1);
}

/* After 2^32 segments. */
static void a_threads_calls_stay_in_order_when_its_segments_count_from_0_again(void **state)
{
    (void)state;
    spool.threads[0].sequence = UINT32_MAX;
    for (uint64_t i = 0; i < 2 * GV_SPOOL_SEGMENT_RECORDS; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, 2000 + i, 1, 0);
    assert_int_equal(spool.threads[0].sequence, 1);
    recover();
    assert_int_equal(number("SELECT count(*) FROM calls"), 2 * GV_SPOOL_SEGMENT_RECORDS);
    assert_int_equal(number("SELECT count(*) FROM calls a JOIN calls b ON b.id = a.id + 1"
                            " WHERE b.start_ns < a.start_ns"),
                     0);
}

static void append_poll(uint64_t start_ns, uint64_t count, uint64_t total_ns, uint64_t span_ns)
{
    union gv_record record = {.poll = {.head = {.kind = GV_RECORD_POLL,
                                                .flags = GV_RECORD_HAS_STREAM,
                                                .api = FIXTURE_SYNC,
                                                .result = 600},
                                       .start_ns = FIXTURE_EPOCH_NS + start_ns,
                                       .span_ns = span_ns,
                                       .total_ns = total_ns,
                                       .stream = 0x77,
                                       .context = 0xc0,
                                       .object = 0x99,
                                       .count = count}};

    assert_true(fixture_append(&spool, 1, &record));
}

static void polls_are_one_row_with_their_count(void **state)
{
    (void)state;
    append_poll(2000, 500, 400000, 900000);
    append_poll(3000000, 1, 700, 700);
    fixture_call(&spool, 1, FIXTURE_SYNC, 4000000, 300, 0);
    recover();
    assert_int_equal(number("SELECT count(*) FROM calls"), 3);
    assert_int_equal(number("SELECT count(*) FROM calls WHERE count = 500 AND start_ns = 2000 AND"
                            " duration_ns = 400000 AND span_ns = 900000 AND result = 600 AND"
                            " stream IS NOT NULL AND object = 153"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM calls WHERE count = 1 AND span_ns = duration_ns"),
                     2);
    assert_int_equal(number("SELECT count FROM api_summary"), 502);
    assert_int_equal(number("SELECT median_ns FROM api_summary"), 800);
    assert_int_equal(number("SELECT total_ns FROM api_summary"), 401000);
    assert_int_equal(number("SELECT count FROM api_total"), 502);
    assert_int_equal(number("SELECT median_ns FROM api_total"), 800);
    assert_int_equal(number("SELECT last_ns FROM thread_total"), 4000300);
    assert_int_equal(number("SELECT value FROM fact WHERE key = 'calls'"), 502);
    /* 400 us in total, but none of them stalled. */
    assert_int_equal(number("SELECT count(*) FROM stalls"), 0);
}

static void append_host(uint32_t thread, enum gv_record_kind kind, uint64_t number,
                        uint64_t start_ns)
{
    bool launches = kind == GV_RECORD_HOST_LAUNCH;
    union gv_record record = {
        .host = {.head = {.kind = (uint8_t)kind, .flags = launches ? GV_RECORD_MORE : 0},
                 .number = number,
                 .start_ns = FIXTURE_EPOCH_NS + start_ns,
                 .duration_ns = 900}};

    assert_true(fixture_append(&spool, thread, &record));
}

/* Whichever of the two threads is read first. */
static void a_host_function_belongs_to_its_launch(void **state)
{
    (void)state;
    append_host(1, GV_RECORD_HOST_FUNCTION, 1, 5000);
    append_host(2, GV_RECORD_HOST_LAUNCH, 1, 2000);
    fixture_call(&spool, 2, FIXTURE_SYNC, 2000, 70, 0);
    append_host(2, GV_RECORD_HOST_LAUNCH, 2, 3000);
    fixture_call(&spool, 2, FIXTURE_SYNC, 3000, 70, 0);
    append_host(3, GV_RECORD_HOST_FUNCTION, 2, 6000);
    append_host(2, GV_RECORD_HOST_LAUNCH, 3, 7000); /* did not run */
    fixture_call(&spool, 2, FIXTURE_SYNC, 7000, 70, 0);
    append_host(2, GV_RECORD_HOST_LAUNCH, 4, 8000); /* its call is lost */
    fixture_call(&spool, 2, FIXTURE_SYNC, 9000, 70, 0);
    recover();
    assert_int_equal(number("SELECT count(*) FROM host_functions"), 3);
    assert_int_equal(number("SELECT c.start_ns FROM host_functions h JOIN calls c ON c.id = h.call"
                            " WHERE h.start_ns = 5000 AND h.duration_ns = 900"),
                     2000);
    assert_int_equal(number("SELECT c.start_ns FROM host_functions h JOIN calls c ON c.id = h.call"
                            " JOIN threads t ON t.id = h.thread AND t.serial = 3"
                            " WHERE h.start_ns = 6000"),
                     3000);
    assert_int_equal(number("SELECT c.start_ns FROM host_functions h JOIN calls c ON c.id = h.call"
                            " WHERE h.start_ns IS NULL AND h.duration_ns IS NULL"),
                     7000);
    assert_int_equal(number("SELECT count(*) FROM calls"), 4);
}

static void a_poll_that_is_read_is_not_counted_up_any_more(void **state)
{
    struct gv_spool_reader reader;
    union gv_record record;
    char name[GV_SESSION_PATH_BYTES];
    int directory = open(fixture.spools, O_RDONLY | O_DIRECTORY);
    struct gv_record_poll *poll;

    (void)state;
    append_poll(2000, 500, 400000, 900000);
    poll = &spool.threads[0].segment->records[0].poll;
    fixture_spool_name(&fixture, 1, name, sizeof(name));
    assert_int_equal(gv_spool_reader_open(&reader, directory, name), 0);
    for (int times = 0; times < 2; times++) {
        gv_spool_reader_record(
            &reader, (uint32_t)(spool.threads[0].segment - spool.writer.segments), 0, &record);
        assert_int_equal(record.poll.count, 500);
        assert_int_equal(atomic_load(&poll->count), 500 | GV_POLL_TAKEN);
    }
    gv_spool_reader_close(&reader);
    close(directory);
}

static void append_stack_of_call(uint32_t site, uint64_t call_start_ns)
{
    union gv_record record = {.stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL,
                                                 .flags = GV_RECORD_MORE | GV_RECORD_REPRESENTS},
                                        .site = site,
                                        .call_start_ns = FIXTURE_EPOCH_NS + call_start_ns}};

    assert_true(fixture_append(&spool, 1, &record));
}

/* Its own call found no room. */
static void the_stack_of_a_lost_call_is_not_the_next_ones(void **state)
{
    (void)state;
    append_stack_of_call(1, 2000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 5000, 70, 0);
    append_stack_of_call(2, 6000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 6000, 70, 0);
    recover();
    assert_int_equal(number("SELECT stack IS NULL FROM calls WHERE start_ns = 5000"), 1);
    assert_int_equal(number("SELECT stack IS NULL FROM calls WHERE start_ns = 6000"), 0);
}

static void the_process_is_described(void **state)
{
    (void)state;
    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    recover();
    expect_text("SELECT program FROM processes", "train");
    expect_text("SELECT arguments FROM processes", "python 'train it.py'");
    expect_text("SELECT value FROM meta WHERE key = 'program'", "train");
    expect_text("SELECT value FROM meta WHERE key = 'state'", "complete");
    expect_text("SELECT value FROM meta WHERE key = 'session'", fixture.session);
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'driver_version'"), 13000);
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'unix_offset_ns'"),
                     FIXTURE_EPOCH_NS + 1000);
    expect_text("SELECT ended FROM processes", "killed");
    assert_int_equal(number("SELECT start_ns FROM processes"), 5);
}

/* In a spool the bytes may be anything. */
static void its_variables_are_stored(void **state)
{
    (void)state;
    struct gv_spool_header *header = spool.writer.header;

    header->environment_reads = 1;
    strcpy(header->environment[GV_ENVIRONMENT_CUDA_LAUNCH_BLOCKING], "=1");
    strcpy(header->environment[GV_ENVIRONMENT_CUDA_VISIBLE_DEVICES], "=");
    strcpy(header->environment[GV_ENVIRONMENT_CUDA_CACHE_DISABLE], "1");
    memset(header->environment[GV_ENVIRONMENT_PYTORCH_ALLOC_CONF], '=', GV_SPOOL_VARIABLE_BYTES);
    strcpy(header->environment[GV_ENVIRONMENT_NVIDIA_TF32_OVERRIDE], "=\xff\x01");
    recover();
    assert_int_equal(number("SELECT count(*) FROM environment WHERE process = 1"), 4);
    expect_text("SELECT value FROM environment WHERE name = 'CUDA_LAUNCH_BLOCKING'", "1");
    expect_text("SELECT value FROM environment WHERE name = 'CUDA_VISIBLE_DEVICES'", "");
    expect_text("SELECT value FROM environment WHERE name = 'NVIDIA_TF32_OVERRIDE'",
                "\xef\xbf\xbd\x01");
    assert_int_equal(number("SELECT length(value) FROM environment WHERE name ="
                            " 'PYTORCH_ALLOC_CONF'"),
                     GV_SPOOL_VARIABLE_BYTES - 2);
}

static void an_exit_is_told_from_a_kill(void **state)
{
    (void)state;
    spool.writer.header->exit_code = 3;
    spool.writer.header->exit_code_known = 1;
    spool.writer.header->state = GV_PROCESS_EXITING;
    spool.writer.header->ended_ns = FIXTURE_EPOCH_NS + 900;
    recover();
    expect_text("SELECT ended FROM processes", "exit");
    assert_int_equal(number("SELECT exit_code FROM processes"), 3);
    assert_int_equal(number("SELECT end_ns FROM processes"), 900);
}

static void a_kernel_may_be_named_after_its_launch(void **state)
{
    (void)state;
    /* Thread 1 is read first; its launch uses a number that thread 2 names. */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 10, 42, 0xc0, 0x99);
    fixture_name(&spool, 2, 42, 0, "late_kernel", false);
    recover();
    expect_text("SELECT kernel FROM calls", "late_kernel");
    assert_int_equal(number("SELECT count(*) FROM kernels"), 1);
}

static void long_names_are_put_together(void **state)
{
    (void)state;
    char name[301];

    memset(name, 'k', sizeof(name) - 1);
    name[300] = '\0';
    fixture_name(&spool, 1, 1, 0, name, false);
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 10, 1, 0xc0, 0x99);
    recover();
    expect_text("SELECT kernel FROM calls", name);
}

static void streams_are_told_apart(void **state)
{
    (void)state;
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 1, 1, 0xc0, 0x99);   /* a created stream */
    fixture_launch(&spool, 2, FIXTURE_LAUNCH, 2, 1, 0, 0x99);      /* the same, context unknown */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 3, 1, 0xc0, 0);      /* legacy default */
    fixture_launch(&spool, 2, FIXTURE_LAUNCH, 4, 1, 0xc0, 1);      /* the same by its name */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 5, 1, 0xd0, 0);      /* of another context */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH_PTSZ, 6, 1, 0xc0, 0); /* thread 1's own */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 7, 1, 0xc0, 2);      /* the same by its name */
    fixture_launch(&spool, 2, FIXTURE_LAUNCH_PTSZ, 8, 1, 0xc0, 0); /* thread 2's own */
    recover();
    assert_int_equal(number("SELECT count(*) FROM streams"), 5);
    assert_int_equal(number("SELECT count(*) FROM streams WHERE kind = 'created'"), 1);
    assert_int_equal(number("SELECT count(*) FROM streams WHERE kind = 'legacy default'"), 2);
    assert_int_equal(number("SELECT count(*) FROM streams WHERE kind = 'per-thread default'"), 2);
    assert_int_equal(number("SELECT count(DISTINCT stream) FROM calls WHERE start_ns IN (1, 2)"),
                     1);
    assert_int_equal(number("SELECT count(DISTINCT stream) FROM calls WHERE start_ns IN (3, 4)"),
                     1);
    assert_int_equal(number("SELECT count(DISTINCT stream) FROM calls WHERE start_ns IN (6, 7)"),
                     1);
    assert_int_equal(number("SELECT count(DISTINCT context) FROM calls WHERE start_ns IN (1, 2)"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM contexts"), 2);
    assert_int_equal(number("SELECT count(*) FROM calls c JOIN contexts x ON x.id = c.context"
                            " WHERE c.start_ns = 5 AND x.handle = 208"),
                     1);
}

static void append_load(uint64_t start_ns, uint64_t outer_ns, uint8_t kind, uint8_t image,
                        uint32_t module, bool nested, const char *text)
{
    union gv_record record = {.load = {.start_ns = FIXTURE_EPOCH_NS + start_ns,
                                       .duration_ns = 500,
                                       .bytes = 4096,
                                       .hash = 0xabc,
                                       .outer_start_ns = FIXTURE_EPOCH_NS + outer_ns,
                                       .module = module,
                                       .load_kind = kind,
                                       .image_kind = image,
                                       .text_bytes = (uint16_t)(text ? strlen(text) : 0)}};

    record.head.kind = GV_RECORD_LOAD;
    record.head.api = FIXTURE_MODULE_LOAD;
    record.head.flags = GV_RECORD_MORE | GV_RECORD_HAS_BYTES | (nested ? GV_RECORD_NESTED : 0);
    fixture_append(&spool, 1, &record);
    if (text)
        fixture_text(&spool, 1, text, true);
}

static void a_load_knows_its_call_and_module(void **state)
{
    (void)state;
    append_load(100, 100, GV_LOAD_FILE, GV_IMAGE_CUBIN, 1, false, "/tmp/a.cubin");
    fixture_call(&spool, 1, FIXTURE_MODULE_LOAD, 100, 520, 0);
    append_load(2010, 2000, GV_LOAD_MODULE, GV_IMAGE_PTX, 2, true, NULL); /* inside a launch */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 2000, 0, 0, 5);
    append_load(9000, 8990, GV_LOAD_MODULE, GV_IMAGE_FATBIN, 3, true, NULL); /* never came back */
    recover();
    assert_int_equal(number("SELECT count(*) FROM loads"), 3);
    expect_text("SELECT kind FROM loads WHERE start_ns = 100", "file");
    expect_text("SELECT name FROM loads WHERE start_ns = 100", "/tmp/a.cubin");
    expect_text("SELECT hash FROM loads WHERE start_ns = 100", "0000000000000abc");
    expect_text("SELECT c.name FROM loads l JOIN calls c ON c.id = l.call WHERE l.start_ns = 100",
                "cuModuleLoadData");
    assert_int_equal(number("SELECT c.module = l.module FROM loads l JOIN calls c ON c.id = l.call"
                            " WHERE l.start_ns = 100"),
                     1);
    expect_text("SELECT kind FROM loads WHERE start_ns = 2010", "ptx");
    expect_text("SELECT c.name FROM loads l JOIN calls c ON c.id = l.call WHERE l.start_ns = 2010",
                "cuLaunchKernel");
    assert_int_equal(number("SELECT module IS NULL FROM calls WHERE start_ns = 2000"), 1);
    assert_int_equal(number("SELECT call IS NULL FROM loads WHERE start_ns = 9000"), 1);
    expect_text("SELECT image FROM loads WHERE start_ns = 9000", "fatbin");
}

static void an_unload_ends_its_module(void **state)
{
    (void)state;
    union gv_record unload = {.unload = {.at_ns = FIXTURE_EPOCH_NS + 700, .module = 1}};

    append_load(100, 100, GV_LOAD_LIBRARY, GV_IMAGE_FATBIN, 1, false, NULL);
    fixture_call(&spool, 1, FIXTURE_MODULE_LOAD, 100, 520, 0);
    unload.head.kind = GV_RECORD_UNLOAD;
    unload.head.flags = GV_RECORD_MORE;
    fixture_append(&spool, 1, &unload);
    fixture_call(&spool, 1, FIXTURE_UNLOAD, 690, 20, 0);
    recover();
    assert_int_equal(number("SELECT unloaded_ns FROM modules"), 700);
    assert_int_equal(number("SELECT count(DISTINCT module) FROM calls"), 1);
    expect_text("SELECT kind FROM loads", "library");
}

static void an_exception_leaves_no_result(void **state)
{
    (void)state;
    union gv_record record = {.call = {.start_ns = FIXTURE_EPOCH_NS + 1}};

    record.head.kind = GV_RECORD_CALL;
    record.head.flags = GV_RECORD_UNWOUND;
    record.head.result = 77;
    fixture_append(&spool, 1, &record);
    recover();
    assert_int_equal(number("SELECT result IS NULL FROM calls"), 1);
}

static void losses_are_counted_by_class(void **state)
{
    (void)state;
    spool.writer.header->lost.calls[5] = 1234;
    spool.writer.header->lost.names = 2;
    recover();
    assert_int_equal(number("SELECT count FROM losses WHERE what = 'call' AND class = 'launch'"),
                     1234);
    assert_int_equal(number("SELECT count FROM losses WHERE what = 'name' AND class IS NULL"), 2);
    assert_int_equal(number("SELECT count(*) FROM losses"), 2);
}

static int64_t cost_of(const char *what, const char *column)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT %s FROM own_cost WHERE what = '%s'", column, what);
    return number(sql);
}

static void its_own_cost_is_counted_and_estimated(void **state)
{
    struct gv_own_cost_total *costs = spool.writer.header->own_cost;
    union gv_record correlated = {.call = {.head = {.kind = GV_RECORD_CALL, .api = FIXTURE_LAUNCH},
                                           .start_ns = FIXTURE_EPOCH_NS + 7000,
                                           .correlation = 5}};

    (void)state;
    fixture_call(&spool, 1, FIXTURE_SYNC, 2000, 70, 0);
    append_poll(3000, 500, 400000, 900000);
    assert_true(fixture_append(&spool, 2, &correlated));
    spool.writer.header->lost.calls[5] = 1000;
    spool.writer.slots[3].unrecorded = 200;
    spool.writer.slots[1023].unrecorded = 30;
    gv_own_cost_add(costs, GV_OWN_COST_STACKS, 40000);
    gv_own_cost_add(costs, GV_OWN_COST_STACKS, 20000);
    gv_own_cost_spare(costs, GV_OWN_COST_STACKS);
    gv_own_cost_add(costs, GV_OWN_COST_THREAD, 77);
    recover();
    assert_int_equal(number("SELECT count(*) FROM own_cost"), GV_OWN_COST_COUNT);
    assert_int_equal(cost_of("hooks", "count"), 502);
    assert_int_equal(cost_of("hooks-unrecorded", "count"), 1230);
    assert_int_equal(cost_of("cupti-calls", "count"), 1);
    /* Two readings of the clock take a nanosecond or more, and less than 10 us. */
    assert_in_range(cost_of("hooks", "total_ns / count"), 25, 10000);
    assert_int_equal(cost_of("hooks-unrecorded", "total_ns / count"),
                     cost_of("hooks", "total_ns / count"));
    assert_true(cost_of("cupti-calls", "total_ns") > 0);
    assert_int_equal(cost_of("stacks", "count"), 2);
    assert_int_equal(cost_of("stacks", "total_ns"), 60000);
    assert_int_equal(cost_of("stacks", "spared"), 1);
    assert_int_equal(cost_of("thread", "total_ns"), 77);
    assert_int_equal(cost_of("end", "count + total_ns"), 0);
}

/* The threads work beside each other, but all wait for the start and the end. */
static void its_share_is_that_of_the_busiest_thread(void **state)
{
    struct gv_own_cost_total *costs = spool.writer.header->own_cost;

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, 2000 + i * 100, 10, 0);
    fixture_call(&spool, 2, FIXTURE_SYNC, 2000, 10, 0);
    spool.writer.header->ended_ns = FIXTURE_EPOCH_NS + 5 + 900000;
    gv_own_cost_add(costs, GV_OWN_COST_STACKS, 40000);
    gv_own_cost_add(costs, GV_OWN_COST_END, 100000);
    gv_own_cost_add(costs, GV_OWN_COST_THREAD, 500000);
    recover();
    assert_int_equal(cost_of("stacks", "CAST(round(share * 1e6) AS INTEGER)"), 30000);
    assert_int_equal(cost_of("end", "CAST(round(share * 1e6) AS INTEGER)"), 100000);
    assert_int_equal(cost_of("thread", "share IS NULL"), 1);
}

static void a_killed_process_shows_the_call_it_was_in(void **state)
{
    (void)state;
    struct gv_spool_slot *slot = &spool.writer.slots[3];

    fixture_name(&spool, 1, 9, 0, "endless", false);
    slot->thread = 1;
    slot->tid = 1001;
    slot->start_ns = FIXTURE_EPOCH_NS + 4000;
    slot->detail = 9;
    slot->api_plus_one = FIXTURE_LAUNCH + 1;
    recover();
    assert_int_equal(number("SELECT count(*) FROM in_flight"), 1);
    expect_text("SELECT name FROM in_flight", "cuLaunchKernel");
    expect_text("SELECT kernel FROM in_flight", "endless");
    assert_int_equal(number("SELECT start_ns FROM in_flight"), 4000);
    assert_int_equal(number("SELECT thread FROM in_flight"), number("SELECT id FROM threads"));
}

static void threads_are_read_in_their_own_order(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3000; i++)
        for (uint32_t thread = 1; thread <= 3; thread++)
            fixture_call(&spool, thread, FIXTURE_SYNC, i * 10 + thread, 1, 0);
    recover();
    assert_int_equal(number("SELECT count(*) FROM calls"), 9000);
    assert_int_equal(number("SELECT count(*) FROM calls a JOIN calls b ON b.id = a.id + 1"
                            " WHERE a.thread = b.thread AND b.start_ns <= a.start_ns"),
                     0);
}

static void foreign_text_cannot_break_the_trace(void **state)
{
    (void)state;
    fixture_name(&spool, 1, 1, 0, "bad\xff\x1b[31m'; DROP TABLE call; --", false);
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 10, 1, 0, 5);
    recover();
    expect_text("SELECT kernel FROM calls", "bad\xef\xbf\xbd\x1b[31m'; DROP TABLE call; --");
    assert_int_equal(number("SELECT count(*) FROM calls"), 1);
}

static void nonsense_records_do_no_harm(void **state)
{
    (void)state;
    for (unsigned int kind = 0; kind < 256; kind++) {
        union gv_record record;
        memset(&record, 0xff, sizeof(record));
        record.head.kind = (uint8_t)kind;
        record.head.flags = (uint8_t)(kind * 7);
        fixture_append(&spool, 1, &record);
    }
    fixture_call(&spool, 1, FIXTURE_SYNC, 77, 1, 0);
    recover();
    assert_int_equal(number("SELECT count(*) FROM calls WHERE start_ns = 77"), 1);
    expect_text("PRAGMA integrity_check", "ok");
}

static void the_summary_has_medians(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 5; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i * 100, i * i, i == 5 ? 719 : i == 4 ? 600 : 0);
    for (uint64_t i = 0; i < 4; i++)
        fixture_call(&spool, 1, FIXTURE_UNLOAD, 1000 + i, 8, 0);
    recover();
    assert_int_equal(number("SELECT count FROM api_summary WHERE name = 'cuCtxSynchronize'"), 5);
    assert_int_equal(number("SELECT total_ns FROM api_summary WHERE name = 'cuCtxSynchronize'"),
                     55);
    assert_int_equal(number("SELECT min_ns FROM api_summary WHERE name = 'cuCtxSynchronize'"), 1);
    assert_int_equal(number("SELECT median_ns FROM api_summary WHERE name = 'cuCtxSynchronize'"),
                     9);
    assert_int_equal(number("SELECT max_ns FROM api_summary WHERE name = 'cuCtxSynchronize'"), 25);
    assert_int_equal(number("SELECT errors FROM api_summary WHERE name = 'cuCtxSynchronize'"), 1);
    assert_int_equal(number("SELECT median_ns FROM api_summary WHERE name = 'cuModuleUnload'"), 8);
    assert_int_equal(number("SELECT round(sum(share) * 1000) FROM api_summary"), 1000);
}

static void a_launch_row_is_small(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100000; i++)
        fixture_launch(&spool, 1, FIXTURE_LAUNCH, 5000000000u + i * 4000, 1, 0xc0, 0x99);
    recover();
    int64_t bytes =
        number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    assert_true(bytes <= 36 * 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_call_is_a_row),
        TEST(a_threads_calls_stay_in_order_when_its_segments_count_from_0_again),
        TEST(polls_are_one_row_with_their_count),
        TEST(a_poll_that_is_read_is_not_counted_up_any_more),
        TEST(a_host_function_belongs_to_its_launch),
        TEST(the_stack_of_a_lost_call_is_not_the_next_ones),
        TEST(its_variables_are_stored),
        TEST(the_process_is_described),
        TEST(an_exit_is_told_from_a_kill),
        TEST(a_kernel_may_be_named_after_its_launch),
        TEST(long_names_are_put_together),
        TEST(streams_are_told_apart),
        TEST(a_load_knows_its_call_and_module),
        TEST(an_unload_ends_its_module),
        TEST(an_exception_leaves_no_result),
        TEST(losses_are_counted_by_class),
        TEST(its_own_cost_is_counted_and_estimated),
        TEST(its_share_is_that_of_the_busiest_thread),
        TEST(a_killed_process_shows_the_call_it_was_in),
        TEST(threads_are_read_in_their_own_order),
        TEST(foreign_text_cannot_break_the_trace),
        TEST(nonsense_records_do_no_harm),
        TEST(the_summary_has_medians),
        TEST(a_launch_row_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
