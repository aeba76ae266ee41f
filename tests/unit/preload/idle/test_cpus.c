/* How many CPUs this process may use: by its threads' affinities, and by quotas. */
#include "preload/idle/cpus.h"
#include "preload/idle/quota.h"
#include "trace/futex.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static _Atomic bool is_over;

static void *wait_for_end(void *unused)
{
    const struct timespec a_while = {.tv_nsec = 200000000};

    while (!is_over)
        nanosleep(&a_while, NULL);
    return unused;
}

static void *work(void *unused)
{
    while (!is_over)
        ;
    return unused;
}

static pthread_t start(void *(*function)(void *), const cpu_set_t *cpus)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, NULL), 0);
    pthread_attr_destroy(&attributes);
    return thread;
}

/* The `number`th of a set. */
static cpu_set_t one_of(const cpu_set_t *cpus, int number)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, cpus) && number-- == 0)
            CPU_SET(i, &one);
    return one;
}

static unsigned ask(void)
{
    return gv_cpus_of_process((uint32_t)getpid(), gv_monotonic_ns());
}

/* Each thread is bound to its CPU; one that only waits may use all of them, which says nothing. */
static void threads_that_work_count(void **unused)
{
    cpu_set_t all, mine, other;
    pthread_t waiting, working;
    unsigned cpus = 0;

    (void)unused;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2)
        skip();
    mine = one_of(&all, 0);
    other = one_of(&all, 1);
    gv_cpus_start();
    gv_quota_start_at("");
    assert_int_equal(sched_setaffinity(0, sizeof mine, &mine), 0);
    waiting = start(wait_for_end, &all);
    assert_true(ask() >= 2); /* nobody knows yet who works */
    usleep(1100000);
    assert_int_equal(ask(), 1);
    assert_int_equal(gv_cpus_of_thread((uint32_t)getpid()), 1);
    working = start(work, &other);
    for (int tries = 0; tries < 100 && cpus != 2; tries++) {
        usleep(300000);
        cpus = ask();
    }
    assert_int_equal(cpus, 2);
    /* A look that began before. */
    assert_int_equal(gv_cpus_of_process((uint32_t)getpid(), gv_monotonic_ns() - 2000000000), 2);
    is_over = true;
    pthread_join(working, NULL);
    pthread_join(waiting, NULL);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void the_group_of_the_cpu_is_found(void **unused)
{
    char folder[64];

    (void)unused;
    assert_true(gv_quota_folder("0::/user.slice/x\n", folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/user.slice/x");
    assert_true(gv_quota_folder("4:cpuset:/a\n3:cpuacct,cpu:/b\n0::/c\n", folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/cpu/b");
    assert_true(gv_quota_folder("0::/c\n3:cpu:/b", folder, sizeof folder));
    assert_string_equal(folder, "/sys/fs/cgroup/cpu/b");
    assert_false(gv_quota_folder("4:cpuset:/a\n1:name=systemd:/", folder, sizeof folder));
    assert_false(gv_quota_folder("", folder, sizeof folder));
    assert_false(gv_quota_folder("0:\n:\n::", folder, 8));
    assert_false(
        gv_quota_folder("0::/much/too/long/for/the/room/that/there/is/for/it/in/the/folder", folder,
                        sizeof folder));
}

static void a_group_says_how_often_it_was_throttled(void **unused)
{
    uint64_t times = 0;

    (void)unused;
    assert_true(gv_quota_parse("nr_periods 5\nnr_throttled 3\nthrottled_usec 9\n", &times));
    assert_int_equal(times, 3);
    assert_false(gv_quota_parse("usage_usec 5\n", &times));
    assert_false(gv_quota_parse("nr_throttled \n", &times));
    assert_false(gv_quota_parse("xnr_throttled 3", &times));
}

static void a_quota_is_worth_so_many_cpus(void **unused)
{
    (void)unused;
    assert_int_equal(gv_quota_parse_cpus("150000 100000\n"), 2);
    assert_int_equal(gv_quota_parse_cpus("400000\n 100000\n"), 4);
    assert_int_equal(gv_quota_parse_cpus("max 100000\n"), 0);
    assert_int_equal(gv_quota_parse_cpus("-1\n 100000\n"), 0);
    assert_int_equal(gv_quota_parse_cpus("100000 0"), 0);
    assert_int_equal(gv_quota_parse_cpus("100000"), 0);
    assert_int_equal(gv_quota_parse_cpus(""), 0);
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* A pod's quota may be less than that of its container, and other containers use it too. */
static void the_quota_of_a_parent_counts(void **unused)
{
    char pod[] = "/tmp/gv-cpus-XXXXXX", inner[64], own[80], command[128];

    (void)unused;
    assert_non_null(mkdtemp(pod));
    snprintf(inner, sizeof inner, "%s/inner", pod);
    snprintf(own, sizeof own, "%s/own", inner);
    assert_int_equal(mkdir(inner, 0700) + mkdir(own, 0700), 0);
    put(pod, "cpu.max", "150000 100000\n");
    put(pod, "cpu.stat", "nr_throttled 3\n");
    put(inner, "cpu.max", "max 100000\n");
    put(own, "cpu.cfs_quota_us", "400000\n");
    put(own, "cpu.cfs_period_us", "100000\n");
    put(own, "cpu.stat", "nr_throttled 0\n");
    gv_quota_start_at(own);
    assert_int_equal(gv_quota_cpus(), 2);
    assert_false(gv_quota_was_used_up());
    put(pod, "cpu.stat", "nr_throttled 4\n");
    assert_true(gv_quota_was_used_up());
    assert_false(gv_quota_was_used_up());
    put(own, "cpu.stat", "nr_throttled 1\n");
    assert_true(gv_quota_was_used_up());
    gv_quota_start_at("");
    assert_int_equal(gv_quota_cpus(), 0);
    assert_false(gv_quota_was_used_up());
    snprintf(command, sizeof command, "rm -r %s", pod);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_work_count),
        cmocka_unit_test(the_group_of_the_cpu_is_found),
        cmocka_unit_test(a_group_says_how_often_it_was_throttled),
        cmocka_unit_test(a_quota_is_worth_so_many_cpus),
        cmocka_unit_test(the_quota_of_a_parent_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
