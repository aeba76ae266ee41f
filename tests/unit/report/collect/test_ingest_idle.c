/* From looks at threads between their calls to rows. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/recovery.h"
#include "tests/unit/report/spool_fixture.h"

#include <string.h>

#define PROGRAM 1 /* a thread that made calls, and ... */
#define LOOKER  2 /* the one that looks at it */
#define TID     (1000 + PROGRAM)

static struct fixture fixture;
static struct fixture_spool spool;

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
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

static void recover(void)
{
    static struct gv_recovery recovery;

    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
}

/* The looker's records are those of GV_SPOOL_IDLE_THREAD. */
static void append(const union gv_record *record)
{
    assert_true(fixture_append(&spool, LOOKER, record));
    spool.threads[LOOKER - 1].segment->thread = GV_SPOOL_IDLE_THREAD;
}

static union gv_record look(uint64_t at_ns, uint64_t since_ns)
{
    return (union gv_record){.idle_sample = {.head = {.kind = GV_RECORD_IDLE_SAMPLE, .result = -1},
                                             .at_ns = FIXTURE_EPOCH_NS + at_ns,
                                             .since_ns = since_ns ? FIXTURE_EPOCH_NS + since_ns : 0,
                                             .tid = TID,
                                             .delay_ns = 5,
                                             .cpu_ns = 0,
                                             .state = 'S'}};
}

static void a_look_becomes_a_row(void **state)
{
    union gv_record stack = {
        .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}, .number = 4}};
    union gv_record frames = {
        .frames = {.head = {.kind = GV_RECORD_FRAMES_OF_STACK, .flags = GV_RECORD_MORE, .api = 1},
                   .address = {0x1234}}};
    union gv_record sample = look(50000, 30000);

    (void)state;
    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 10, 0));
    append(&stack);
    append(&frames);
    sample.head.api = 9;
    sample.head.flags = GV_RECORD_MORE;
    sample.head.result = 0; /* read() on x86-64 */
    sample.idle_sample.stack = 4;
    sample.idle_sample.other_stack = 5; /* comes later, or never */
    sample.idle_sample.other = 77;
    sample.idle_sample.about = GV_IDLE_CHILD;
    sample.idle_sample.target = GV_IDLE_TARGET_FILE;
    sample.idle_sample.signs = GV_IDLE_IN_PYTHON;
    append(&sample);
    fixture_text(&spool, LOOKER, "/data/x.\xff", false);
    spool.threads[LOOKER - 1].segment->thread = GV_SPOOL_IDLE_THREAD;
    recover();
    assert_int_equal(
        number("SELECT count(*) FROM idle_sample s JOIN threads t ON t.id = s.thread"
               " JOIN stack k ON k.id = s.stack JOIN frame f ON f.stack = k.id"
               " JOIN stack o ON o.id = s.other_stack"
               " WHERE t.tid = 1001 AND t.serial = 1 AND s.process = t.process"
               " AND s.at_ns = 50000 AND s.span_ns = 20000 AND s.about = 2 AND s.state = 'S'"
               " AND s.system_call = 0 AND s.target = 1 AND s.signs = 2 AND s.pid_or_tid = 77"
               " AND k.number = 4 AND f.address = 4660 AND o.number = 5 AND s.delay_ns = 5"
               " AND s.cpu_ns = 0 AND s.text = '/data/x.' || char(65533)"),
        1);
    assert_int_equal(number("SELECT count(*) FROM threads"), 1);
}

static void what_a_first_look_cannot_say_is_null(void **state)
{
    union gv_record sample = look(50000, 0);

    (void)state;
    sample.idle_sample.tid = 5; /* of no thread with calls */
    sample.idle_sample.state = '\x01';
    append(&sample);
    recover();
    assert_int_equal(
        number("SELECT count(*) FROM idle_sample WHERE thread IS NULL AND span_ns IS NULL"
               " AND state IS NULL AND system_call IS NULL AND pid_or_tid IS NULL AND stack IS NULL"
               " AND other_stack IS NULL AND delay_ns IS NULL AND cpu_ns IS NULL AND text IS NULL"),
        1);
}

/* The system gave the number of an ended thread to a new one. */
static void a_look_belongs_to_the_thread_that_had_its_number_then(void **state)
{
    union gv_record before = look(5000, 0), after = look(50000, 0);

    (void)state;
    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 10, 0));
    assert_true(fixture_call(&spool, 3, FIXTURE_SYNC, 20000, 10, 0));
    spool.threads[3 - 1].segment->tid = TID;
    append(&before);
    append(&after);
    recover();
    assert_int_equal(number("SELECT t.serial FROM idle_sample s JOIN threads t ON t.id = s.thread"
                            " WHERE s.at_ns = 5000"),
                     1);
    assert_int_equal(number("SELECT t.serial FROM idle_sample s JOIN threads t ON t.id = s.thread"
                            " WHERE s.at_ns = 50000"),
                     3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_look_becomes_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_first_look_cannot_say_is_null, setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_belongs_to_the_thread_that_had_its_number_then,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
