/* Copies of a thread's own stack: what happens if there is no room. */
#include "preload/stacks/stack_copy.h"
#include "preload/stacks/stack_objects.h"
#include "tests/unit/preload/recording.h"
#include "trace/stack_ring.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <sys/syscall.h>

const struct gv_process_steps gv_process_steps;

uint32_t gv_stack_objects_generation(void)
{
    return 3;
}

void gv_stack_objects_look(void)
{
}

static int begin(void **state)
{
    int error = open_recording(state);

    gv_process.pid = (uint32_t)getpid();
    gv_thread.tid = (uint32_t)getpid();
    gv_thread.copy = 0;
    gv_stack_copy_start();
    return error;
}

static uint64_t *word_of(uint32_t word)
{
    return (uint64_t *)&gv_process.spool.header->stacks.used[word];
}

static __attribute__((noinline)) bool take_deep(unsigned depth, struct gv_stack_taken *taken)
{
    volatile char frame[1024];

    frame[0] = (char)depth;
    return (depth ? take_deep(depth - 1, taken)
                  : gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, taken)) &&
           frame[0] == (char)depth;
}

static void hand_over(struct gv_stack_taken *taken)
{
    gv_stack_copy_finish(taken);
    gv_stack_copy_hand_over(taken);
}

/* Until there is no room. Returns how many there were. */
static unsigned fill(struct gv_stack_taken *last)
{
    struct gv_stack_taken taken;
    unsigned count = 0;

    while (take_deep(60, &taken)) {
        hand_over(&taken);
        *last = taken;
        count++;
    }
    return count;
}

static void a_full_ring_costs_the_stack_and_is_counted(void **unused)
{
    struct gv_spool_stacks *stacks = &gv_process.spool.header->stacks;
    struct gv_stack_taken taken;

    (void)unused;
    while (gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_REST, &taken))
        hand_over(&taken);
    assert_int_equal(atomic_exchange(&stacks->not_taken, 0), 1);
    assert_true(fill(&taken) >= 2 * 3); /* there is some left for calls that stand for others */
    assert_int_equal(atomic_load(&stacks->words), GV_STACK_WORD_OF_IDLE);
    assert_int_equal(atomic_load(&stacks->not_taken), 1);
    assert_true(gv_stack_copy_take_other(1, (uintptr_t)&taken, &taken)); /* has its own room */
    assert_int_equal(*word_of(GV_STACK_WORD_OF_IDLE), (UINT64_C(1) << taken.chunks) - 1);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Instead of sleeping: the collector takes a copy meanwhile. */
static unsigned sleeps;
static struct gv_stack_taken *taken_meanwhile;

long __wrap_syscall(long number, ...)
{
    long words[6];
    va_list given;

    if (number == SYS_clock_nanosleep) {
        if (++sleeps == 3 && taken_meanwhile)
            gv_stack_copy_drop(taken_meanwhile);
        return 0;
    }
    va_start(given, number);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = va_arg(given, long);
    va_end(given);
    return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static bool take_slowly(unsigned *slept, struct gv_stack_taken *taken)
{
    bool took;

    sleeps = 0;
    took = gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_WAITS, taken);
    *slept = sleeps;
    return took;
}

static void one_that_a_record_may_have_is_freed_once(void **unused)
{
    struct gv_spool_stacks *stacks = &gv_process.spool.header->stacks;
    struct gv_stack_taken left, taken;
    uint32_t of_another;

    (void)unused;
    assert_true(take_deep(60, &left));
    gv_stack_copy_finish(&left);
    /* The collector saw to it, and another thread took its room. */
    assert_true(gv_stack_ring_claim(left.copy, left.serial));
    gv_stack_ring_free(stacks, left.chunk - 1, left.chunks);
    of_another = gv_stack_ring_take(stacks, 0, left.chunks);
    assert_int_equal(of_another, left.chunk);
    assert_true(gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, &taken));
    assert_int_equal(taken.chunk, left.chunk + left.chunks);
    assert_false(gv_stack_ring_claim(left.copy, left.serial));
}

static void who_wants_all_waits_for_room_but_not_twice_in_vain(void **unused)
{
    struct gv_stack_taken taken, last;
    unsigned slept;

    (void)unused;
    taken_meanwhile = NULL;
    fill(&last);
    while (gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, &taken))
        hand_over(&taken);
    assert_false(take_slowly(&slept, &taken));
    assert_int_not_equal(slept, 0);
    assert_false(take_slowly(&slept, &taken));
    assert_int_equal(slept, 0);
    gv_stack_copy_drop(&last);
    assert_true(take_slowly(&slept, &last)); /* there was room, so it waits again */
    hand_over(&last);
    while (gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, &taken))
        hand_over(&taken);
    taken_meanwhile = &last;
    assert_true(take_slowly(&slept, &taken));
    assert_int_equal(slept, 3);
}

static void chunks_are_the_lowest_that_are_free(void **unused)
{
    struct gv_spool_stacks stacks = {.used = {0}};

    (void)unused;
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 3), 1);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 2), 4);
    assert_int_equal(gv_stack_ring_take(&stacks, 1, 17), 65);
    gv_stack_ring_free(&stacks, 0, 3);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 4), 6);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 3), 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_not_equal(gv_stack_ring_take(&stacks, 0, 17), 0);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 17), 0);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 4), 61);
    assert_int_equal(gv_stack_ring_take(&stacks, 0, 1), 0);
    assert_int_equal(stacks.used[0], UINT64_MAX);
}

#define PAGE_BYTES 4096u

static struct gv_stack_taken of_coroutine;
static ucontext_t program, coroutine;

/* Whether the copy has the bytes that are at an address of this stack. */
static bool has(const struct gv_stack_copy *copy, const void *at, size_t bytes)
{
    uint64_t offset = (uintptr_t)at - copy->sp;

    return offset + bytes <= copy->bytes && memcmp(copy->stack + offset, at, bytes) == 0;
}

static void run_coroutine(void)
{
    volatile char mark[] = "of a coroutine";

    gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, &of_coroutine);
    assert_true(has(of_coroutine.copy, (const void *)mark, sizeof mark));
}

static void one_that_was_left_is_freed_by_the_next(void **unused)
{
    struct gv_stack_taken left, taken;

    (void)unused;
    assert_true(take_deep(60, &left));
    assert_true(take_deep(60, &left));
    gv_stack_copy_finish(&left); /* but no record has it */
    assert_true(gv_stack_copy_take(&gv_thread, GV_STACK_ROOM_CHOSEN, &taken));
    assert_int_equal(*word_of(0), (UINT64_C(1) << taken.chunks) - 1);
}

/* Its stack ends in a hole, far from that of the thread. */
static void a_coroutine_s_stack_is_copied_up_to_its_end(void **unused)
{
    unsigned char *pages =
        mmap(NULL, 17 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)unused;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + 16 * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    assert_int_equal(getcontext(&coroutine), 0);
    coroutine.uc_stack.ss_sp = pages;
    coroutine.uc_stack.ss_size = 16 * PAGE_BYTES;
    coroutine.uc_link = &program;
    makecontext(&coroutine, run_coroutine, 0);
    assert_int_equal(swapcontext(&program, &coroutine), 0);
    assert_int_equal(of_coroutine.copy->sp + of_coroutine.copy->bytes,
                     (uintptr_t)pages + 16 * PAGE_BYTES);
    assert_int_equal(of_coroutine.chunks, gv_stack_ring_chunks(of_coroutine.copy->bytes));
    assert_int_equal(*word_of(0), (UINT64_C(1) << of_coroutine.chunks) - 1);
    munmap(pages, 17 * PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_ring_costs_the_stack_and_is_counted, begin,
                                        close_recording),
        cmocka_unit_test_setup_teardown(one_that_a_record_may_have_is_freed_once, begin,
                                        close_recording),
        cmocka_unit_test_setup_teardown(who_wants_all_waits_for_room_but_not_twice_in_vain, begin,
                                        close_recording),
        cmocka_unit_test(chunks_are_the_lowest_that_are_free),
        cmocka_unit_test_setup_teardown(one_that_was_left_is_freed_by_the_next, begin,
                                        close_recording),
        cmocka_unit_test_setup_teardown(a_coroutine_s_stack_is_copied_up_to_its_end, begin,
                                        close_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
