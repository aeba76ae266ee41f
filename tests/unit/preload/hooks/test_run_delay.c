/* How long a thread has waited for a CPU: read again only if it has left its CPU meanwhile. */
#include "tests/unit/preload/recording.h"

#include "preload/base/clock.h"
#include "preload/hooks/run_delay.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static bool attach(void)
{
    return false;
}

/* No thread joins. */
const struct gv_process_steps gv_process_steps = {.attach = attach};

static int opened;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    opened += number == SYS_openat;
    return __real_syscall(number, a, b, c, d, e, f);
}

static long times_off_cpu(void)
{
    struct rusage used;

    assert_int_equal(getrusage(RUSAGE_THREAD, &used), 0);
    return used.ru_nvcsw + used.ru_nivcsw;
}

static struct gv_record_run_delay write_one(void)
{
    bool inside = gv_thread_begin_group(&gv_thread);

    gv_run_delay_write(&gv_thread, GV_ROOM_REST, gv_clock_now_ns());
    gv_thread_end_group(&gv_thread, inside);
    return gv_thread.next[-1].run_delay;
}

static void it_is_read_again_only_after_the_thread_left_its_cpu(void **state)
{
    struct gv_record_run_delay first, second;
    long before;
    int tries = 100;

    (void)state;
    if (access("/proc/thread-self/schedstat", R_OK)) {
        print_message("the Linux kernel does not say how long a thread waits\n");
        skip();
    }
    /* The machine may take the CPU away between any two lines. */
    do {
        first = write_one();
        before = times_off_cpu();
        opened = 0;
        second = write_one();
    } while (times_off_cpu() != before && --tries);
    assert_int_equal(opened, 0);
    assert_int_equal(second.head.kind, GV_RECORD_RUN_DELAY);
    assert_int_equal(second.delay_ns, first.delay_ns);
    assert_true(second.after_ns > first.after_ns);

    usleep(1000);
    opened = 0;
    assert_true(write_one().delay_ns >= second.delay_ns);
    assert_int_equal(opened, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_read_again_only_after_the_thread_left_its_cpu,
                                        open_recording, close_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
