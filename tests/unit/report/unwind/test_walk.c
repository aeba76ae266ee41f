/* Stacks made by hand. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/unwind/copied_stack.h"

#ifdef __x86_64__

/* A function that waits, one that calls it, and one that calls what its table has: never run. */
__asm__(".macro test_function name, instruction\n"
        ".type \\name, @function\n"
        "\\name:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "\\instruction\n"
        ".L\\name: leave\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size \\name, . - \\name\n"
        ".endm\n"
        ".pushsection .text\n"
        "test_function test_waits, syscall\n"
        "test_function test_calls, \"call test_waits\"\n"
        "test_function test_hook, \"call *0x18(%rax)\"\n"
        "test_function test_other_hook, \"call *0x18(%rax)\"\n"
        ".popsection\n"
        ".pushsection .data\n"
        ".balign 8\n"
        "test_places: .quad .Ltest_waits, .Ltest_calls, .Ltest_hook, .Ltest_other_hook\n"
        ".popsection\n");
extern const uint64_t test_places[4];

#define SP        0x7000000000u
#define WORDS     64u
#define AT(place) ((place) * sizeof(uint64_t))

#define FRAME_POINTER 6

/* `pointer`: the frame pointer; 0: unknown. */
static struct gv_unwind_chain walk(const uint64_t words[WORDS], uint64_t pointer)
{
    struct gv_unwind_stack stack = {.pc = test_places[0],
                                    .sp = SP,
                                    .value[FRAME_POINTER] = pointer,
                                    .known = pointer ? 1u << FRAME_POINTER : 0,
                                    .bytes = (const unsigned char *)words,
                                    .size = WORDS * sizeof(uint64_t)};
    struct gv_unwinder *unwinder = gv_unwinder_open();
    struct gv_unwind_chain chain;

    assert_non_null(unwinder);
    copied_stack_add_objects(unwinder, 0, NULL);
    gv_unwinder_walk(unwinder, &stack, &chain);
    gv_unwinder_close(unwinder);
    return chain;
}

/* The frames of a stack that has two return addresses, at even places. */
static struct gv_unwind_chain frames_of(uint64_t first, uint64_t second)
{
    const uint64_t words[WORDS] = {
        [4] = SP + AT(32), [5] = first, [12] = SP + AT(32), [13] = second};

    return walk(words, 0);
}

static void a_call_of_any_function_is_believed_if_nothing_is_better(void **state)
{
    struct gv_unwind_chain chain = frames_of(test_places[2], 1);

    (void)state;
    assert_true(chain.count >= 2);
    assert_int_equal(chain.address[0], test_places[0]);
    assert_int_equal(chain.address[1], test_places[2]);
}

static void of_two_such_calls_the_nearer_one_is_believed(void **state)
{
    struct gv_unwind_chain chain = frames_of(test_places[2], test_places[3]);

    (void)state;
    assert_true(chain.count >= 2);
    assert_int_equal(chain.address[1], test_places[2]);
}

static void a_call_of_the_function_is_believed_rather_than_a_nearer_one_of_any(void **state)
{
    struct gv_unwind_chain chain = frames_of(test_places[2], test_places[1]);

    (void)state;
    assert_true(chain.count >= 2);
    assert_int_equal(chain.address[1], test_places[1]);
}

static void an_address_that_does_not_follow_a_call_is_no_return_address(void **state)
{
    const uint64_t words[WORDS] = {[4] = SP + AT(32), [5] = test_places[0]};
    struct gv_unwind_chain chain = walk(words, SP + AT(4));

    (void)state;
    assert_int_equal(chain.count, 1);
    assert_int_equal(chain.end, GV_UNWIND_STOPPED);
}

/* Frames 4 and 0 point at each other. */
static void a_frame_that_is_not_further_up_the_stack_is_none(void **state)
{
    const uint64_t words[WORDS] = {SP + AT(4), test_places[1], [4] = SP, [5] = test_places[1]};
    struct gv_unwind_chain chain = walk(words, SP + AT(4));

    (void)state;
    assert_int_equal(chain.count, 2);
    assert_int_equal(chain.end, GV_UNWIND_STOPPED);
}

static void the_longest_chain_is_marked_as_a_part(void **state)
{
    enum { DEEP = 2 * GV_UNWIND_FRAMES };
    static uint64_t words[2 * DEEP];
    struct gv_unwind_stack stack = {.pc = test_places[0],
                                    .sp = SP,
                                    .value[FRAME_POINTER] = SP,
                                    .known = 1u << FRAME_POINTER,
                                    .bytes = (const unsigned char *)words,
                                    .size = sizeof(words)};
    struct gv_unwinder *unwinder = gv_unwinder_open();
    struct gv_unwind_chain chain;

    (void)state;
    for (size_t i = 0; i < DEEP; i++) {
        words[2 * i] = SP + AT(2 * i + 2);
        words[2 * i + 1] = test_places[1];
    }
    copied_stack_add_objects(unwinder, 0, NULL);
    gv_unwinder_walk(unwinder, &stack, &chain);
    assert_int_equal(chain.count, GV_UNWIND_FRAMES);
    assert_int_equal(chain.end, GV_UNWIND_TRUNCATED);
    gv_unwinder_close(unwinder);
}

#endif

int main(void)
{
#ifdef __x86_64__
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_any_function_is_believed_if_nothing_is_better),
        cmocka_unit_test(of_two_such_calls_the_nearer_one_is_believed),
        cmocka_unit_test(a_call_of_the_function_is_believed_rather_than_a_nearer_one_of_any),
        cmocka_unit_test(an_address_that_does_not_follow_a_call_is_no_return_address),
        cmocka_unit_test(a_frame_that_is_not_further_up_the_stack_is_none),
        cmocka_unit_test(the_longest_chain_is_marked_as_a_part),
    };

    if (gv_unwind_is_there())
        return cmocka_run_group_tests(tests, NULL, NULL);
#endif
    return 77; /* skipped */
}
