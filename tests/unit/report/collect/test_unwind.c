/* Stacks of threads whose frame pointer is not known, made by hand. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/unwind.h"

#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(GV_HAS_ELFUTILS)

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
        ".popsection\n"
        ".pushsection .data\n"
        ".balign 8\n"
        "test_places: .quad .Ltest_waits, .Ltest_calls, .Ltest_hook\n"
        ".popsection\n");
extern const uint64_t test_places[3];

#define SP        0x7000000000u
#define WORDS     64u
#define AT(place) ((place) * sizeof(uint64_t))

/* The frames of a stack that has two return addresses, at even places. */
static size_t frames_of(uint64_t first, uint64_t second, uint64_t address[GV_UNWIND_FRAMES])
{
    uint64_t words[WORDS] = {[4] = SP + AT(32), [5] = first, [12] = SP + AT(32), [13] = second};
    struct gv_unwind_stack stack = {.pc = test_places[0],
                                    .sp = SP,
                                    .bytes = (const unsigned char *)words,
                                    .size = sizeof(words)};
    struct gv_unwinder *unwinder = gv_unwinder_open((uint32_t)getpid());

    assert_non_null(unwinder);
    gv_unwinder_refresh(unwinder);
    size_t count = gv_unwinder_walk(unwinder, &stack, address);
    gv_unwinder_close(unwinder);
    return count;
}

static void a_call_of_any_function_is_believed_if_nothing_is_better(void **state)
{
    uint64_t address[GV_UNWIND_FRAMES];

    (void)state;
    assert_true(frames_of(test_places[2], 1, address) >= 2);
    assert_int_equal(address[0], test_places[0]);
    assert_int_equal(address[1], test_places[2]);
}

static void a_call_of_the_function_is_believed_rather_than_a_nearer_one_of_any(void **state)
{
    uint64_t address[GV_UNWIND_FRAMES];

    (void)state;
    assert_true(frames_of(test_places[2], test_places[1], address) >= 2);
    assert_int_equal(address[1], test_places[1]);
}

#endif

int main(void)
{
#if defined(__x86_64__) && defined(GV_HAS_ELFUTILS)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_any_function_is_believed_if_nothing_is_better),
        cmocka_unit_test(a_call_of_the_function_is_believed_rather_than_a_nearer_one_of_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77; /* skipped */
#endif
}
