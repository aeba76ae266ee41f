/* From records to rows: names, streams, loads, groups, losses, calls in flight. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/one_spool.h"

#include "trace/call_table.h"
#include "trace/spool_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* After 2^32 segments. */
static void a_threads_calls_stay_in_order_when_its_segments_count_from_0_again(void **state)
{
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
    append_stack_of_call(1, 2000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 5000, 70, 0);
    append_stack_of_call(2, 6000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 6000, 70, 0);
    recover();
    assert_int_equal(number("SELECT stack IS NULL FROM calls WHERE start_ns = 5000"), 1);
    assert_int_equal(number("SELECT stack IS NULL FROM calls WHERE start_ns = 6000"), 0);
}

static void a_kernel_may_be_named_after_its_launch(void **state)
{
    /* Thread 1 is read first; its launch uses a number that thread 2 names. */
    fixture_launch(&spool, 1, FIXTURE_LAUNCH, 10, 42, 0xc0, 0x99);
    fixture_name(&spool, 2, 42, 0, "late_kernel", false);
    recover();
    expect_text("SELECT kernel FROM calls", "late_kernel");
    assert_int_equal(number("SELECT count(*) FROM kernels"), 1);
}

static void streams_are_told_apart(void **state)
{
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

static int64_t cost_of(const char *what, const char *column)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT %s FROM own_cost WHERE what = '%s'", column, what);
    return number(sql);
}

/* The threads work beside each other, but all wait for the start and the end. */
static void its_share_is_that_of_the_busiest_thread(void **state)
{
    struct gv_own_cost_total *costs = spool.writer.header->own_cost;

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

/* The estimate of a hook counts as 20 measured ones. */
static void hooks_cost_what_the_measured_ones_did(void **state)
{
    struct gv_own_cost_total *hooks = &spool.writer.header->own_cost[GV_OWN_COST_HOOKS];

    for (uint64_t i = 0; i < 100; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i * 100, 10, 0);
    hooks->count = 20;
    hooks->total_ns = 20 * 10000;
    atomic_store(&spool.writer.header->lost.calls[GV_CLASS_SYNC], 100);
    recover();
    assert_int_equal(cost_of("hooks", "count"), 100);
    assert_in_range(cost_of("hooks", "total_ns"), 100 * 5000, 100 * 5500);
    assert_int_equal(cost_of("hooks-unrecorded", "total_ns"), cost_of("hooks", "total_ns"));
}

static void costs_of_a_damaged_spool_do_not_count(void **state)
{
    struct gv_own_cost_total *hooks = &spool.writer.header->own_cost[GV_OWN_COST_HOOKS];
    struct gv_own_cost_total *stacks = &spool.writer.header->own_cost[GV_OWN_COST_STACKS];
    struct gv_own_cost_total *end = &spool.writer.header->own_cost[GV_OWN_COST_END];

    for (uint64_t i = 0; i < 100; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, i * 100, 10, 0);
    hooks->count = stacks->count = 1;
    hooks->total_ns = UINT64_MAX;
    stacks->total_ns = INT64_MAX;
    end->count = end->total_ns = UINT64_MAX;
    recover();
    assert_in_range(cost_of("hooks", "total_ns"), 100 * 50, 100 * 1000);
    assert_int_equal(cost_of("stacks", "total_ns"), 0);
    assert_in_range(cost_of("end", "total_ns"), 0, 1000000000);
}

static void the_summary_has_medians(void **state)
{
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
    for (uint64_t i = 0; i < 100000; i++)
        fixture_launch(&spool, 1, FIXTURE_LAUNCH, 5000000000u + i * 4000, 1, 0xc0, 0x99);
    recover();
    int64_t bytes =
        number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    assert_true(bytes <= 36 * 100000);
}

static void append_node(uint64_t node, uint64_t original, uint8_t flags, uint64_t call_start_ns)
{
    union gv_record record = {.graph_node = {.head = {.kind = GV_RECORD_GRAPH_NODE,
                                                      .flags = (uint8_t)(GV_RECORD_MORE | flags)},
                                             .node = node,
                                             .original = original,
                                             .call_start_ns = FIXTURE_EPOCH_NS + call_start_ns}};

    assert_true(fixture_append(&spool, 1, &record));
}

#define NODE(graph, index) ((uint64_t)(graph) << 32 | (index))

/* Graph 2 has a node, two children, and a node; the second child has a child. */
static void nodes_of_child_graphs_run_as_nodes_of_the_whole(void **state)
{
    static const struct {
        uint64_t node, original;
        bool is_graph;
    } clones[] = {
        {NODE(3, 0), NODE(2, 0), false}, {NODE(3, 1), NODE(2, 1), true},
        {NODE(4, 0), NODE(1, 0), false}, {NODE(4, 1), NODE(1, 1), false},
        {NODE(3, 2), NODE(2, 2), true},  {NODE(5, 0), NODE(1, 2), false},
        {NODE(5, 1), NODE(1, 3), true},  {NODE(6, 0), NODE(1, 4), false},
        {NODE(5, 2), NODE(1, 5), false}, {NODE(3, 3), NODE(2, 3), false},
    };

    for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
        append_node(
            clones[i].node, clones[i].original,
            (uint8_t)(GV_RECORD_INSTANTIATED | (clones[i].is_graph ? GV_RECORD_IS_GRAPH : 0)),
            2000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 2000, 70, 0);
    append_node(NODE(8, 0), NODE(2, 0), 0, 3000); /* a copy that is not to be launched */
    append_node(NODE(9, 0), NODE(1, 0), 0, 3000);
    fixture_call(&spool, 1, FIXTURE_SYNC, 3000, 70, 0);
    recover();
    expect_text("SELECT group_concat(node & 255) FROM (SELECT node FROM graph_node"
                " WHERE node >> 32 = 3 ORDER BY node)",
                "0,1,2,3,4,5,6");
    assert_int_equal(number("SELECT count(*) FROM graph_node WHERE node >> 32 > 6"), 2);
}

static void nonsense_records_do_no_harm(void **state)
{
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_threads_calls_stay_in_order_when_its_segments_count_from_0_again),
        TEST(polls_are_one_row_with_their_count),
        TEST(a_poll_that_is_read_is_not_counted_up_any_more),
        TEST(a_host_function_belongs_to_its_launch),
        TEST(the_stack_of_a_lost_call_is_not_the_next_ones),
        TEST(a_kernel_may_be_named_after_its_launch),
        TEST(streams_are_told_apart),
        TEST(its_share_is_that_of_the_busiest_thread),
        TEST(hooks_cost_what_the_measured_ones_did),
        TEST(costs_of_a_damaged_spool_do_not_count),
        TEST(the_summary_has_medians),
        TEST(a_launch_row_is_small),
        TEST(nodes_of_child_graphs_run_as_nodes_of_the_whole),
        TEST(nonsense_records_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
