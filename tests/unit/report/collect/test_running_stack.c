/* The stack of a running thread, when that thread is killed meanwhile. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/running_stack.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS      100
#define PATIENCE_S 20

static pid_t start_program(void)
{
    pid_t program = fork();

    if (program == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned work = 0;; work++)
            continue;
    }
    return program;
}

/* As the collector does: takes stacks, and lets late threads go, until it is killed. */
static pid_t start_collector(pid_t program)
{
    static struct gv_running_stack taken;
    pid_t collector = fork();

    if (collector == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)gv_running_stack_take((uint32_t)program, (uint32_t)program, &taken);
    }
    return collector;
}

/* A killed thread's parent is told only after the one that stopped it: it was never told if the
 * kill came while the stack was copied. */
static void a_thread_that_is_killed_while_it_is_stopped_ends(void **state)
{
    if (gv_running_stack_try() != 0)
        skip(); /* ptrace is not allowed here */
    alarm(PATIENCE_S);
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t program = start_program(), collector = start_collector(program);

        usleep(2000 + i * 37 % 500);
        kill(program, SIGKILL);
        assert_int_equal(waitpid(program, NULL, 0), program);
        kill(collector, SIGKILL);
        assert_int_equal(waitpid(collector, NULL, 0), collector);
    }
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_is_killed_while_it_is_stopped_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
