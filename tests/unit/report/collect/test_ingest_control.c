/* Recording that is stopped and goes on: what each pass of the collector does with it. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/one_drain.h"
#include "trace/spool_control.h"

#include <sys/wait.h>
#include <unistd.h>

static uint32_t changes;

static int count_steps(void *steps)
{
    ++*(int64_t *)steps;
    return 0;
}

/* SQLite's steps in a pass that finds so many changes. */
static int64_t steps_of_pass(uint32_t found)
{
    int64_t steps = 0;

    while (found-- > 0) {
        const union gv_record record = {.change = {.head = {.kind = GV_RECORD_CHANGE},
                                                   .at_ns = FIXTURE_EPOCH_NS + 1000 + changes * 10,
                                                   .number = changes + 1}};
        fixture_append(&spool, 1, &record);
        changes++;
    }
    atomic_store(&spool.writer.header->control.changes, changes);
    if (drain.database.handle)
        sqlite3_progress_handler(drain.database.handle, 10, count_steps, &steps);
    pass();
    sqlite3_progress_handler(drain.database.handle, 0, NULL, NULL);
    return steps;
}

/* A program may stop and start in each of its steps. */
static void a_pass_reads_only_what_changed(void **state)
{
    int64_t steps;

    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, true);
    open_drain(0);
    steps_of_pass(2);
    steps = steps_of_pass(3);
    assert_true(steps > 0);
    steps_of_pass(1000);
    assert_true(steps_of_pass(3) < 2 * steps);
    gv_drain_close(&drain);
    assert_int_equal(number("SELECT count(*) FROM gpu_change"), changes);
    expect_text("SELECT group_concat(at_ns || gpu) FROM (SELECT * FROM gpu_change"
                " ORDER BY at_ns LIMIT 7)",
                "1000stopped,1010seen,1020stopped,1030seen,1040stopped,1050seen,1060stopped");
}

static void notes_of_a_killed_command_are_free_again(void **state)
{
    struct gv_spool_control *control = &spool.writer.header->control;
    pid_t command = fork();

    if (command == 0) {
        while (gv_control_note(control))
            ;
        _exit(0);
    }
    assert_int_equal(waitpid(command, NULL, 0), command);
    for (uint32_t i = 0; i < GV_SPOOL_NOTES; i++)
        assert_ptr_equal(gv_control_note(control), &control->notes[i]);
    assert_null(gv_control_note(control)); /* ours, and we live */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(notes_of_a_killed_command_are_free_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pass_reads_only_what_changed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
