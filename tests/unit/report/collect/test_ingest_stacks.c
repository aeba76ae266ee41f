/* From copied stacks of calls to rows. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/one_spool.h"
#include "trace/stack_ring.h"

#include <string.h>

#define SITE 7u

static const char secret[] = "a secret of the program's, on its stack";

/* A call at a time that ends a group, with a stack of one Python frame. */
static void call_with_own(uint32_t thread, uint64_t at_ns, uint32_t site, uint32_t code)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE},
                  .site = site,
                  .one_of = 3,
                  .call_start_ns = FIXTURE_EPOCH_NS + at_ns}};
    struct gv_stack_copy *copy = fixture_copy(&spool, 16, (uintptr_t)secret, sizeof(secret),
                                              &record.stack.copy, &record.stack.serial);

    copy->position_count = 1;
    copy->position[0] = (struct gv_python_position){.code = code};
    assert_true(fixture_append(&spool, thread, &record));
    assert_true(fixture_call(&spool, thread, FIXTURE_SYNC, at_ns, 10, 0));
}

static void call_with_that_of(uint32_t thread, uint64_t at_ns, uint32_t site)
{
    union gv_record record = {.stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL,
                                                 .flags = GV_RECORD_MORE | GV_RECORD_REPRESENTS},
                                        .site = site,
                                        .call_start_ns = FIXTURE_EPOCH_NS + at_ns}};

    assert_true(fixture_append(&spool, thread, &record));
    assert_true(fixture_call(&spool, thread, FIXTURE_SYNC, at_ns, 10, 0));
}

static void a_stack_without_room_is_not_lost(void **state)
{
    atomic_store(&spool.writer.header->stacks.not_taken, 3);
    assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, 1000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count FROM not_taken WHERE reason = 'no room'"), 3);
    assert_int_equal(number("SELECT count(*) FROM losses"), 0);
}

static void equal_stacks_are_one_row(void **state)
{
    fixture_python_code(&spool, 1, 1, "train.py", "step", 9);
    fixture_python_code(&spool, 1, 2, "train.py", "step", 9); /* made anew */
    fixture_python_code(&spool, 1, 3, "train.py", "step", 10);
    for (uint32_t code = 1; code <= 3; code++)
        call_with_own(1, 1000 * code, SITE + code, code);
    recover();
    assert_int_equal(number("SELECT count(*) FROM stack"), 2);
    assert_int_equal(number("SELECT count(*) FROM calls c JOIN frames f ON f.stack = c.stack"
                            " WHERE f.kind = 'python' AND f.file = 'train.py'"
                            " AND f.function = 'step' AND f.line = 9 AND c.own_stack = 1"),
                     2);
    assert_int_equal(number("SELECT sum(one_of) FROM call_sample"), 9);
    assert_int_equal(number("SELECT count(*) FROM losses"), 0);
    assert_int_equal(number("SELECT count(*) FROM python_code"), 0);
}

static void a_copy_is_cleared_once_it_is_read(void **state)
{
    unsigned char *ring = spool.writer.ring;

    call_with_own(1, 1000, SITE, 0);
    assert_non_null(memmem(ring, GV_STACK_WORD_BYTES, secret, sizeof(secret)));
    recover();
    assert_null(memmem(ring, GV_STACK_WORD_BYTES, secret, sizeof(secret)));
    assert_int_equal(spool.writer.header->stacks.used[0], 0);
}

/* Another thread's records are read later. */
static void a_site_s_stack_may_come_after_its_calls(void **state)
{
    call_with_that_of(1, 1000, SITE);
    call_with_own(2, 500, SITE, 4);
    fixture_python_code(&spool, 3, 4, "train.py", "step", 9); /* so may a code object */
    assert_true(fixture_call(&spool, 3, FIXTURE_SYNC, 2000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count(DISTINCT c.stack) FROM calls c JOIN frames f"
                            " ON f.stack = c.stack WHERE f.line = 9"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM calls c JOIN frames f ON f.stack = c.stack"
                            " WHERE f.line = 9 AND c.own_stack = (c.start_ns = 500)"),
                     2);
}

/* Which frames are the interpreter's own is known when their code comes, which may be late. */
static void a_hidden_frame_does_not_count(void **state)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE},
                  .site = SITE,
                  .call_start_ns = FIXTURE_EPOCH_NS + 500}};
    union gv_record hidden = {.python_code = {.head = {.kind = GV_RECORD_PYTHON_CODE},
                                              .number = 2,
                                              .first_line = 0,
                                              .is_interpreters = 1}};
    struct gv_stack_copy *copy = fixture_copy(&spool, 16, (uintptr_t)secret, sizeof(secret),
                                              &record.stack.copy, &record.stack.serial);

    copy->position_count = 4;
    for (uint32_t i = 0; i < 4; i++)
        copy->position[i] = (struct gv_python_position){.code = i == 3 ? 3 : 1 + i % 2};
    assert_true(fixture_append(&spool, 1, &record));
    assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, 500, 10, 0));
    fixture_python_code(&spool, 2, 1, "train.py", "step", 9);
    assert_true(fixture_append(&spool, 2, &hidden));
    fixture_python_code(&spool, 2, 3, "train.py", "main", 20);
    assert_true(fixture_call(&spool, 2, FIXTURE_SYNC, 2000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count(*) FROM frames WHERE kind = 'python'"), 3);
    assert_int_equal(number("SELECT max(depth) - min(depth) FROM frames WHERE kind = 'python'"), 2);
    assert_int_equal(number("SELECT line FROM frames WHERE kind = 'python' ORDER BY depth DESC"),
                     20);
}

/* A damaged spool has a stack's number twice: the later frames replace the earlier ones. */
static void two_stacks_of_one_number(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        union gv_record stack = {
            .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}, .number = 1}};
        union gv_record frames = {
            .python_frames = {.head = {.kind = GV_RECORD_PYTHON_FRAMES,
                                       .flags = GV_RECORD_MORE,
                                       .api = (uint16_t)(2 - i)},
                              .position = {{.code = i ? 3 : 2}, {.code = 1}}}};
        assert_true(fixture_append(&spool, 1, &stack));
        assert_true(fixture_append(&spool, 1, &frames));
        assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, 500 + 1000 * i, 10, 0));
    }
    fixture_python_code(&spool, 2, 1, "train.py", "step", 9);
    fixture_python_code(&spool, 2, 3, "train.py", "main", 20);
    union gv_record hidden = {.python_code = {.head = {.kind = GV_RECORD_PYTHON_CODE},
                                              .number = 2,
                                              .is_interpreters = 1}};
    assert_true(fixture_append(&spool, 2, &hidden));
    assert_true(fixture_call(&spool, 2, FIXTURE_SYNC, 4000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count(*) FROM frame"), 1);
    assert_int_equal(number("SELECT count(*) FROM calls"), 3);
}

/* Its text is missing, as where the spool was full; another thread wrote it whole later. */
static void a_cut_code_object_keeps_its_frames_waiting(void **state)
{
    union gv_record cut = {
        .python_code = {.head = {.kind = GV_RECORD_PYTHON_CODE, .flags = GV_RECORD_MORE},
                        .number = 4,
                        .file_bytes = 8}};

    call_with_own(1, 500, SITE, 4);
    assert_true(fixture_append(&spool, 2, &cut));
    assert_true(fixture_call(&spool, 2, FIXTURE_SYNC, 1000, 10, 0));
    fixture_python_code(&spool, 3, 4, "train.py", "step", 9);
    assert_true(fixture_call(&spool, 3, FIXTURE_SYNC, 2000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count(*) FROM frames WHERE line = 9"), 1);
}

static void a_copy_that_is_gone_is_counted(void **state)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK_OF_CALL, .flags = GV_RECORD_MORE},
                  .site = UINT32_MAX,
                  .call_start_ns = FIXTURE_EPOCH_NS + 1000}};

    fixture_copy(&spool, 16, (uintptr_t)secret, sizeof(secret), &record.stack.copy,
                 &record.stack.serial)
        ->bytes = UINT32_MAX; /* nonsense */
    assert_true(fixture_append(&spool, 1, &record));
    assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, 1000, 10, 0));
    record.stack.serial++; /* of another one */
    record.stack.call_start_ns += 1000;
    assert_true(fixture_append(&spool, 1, &record));
    assert_true(fixture_call(&spool, 1, FIXTURE_SYNC, 2000, 10, 0));
    recover();
    assert_int_equal(number("SELECT count FROM losses WHERE what = 'stack'"), 2);
    assert_int_equal(number("SELECT count(*) FROM calls WHERE stack IS NULL"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stack_without_room_is_not_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_stacks_are_one_row, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_is_cleared_once_it_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_site_s_stack_may_come_after_its_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hidden_frame_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(two_stacks_of_one_number, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cut_code_object_keeps_its_frames_waiting, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_copy_that_is_gone_is_counted, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
