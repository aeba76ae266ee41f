/* The stack of a running thread, when that thread is killed, or begins a wait, meanwhile. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/running_stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS      100
#define PATIENCE_S 20
#define WAIT_US    20
#define LOOK_US    1000000

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

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

/* As the collector does: takes stacks, and lets late threads go, until it is ended. */
static pid_t start_collector(pid_t program)
{
    static struct gv_running_stack taken;
    pid_t collector = fork();

    if (collector == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, end);
        while (!is_over)
            (void)gv_running_stack_take((uint32_t)program, (uint32_t)program, &taken);
        while (gv_running_stack_let_go())
            continue;
        _exit(0);
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

#if defined(__x86_64__)

static int files, semaphores, sockets[2];

static int wait_for_events(void)
{
    struct epoll_event event;

    return epoll_pwait2(files, &event, 1, &(struct timespec){.tv_nsec = WAIT_US * 1000}, NULL);
}

static int wait_for_semaphore(void)
{
    struct sembuf down = {.sem_op = -1};

    return semtimedop(semaphores, &down, 1, &(struct timespec){.tv_nsec = WAIT_US * 1000});
}

static int wait_for_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = WAIT_US * 1000});
}

static int wait_for_bytes(void)
{
    char byte;

    return (int)recv(sockets[0], &byte, 1, 0);
}

static int nap(void)
{
    return nanosleep(&(struct timespec){.tv_nsec = WAIT_US * 1000}, NULL);
}

/* Waits and computes, without handlers of signals. */
static pid_t start_waits(int (*wait)(void))
{
    pid_t program = fork();

    if (program == 0) {
        const struct timeval limit = {.tv_usec = WAIT_US};
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        files = epoll_create1(0);
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        for (volatile unsigned work = 0;; work = 0) {
            while (work < 100000)
                work++;
            errno = 0;
            if (wait() < 0 && errno != EAGAIN)
                _exit(1);
        }
    }
    return program;
}

/* The stop that comes just when a wait begins did end it. */
static void a_wait_goes_on(void **state)
{
    static int (*const waits[])(void) = {wait_for_events, wait_for_semaphore, wait_for_signal,
                                         wait_for_bytes, nap};
    enum { COUNT = sizeof(waits) / sizeof(waits[0]) };
    pid_t programs[COUNT], collectors[COUNT];

    if (gv_running_stack_try() != 0)
        skip();
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    assert_true(semaphores >= 0);
    for (unsigned i = 0; i < COUNT; i++) {
        programs[i] = start_waits(waits[i]);
        collectors[i] = start_collector(programs[i]);
    }
    usleep(LOOK_US);
    for (unsigned i = 0; i < COUNT; i++) {
        kill(collectors[i], SIGTERM);
        assert_int_equal(waitpid(collectors[i], NULL, 0), collectors[i]);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        int status = 0;
        kill(programs[i], SIGKILL);
        assert_int_equal(waitpid(programs[i], &status, 0), programs[i]);
        if (!WIFSIGNALED(status))
            print_error("wait %u ended with EINTR\n", i);
        assert_true(WIFSIGNALED(status));
    }
    semctl(semaphores, 0, IPC_RMID);
}

static void note(int signal)
{
    (void)signal;
}

static pid_t start_wait_for_signal(void)
{
    pid_t program = fork();

    if (program == 0) {
        struct epoll_event event;
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        files = epoll_create1(0);
        _exit(epoll_wait(files, &event, 1, 1000 * PATIENCE_S) < 0 && errno == EINTR ? 2 : 1);
    }
    return program;
}

/* A handler of a signal ends the wait, as it does without a stop. */
static void a_handler_ends_a_wait(void **state)
{
    const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

    if (gv_running_stack_try() != 0)
        skip();
    sigaction(SIGUSR2, &action, NULL); /* the programs have it, too */
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t program = start_wait_for_signal(), collector = start_collector(program);
        int status = 0;

        do { /* until it waits */
            usleep(2000 + i * 37 % 500);
            kill(program, SIGUSR2);
        } while (waitpid(program, &status, WNOHANG) == 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 2);
        kill(collector, SIGKILL);
        assert_int_equal(waitpid(collector, NULL, 0), collector);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_is_killed_while_it_is_stopped_ends),
#if defined(__x86_64__)
        cmocka_unit_test(a_wait_goes_on),
        cmocka_unit_test(a_handler_ends_a_wait),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
