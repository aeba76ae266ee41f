/* Which calls are chosen at random: each as probably as its sample says, whatever the program does.
 * The numbers are drawn from a fixed seed. */
#include "preload/stacks/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND_NS 1000000000u

static struct gv_thread thread;
static uint64_t now_ns;

static int begin_thread(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof thread);
    thread.sample_random = 0x9e3779b97f4a7c15u;
    now_ns = SECOND_NS;
    return 0;
}

/* A call so long after the last one. */
static uint32_t call(uint64_t after_ns)
{
    now_ns += after_ns;
    return gv_samples_count(&thread, now_ns) ? gv_samples_choose(&thread, now_ns) : 0;
}

static unsigned chosen_of(unsigned calls, uint64_t each_ns)
{
    unsigned chosen = 0;

    for (unsigned i = 0; i < calls; i++)
        chosen += call(each_ns) != 0;
    return chosen;
}

/* What a thread does that nobody has seen launching before: so the first case. */
static void a_slow_threads_calls_are_all_chosen(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; i++)
        assert_int_equal(call(SECOND_NS / 40), 1);
}

static void about_fifty_a_second_are_chosen(void **state)
{
    static const unsigned rates[] = {100, 1000, 20000, 1000000};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        unsigned first, later;

        begin_thread(NULL);
        first = chosen_of(rates[i], SECOND_NS / rates[i]);
        later = chosen_of(rates[i] * 10, SECOND_NS / rates[i]);
        assert_in_range(first, 30, 150);
        assert_in_range(later, 300, 700);
    }
}

/* A loop whose passes fit into the time in which N is adapted, as often as they can. Each place
 * stands for as many calls as it made, give or take five standard deviations. */
static void no_loop_is_in_step(void **state)
{
    static const unsigned lengths[] = {2, 7, 20, 64};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        double stand_for[64] = {0}, squares[64] = {0};
        unsigned length = lengths[i];

        for (unsigned made = 0; made < 400000; made++)
            for (unsigned place = 0; place < length; place++) {
                double one_of = call(SECOND_NS / 1000);

                stand_for[place] += one_of;
                squares[place] += one_of * one_of;
            }
        for (unsigned place = 0; place < length; place++) {
            double off = stand_for[place] - 400000;

            assert_true(off * off < 25 * squares[place]);
        }
    }
}

/* Steps that begin with a burst of many calls and end with a few slow ones: the rate, and with it
 * N, is always that of the past. Counted N times, the samples are as many calls as there were, of
 * each kind. */
static void what_samples_stand_for_has_no_bias(void **state)
{
    enum { FIRST, BURST, SLOW, KINDS };
    double stand_for[KINDS] = {0}, made[KINDS] = {0};

    (void)state;
    for (unsigned step = 0; step < 20000; step++) {
        for (unsigned i = 0; i < 230; i++) {
            int kind = i == 0 ? FIRST : i < 210 ? BURST : SLOW;

            made[kind]++;
            stand_for[kind] += call(i == 0 ? 700000000 : i < 210 ? 5000 : 20000000);
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(stand_for[kind] > made[kind] * 0.95);
        assert_true(stand_for[kind] < made[kind] * 1.05);
    }
}

static void samples_follow_when_the_thread_slows_down(void **state)
{
    uint32_t last = 0;

    (void)state;
    chosen_of(1000000, 5000);
    for (unsigned i = 0; i < 100; i++)
        last = call(SECOND_NS / 20);
    assert_int_equal(last, 1);
    now_ns += UINT64_C(3600) * SECOND_NS;
    assert_int_equal(call(0), 1);
}

/* Programs with a thread for each request would have too many samples otherwise. */
static void a_new_thread_begins_where_another_one_is(void **state)
{
    unsigned chosen = 0;

    (void)state;
    chosen_of(200000, 5000);
    for (unsigned i = 0; i < 100; i++) {
        begin_thread(NULL);
        thread.sample_random += i;
        chosen += chosen_of(20, 5000);
    }
    assert_in_range(chosen, 0, 10);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_thread)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slow_threads_calls_are_all_chosen),
        TEST(about_fifty_a_second_are_chosen),
        TEST(no_loop_is_in_step),
        TEST(what_samples_stand_for_has_no_bias),
        TEST(samples_follow_when_the_thread_slows_down),
        TEST(a_new_thread_begins_where_another_one_is),
    };

    return cmocka_run_group_tests_name("calls chosen at random", tests, NULL, NULL);
}
