/* The least time for which a thread waited for a CPU inside a call: never more than the truth. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/ingest_state.h"
#include "report/collect/recovery.h"
#include "tests/unit/report/one_spool.h"
#include "trace/schedstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool read_delay(uint32_t tid, uint64_t *ns)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%u/schedstat", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && gv_schedstat_read(fd, ns);
}

/* The call is [1000, 2000]. After it, until 2010, the thread's total wait `ns` was read. */
static uint64_t least(uint64_t ns, const struct gv_delay_reading *earlier, uint64_t inside_ns)
{
    const struct gv_delay_reading end = {2000, 2010, ns};

    return gv_ingest_delay_least(1000, 2000, &end, earlier, inside_ns);
}

static void nothing_is_known_without_a_second_reading(void **state)
{
    assert_int_equal(least(5000, NULL, UINT64_MAX), 0);
}

static void what_is_not_the_calls_counts_as_waiting(void **state)
{
    struct gv_delay_reading earlier = {950, 960, 100};

    /* Waited 900, of which 50 may be before the call, and 10 after it. */
    assert_int_equal(least(1000, &earlier, UINT64_MAX), 840);
    assert_int_equal(least(160, &earlier, UINT64_MAX), 0);
    assert_int_equal(least(161, &earlier, UINT64_MAX), 1);
    /* It cannot be more than the call. */
    assert_int_equal(least(5000, &earlier, UINT64_MAX), 1000);
    earlier.after_ns = 100;
    assert_int_equal(least(1000, &earlier, UINT64_MAX), 0);
}

static void what_was_read_inside_bounds_the_rest(void **state)
{
    struct gv_delay_reading earlier = {100, 110, 0};

    assert_int_equal(least(1000, NULL, 300), 690);
    assert_int_equal(least(1000, &earlier, 300), 690); /* the larger of the two */
    assert_int_equal(least(1000, NULL, 995), 0);
}

static void what_contradicts_itself_says_nothing(void **state)
{
    const struct gv_delay_reading early = {1500, 1600, 9000};
    struct gv_delay_reading earlier = {1001, 1010, 0};

    assert_int_equal(least(1000, &earlier, UINT64_MAX), 0); /* not before the call */
    earlier = (struct gv_delay_reading){900, 910, 1001};
    assert_int_equal(least(1000, &earlier, 1001), 0); /* it has become less */
    assert_int_equal(gv_ingest_delay_least(1000, 2000, &early, NULL, 0), 0);
    assert_int_equal(gv_ingest_delay_least(2000, 1000, &early, NULL, 0), 0);
}

/* Whatever a thread did, the result is never more than the truth. */
static void no_claim_is_too_large(void **state)
{
    unsigned seed = 1;

    for (int i = 0; i < 200000; i++) {
        uint64_t at[6], delay[5], total = 0;
        uint64_t waited[6] = {0};
        /* times: the earlier reading, the call's start, a look inside, its end, the reading's end
         */
        for (int j = 0; j < 5; j++) {
            uint64_t length = (uint64_t)(rand_r(&seed) % 1000);
            delay[j] = length ? (uint64_t)rand_r(&seed) % (length + 1) : 0;
            at[j] = total;
            total += length;
            waited[j + 1] = waited[j] + delay[j];
        }
        at[5] = total;
        const struct gv_delay_reading earlier = {at[0], at[1], waited[rand_r(&seed) % 2]};
        const struct gv_delay_reading end = {at[4], at[5], waited[4 + rand_r(&seed) % 2]};
        uint64_t inside_ns = rand_r(&seed) % 2 ? waited[3] : UINT64_MAX;
        uint64_t truth = delay[2] + delay[3]; /* the call is [at 2, at 4] */
        assert_true(gv_ingest_delay_least(at[2], at[4], &end, &earlier, inside_ns) <= truth);
    }
}

static void what_the_kernel_says_is_read(void **state)
{
    uint64_t ns = 77;

    assert_true(gv_schedstat_delay("12 345 6\n", &ns));
    assert_int_equal(ns, 345);
    assert_true(gv_schedstat_delay("0 0 0\n", &ns));
    assert_int_equal(ns, 0);
    assert_false(gv_schedstat_delay("", &ns));
    assert_false(gv_schedstat_delay("12", &ns));
    assert_false(gv_schedstat_delay("12 x 6", &ns));
    assert_false(gv_schedstat_delay("12 345", &ns));
    assert_false(gv_schedstat_delay("1 99999999999999999999 6", &ns));
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    assert_true(read_delay((uint32_t)syscall(SYS_gettid), &ns));
    assert_false(read_delay(1u << 30, &ns));
}

/* ---- from records to rows ---- */

static void append_delay(uint32_t thread, uint64_t call_start_ns, uint64_t end_ns,
                         uint64_t delay_ns)
{
    union gv_record record = {
        .run_delay = {.head = {.kind = GV_RECORD_RUN_DELAY, .flags = GV_RECORD_MORE},
                      .call_start_ns = FIXTURE_EPOCH_NS + call_start_ns,
                      .after_ns = FIXTURE_EPOCH_NS + end_ns,
                      .before_ns = FIXTURE_EPOCH_NS + end_ns + 10,
                      .delay_ns = delay_ns}};

    assert_true(fixture_append(&spool, thread, &record));
}

static void delayed_call(uint32_t thread, uint64_t start_ns, uint64_t duration_ns,
                         uint64_t delay_ns)
{
    append_delay(thread, start_ns, start_ns + duration_ns, delay_ns);
    assert_true(fixture_call(&spool, thread, FIXTURE_LAUNCH, start_ns, duration_ns, 0));
}

static int64_t number_after_recovery(const char *sql)
{
    static struct gv_recovery recovery;

    assert_int_equal(gv_recovery_run(fixture.spools, fixture.session, fixture.trace, &recovery), 0);
    return number(sql);
}

static void readings_of_a_thread_are_compared(void **state)
{
    delayed_call(1, 1000, 500, 40);
    delayed_call(1, 1600, 1000, 1040); /* 1000 - 100 before it - 10 behind it */
    delayed_call(2, 3000, 1000, 9000); /* another thread's first */
    assert_int_equal(number_after_recovery("SELECT count(*) FROM call_delay"), 1);
    assert_int_equal(number("SELECT delay_ns FROM call_delay d JOIN calls c ON c.id ="
                            " d.call WHERE c.start_ns = 1600 AND c.duration_ns = 1000"),
                     890);
}

static void a_reading_is_of_the_call_that_it_names(void **state)
{
    delayed_call(1, 1000, 500, 40);
    append_delay(1, 1600, 2600, 1040); /* its call found no room */
    assert_true(fixture_call(&spool, 1, FIXTURE_LAUNCH, 2700, 900, 0));
    delayed_call(1, 4000, 1000, 2030); /* 990 since the reading at 2600: 1400 were before it */
    assert_int_equal(number_after_recovery("SELECT count(*) FROM call_delay"), 0);
}

/* The collector asks the Linux kernel once for each unfinished call. */
static void a_call_is_looked_at_while_it_lasts(void **state)
{
    static struct gv_ingest ingest;
    struct fixture_spool alive;
    struct gv_spool_owner owner = {.thread = 7, .tid = (uint32_t)syscall(SYS_gettid)};
    struct gv_spool_reader reader;
    struct gv_spool_slot *slot;
    const struct gv_delay_sight *sights = ingest.delay_sights;
    uint64_t ns;
    int directory;

    if (!read_delay(owner.tid, &ns))
        skip();
    fixture_spool_open(&fixture, &alive, 2, true);
    slot = gv_spool_writer_slot(&alive.writer, &owner);
    assert_non_null(slot);
    directory = open(fixture.spools, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(gv_spool_reader_open(&reader, directory, strrchr(alive.writer.path, '/') + 1),
                     0);
    ingest.reader = &reader;
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    assert_int_equal(ingest.delay_sight_next, 0);
    slot->start_ns = 5000;
    slot->api_plus_one = 1;
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    assert_int_equal(ingest.delay_sight_next, 1);
    assert_int_equal(sights[0].thread, 7);
    assert_int_equal(sights[0].call_start_ns, 5000);
    assert_true(sights[0].delay_ns >= ns);
    slot->start_ns = 6000;
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    assert_int_equal(ingest.delay_sight_next, 2);
    gv_spool_reader_close(&reader);
    close(directory);
    fixture_spool_close(&alive);
}

/* A thread's number decides where the search for its slot starts, so late threads are anywhere. */
static void late_threads_are_looked_at_too(void **state)
{
    static struct gv_ingest ingest;
    struct fixture_spool alive;
    struct gv_spool_reader reader;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    uint64_t ns;
    int directory;

    if (!read_delay(tid, &ns))
        skip();
    fixture_spool_open(&fixture, &alive, 3, true);
    for (uint64_t thread = 900; thread < 1000; thread++) {
        struct gv_spool_owner owner = {.thread = thread, .tid = tid};
        struct gv_spool_slot *slot = gv_spool_writer_slot(&alive.writer, &owner);
        assert_non_null(slot);
        slot->start_ns = 5000;
        slot->api_plus_one = 1;
    }
    directory = open(fixture.spools, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(gv_spool_reader_open(&reader, directory, strrchr(alive.writer.path, '/') + 1),
                     0);
    ingest.reader = &reader;
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    assert_int_equal(ingest.delay_sight_next, 64); /* at a time */
    gv_ingest_delay_look(&ingest, (uint32_t)getpid());
    assert_int_equal(ingest.delay_sight_next, 100);
    gv_spool_reader_close(&reader);
    close(directory);
    fixture_spool_close(&alive);
}

#define ROWS(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_without_a_second_reading),
        cmocka_unit_test(what_is_not_the_calls_counts_as_waiting),
        cmocka_unit_test(what_was_read_inside_bounds_the_rest),
        cmocka_unit_test(what_contradicts_itself_says_nothing),
        cmocka_unit_test(no_claim_is_too_large),
        cmocka_unit_test(what_the_kernel_says_is_read),
        ROWS(readings_of_a_thread_are_compared),
        ROWS(a_reading_is_of_the_call_that_it_names),
        ROWS(a_call_is_looked_at_while_it_lasts),
        ROWS(late_threads_are_looked_at_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
