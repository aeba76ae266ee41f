/* A session's id, and whether a process lives. */
#include "tests/unit/report/cmocka_all.h"

#include "trace/session_id.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void an_id_names_its_root(void **state)
{
    (void)state;
    char id[GV_SESSION_ID_BYTES], other[GV_SESSION_ID_BYTES];
    uint32_t pid;
    uint64_t ticks, own;

    assert_int_equal(gv_session_id_make(id), 0);
    assert_int_equal(gv_session_id_make(other), 0);
    assert_string_not_equal(id, other);
    assert_int_equal(gv_session_id_parse(id, &pid, &ticks), 0);
    assert_int_equal(pid, getpid());
    assert_int_equal(gv_session_read_start_ticks((uint32_t)getpid(), &own), 0);
    assert_int_equal(ticks, own);
}

static void what_is_no_id_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "1",
        "1-2",
        "1-2-",
        "1-2-1234567",
        "1-2-123456789",
        "1-2-1234567G",
        "-2-12345678",
        "1--12345678",
        "0-2-12345678",
        "../1-2-12345678",
        "1-2-12345678/",
        "1-2-1234567.",
        "99999999999-2-12345678",
        "1-22222222222222222222222222222222222222222222222222222222222222222-12345678"};
    uint32_t pid;
    uint64_t ticks;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(gv_session_id_parse(wrong[i], &pid, &ticks), -EINVAL);
    assert_int_equal(gv_session_id_parse("1-2-0123abcd", &pid, &ticks), 0);
}

static void a_pid_that_came_again_is_another_process(void **state)
{
    (void)state;
    uint64_t ticks;

    assert_int_equal(gv_session_read_start_ticks((uint32_t)getpid(), &ticks), 0);
    assert_int_equal(gv_session_process_life((uint32_t)getpid(), ticks), GV_SESSION_ALIVE);
    assert_int_equal(gv_session_process_life((uint32_t)getpid(), ticks + 1), GV_SESSION_GONE);
    assert_int_equal(gv_session_process_life(4194999, ticks), GV_SESSION_GONE);
}

static void a_name_cannot_fool_us(void **state)
{
    (void)state;
    uint64_t before, after;

    assert_int_equal(gv_session_read_start_ticks((uint32_t)getpid(), &before), 0);
    prctl(PR_SET_NAME, "a) Z 1 (b");
    assert_int_equal(gv_session_read_start_ticks((uint32_t)getpid(), &after), 0);
    assert_int_equal(before, after);
    assert_int_equal(gv_session_process_life((uint32_t)getpid(), before), GV_SESSION_ALIVE);
}

static void *outlive(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* Waits until the process is in the expected state. */
static enum gv_session_life life_after(pid_t pid, uint64_t ticks, enum gv_session_life wanted)
{
    enum gv_session_life life = GV_SESSION_ALIVE;

    for (int i = 0; i < 6000; i++) {
        life = gv_session_process_life((uint32_t)pid, ticks);
        if (life == wanted)
            break;
        usleep(10000);
    }
    return life;
}

static void a_zombie_is_known(void **state)
{
    (void)state;
    uint64_t ticks;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_int_equal(gv_session_read_start_ticks((uint32_t)child, &ticks), 0);
    assert_int_equal(life_after(child, ticks, GV_SESSION_ZOMBIE), GV_SESSION_ZOMBIE);
    waitpid(child, NULL, 0);
    assert_int_equal(gv_session_process_life((uint32_t)child, ticks), GV_SESSION_GONE);
}

static void a_process_outlives_its_main_thread(void **state)
{
    (void)state;
    uint64_t ticks;
    pid_t child = fork();

    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    assert_int_equal(gv_session_read_start_ticks((uint32_t)child, &ticks), 0);
    usleep(200000); /* the main thread is a zombie by now */
    assert_int_equal(gv_session_process_life((uint32_t)child, ticks), GV_SESSION_ALIVE);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_names_its_root),
        cmocka_unit_test(what_is_no_id_is_refused),
        cmocka_unit_test(a_pid_that_came_again_is_another_process),
        cmocka_unit_test(a_name_cannot_fool_us),
        cmocka_unit_test(a_zombie_is_known),
        cmocka_unit_test(a_process_outlives_its_main_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
