/* The processes that descend from this one. */
#include "preload/idle/children.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND_NS 1000000000u

static void children_are_parsed(void **unused)
{
    uint32_t pids[4] = {0};

    (void)unused;
    assert_int_equal(gv_children_parse("12 345 ", pids, 0, 4), 2);
    assert_int_equal(pids[1], 345);
    assert_int_equal(gv_children_parse("1 2 3 4 5 6", pids, 2, 4), 4);
    assert_int_equal(pids[3], 2);
    assert_int_equal(gv_children_parse("", pids, 0, 4), 0);
    assert_int_equal(gv_children_parse("x 1", pids, 0, 4), 0);
    assert_int_equal(gv_children_parse("-1", pids, 0, 4), 0);
    assert_int_equal(gv_children_parse("99999999999999999999999 7", pids, 0, 4), 1);
    assert_int_equal(pids[0], 7);
}

static void burn(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends before */
    for (;;)
        ;
}

static void wait_for_work(int ends[2])
{
    char byte;

    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
}

static const struct gv_child *child_with(const struct gv_child *children, unsigned count,
                                         uint32_t pid)
{
    for (unsigned i = 0; i < count; i++)
        if (children[i].pid == pid)
            return &children[i];
    return NULL;
}

/* A process that waits for its own child, which runs; and one that waits for work. */
static void descendants_are_found(void **unused)
{
    static const struct timespec a_while = {.tv_nsec = 200000000};
    int ends[2], told[2];
    struct gv_child *children;
    const struct gv_child *found;
    pid_t parent, grandchild, idle;
    unsigned count;

    (void)unused;
    gv_children_start_over();
    assert_false(gv_children_exist());
    assert_int_equal(gv_children_search(SECOND_NS, 0, &children), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(told), 0);
    idle = fork();
    if (idle == 0)
        wait_for_work(ends);
    parent = fork();
    if (parent == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        grandchild = fork();
        if (grandchild == 0)
            burn();
        (void)!write(told[1], &grandchild, sizeof grandchild);
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    assert_int_equal(read(told[0], &grandchild, sizeof grandchild), sizeof grandchild);
    assert_true(gv_children_exist());
    gv_children_start_over(); /* else a slow search may be the last of all threads for a while */
    gv_children_search(SECOND_NS, 0, &children);
    nanosleep(&a_while, NULL);
    count = gv_children_search(a_while.tv_nsec, 0, &children);
    assert_int_equal(count, 3);
    found = child_with(children, count, (uint32_t)grandchild);
    assert_non_null(found);
    assert_true(found->works);
    assert_int_equal(found->state.state, 'R');
    assert_in_range(found->ran_ns, 1, SECOND_NS);
    assert_string_equal(found->state.comm, "test_preload_ch");
    found = child_with(children, count, (uint32_t)parent);
    assert_non_null(found);
    assert_false(found->works);
    found = child_with(children, count, (uint32_t)idle);
    assert_non_null(found);
    assert_false(found->works);

    assert_int_equal(gv_children_search(SECOND_NS, (uint32_t)idle, &children), 2);
    kill(grandchild, SIGKILL);
    close(ends[1]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    /* It has ended, but nobody has waited for it. */
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)idle, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(gv_children_search(SECOND_NS, 0, &children), 0);
    assert_int_equal(waitpid(idle, NULL, 0), idle);
    assert_false(gv_children_exist());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_parsed),
        cmocka_unit_test(descendants_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
