/* Waiting, in threads of the program too. */
#include "tests/unit/report/cmocka_all.h"

#include "trace/futex.h"

#include <errno.h>
#include <pthread.h>

static void *pause_when_cancelled(void *is_over)
{
    pthread_cancel(pthread_self()); /* acts at the next point of cancellation */
    gv_pause_ns(1000);
    *(bool *)is_over = true;
    return NULL;
}

static void a_pause_cancels_no_thread(void **state)
{
    bool is_over = false;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, pause_when_cancelled, &is_over), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_over);
}

static void a_pause_takes_its_time(void **state)
{
    uint64_t start_ns = gv_monotonic_ns();

    (void)state;
    errno = 7;
    gv_pause_ns(2000000);
    assert_true(gv_monotonic_ns() - start_ns >= 2000000);
    assert_int_equal(errno, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_cancels_no_thread),
        cmocka_unit_test(a_pause_takes_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
