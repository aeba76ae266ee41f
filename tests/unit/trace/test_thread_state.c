/* What a thread does, from the texts of /proc and from threads that do it. */
#include "trace/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- texts ---- */

static void a_stat_has_name_state_and_time(void **unused)
{
    struct gv_thread_state state = {0};

    (void)unused;
    assert_true(gv_thread_state_parse_stat(
        "42 (python3) S 1 42 42 0 -1 4194304 100 0 0 0 12 34 0 0 20 0 1 0 9 0", &state));
    assert_int_equal(state.state, 'S');
    assert_string_equal(state.comm, "python3");
    assert_int_equal(state.ticks, 46);
}

static void a_name_may_look_like_a_stat(void **unused)
{
    struct gv_thread_state state = {0};

    (void)unused;
    assert_true(gv_thread_state_parse_stat(
        "42 (a) R 1 (b) D 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20", &state));
    assert_int_equal(state.state, 'D');
    assert_string_equal(state.comm, "a) R 1 (b");
    assert_int_equal(state.ticks, 3);
    assert_true(gv_thread_state_parse_stat("42 (a name of more than 15 bytes) Z", &state));
    assert_string_equal(state.comm, "a name of more ");
    assert_int_equal(state.ticks, 0);
}

static void damaged_texts_are_unknown(void **unused)
{
    static const char *const stats[] = {"",       "42",      "42 (",    "42 )",       "42 )(",
                                        "42 (a)", "42 (a)S", "42 (a) ", "42 (a) 7 1", ")) S"};
    static const char *const calls[] = {"",
                                        "running",
                                        "-",
                                        "-1",
                                        "-1 ",
                                        "-1 0x1",
                                        "-2 0x1 0x2",
                                        "0",
                                        "0 0x1 0x2 0x3",
                                        "0 1 2 3 4 5 6",
                                        "0 1 2 3 4 5 6 7",
                                        "x 1 2 3 4 5 6 7 8",
                                        "99999999 1 2 3 4 5 6 7 8",
                                        "0 1 -2 3 4 5 6 7 8",
                                        "\xff\xff"};
    static const char *const times[] = {
        "", "1", "1 ", "1 x", "1 2", "-1 2 3", "1 99999999999999999999999 3"};
    struct gv_thread_state state = {0};

    (void)unused;
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        assert_false(gv_thread_state_parse_stat(stats[i], &state));
        assert_int_equal(state.state, '?');
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_false(gv_thread_state_parse_call(calls[i], &state));
        assert_int_equal(state.call, GV_THREAD_NO_CALL);
        assert_int_equal(state.sp, 0);
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_false(gv_thread_state_parse_times(times[i], &state));
}

static void a_call_has_arguments_and_registers(void **unused)
{
    struct gv_thread_state state = {0};

    (void)unused;
    assert_true(gv_thread_state_parse_call("7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc0 0x7f01\n", &state));
    assert_int_equal(state.call, 7);
    assert_int_equal(state.arguments[5], 6);
    assert_int_equal(state.sp, 0x7ffc0);
    assert_int_equal(state.pc, 0x7f01);
    /* blocked elsewhere, such as in a page fault */
    assert_true(gv_thread_state_parse_call("-1 0x7ffc0 0x7f01\n", &state));
    assert_int_equal(state.call, GV_THREAD_NO_CALL);
    assert_int_equal(state.sp, 0x7ffc0);
}

static void a_file_is_told_by_its_name(void **unused)
{
    static const struct {
        const char *name;
        enum gv_idle_target target;
    } files[] = {
        {"/data/train.bin", GV_IDLE_TARGET_FILE},
        {"/dev/shm/x", GV_IDLE_TARGET_FILE},
        {"/dev/pts/3", GV_IDLE_TARGET_TERMINAL},
        {"/dev/nvidia0", GV_IDLE_TARGET_OTHER},
        {"pipe:[123]", GV_IDLE_TARGET_PIPE},
        {"socket:[123]", GV_IDLE_TARGET_SOCKET},
        {"anon_inode:[eventpoll]", GV_IDLE_TARGET_OTHER},
        {"", GV_IDLE_TARGET_OTHER},
        {"/pipe:[1]", GV_IDLE_TARGET_FILE},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        assert_int_equal(gv_thread_state_target_of_name(files[i].name), files[i].target);
}

/* ---- threads ---- */

static _Atomic uint32_t tid;
static int ends[2], sockets[2], datagrams, file, other_file;

static void *run(void *body)
{
    atomic_store(&tid, (uint32_t)syscall(SYS_gettid));
    (*(void (*const *)(void))body)();
    return NULL;
}

static void read_a_byte(void)
{
    char byte;

    assert_int_equal(read(ends[0], &byte, 1), 1);
}

static void lock_the_file(void)
{
    assert_int_equal(flock(other_file, LOCK_EX), 0);
}

static void poll_both(void)
{
    struct pollfd both[] = {{ends[0], POLLIN, 0}, {sockets[0], POLLIN, 0}};

    assert_int_equal(poll(both, 2, -1), 1);
}

static void poll_the_pipe(void)
{
    struct pollfd one = {ends[0], POLLIN, 0};

    assert_int_equal(poll(&one, 1, -1), 1);
}

static void select_the_pipe(void)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    assert_int_equal(select(ends[0] + 1, &set, NULL, NULL, NULL), 1);
}

static void wait_in_epoll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
    assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
    close(epoll);
}

static void sleep_in_poll(void)
{
    poll(NULL, 0, 200);
}

static void pause_a_ms(void)
{
    static const struct timespec ms = {.tv_nsec = 1000000};

    nanosleep(&ms, NULL);
}

/* Runs `body` on a thread until it is blocked in the call. */
static pthread_t start(void (*const *body)(void), bool (*is_there)(const struct gv_thread_state *),
                       struct gv_thread_state *state)
{
    struct gv_thread_files files = GV_THREAD_NO_FILES;
    pthread_t thread;

    atomic_store(&tid, 0);
    assert_int_equal(pthread_create(&thread, NULL, run, (void *)(uintptr_t)body), 0);
    while (!atomic_load(&tid))
        pause_a_ms();
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(gv_thread_state_read((uint32_t)getpid(), tid, &files, state), 0);
        if (state->state == 'S' && is_there(state))
            break;
        pause_a_ms();
    }
    gv_thread_files_close(&files);
    return thread;
}

static void let_go(pthread_t thread)
{
    char byte;

    assert_int_equal(write(ends[1], "x", 1), 1);
    pthread_join(thread, NULL);
    /* what only waited has not read it */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    (void)!read(ends[0], &byte, 1);
    fcntl(ends[0], F_SETFL, 0);
}

static bool is_read(const struct gv_thread_state *state)
{
    return state->call == SYS_read;
}

static bool is_flock(const struct gv_thread_state *state)
{
    return state->call == SYS_flock;
}

static bool read_own(void *context, void *to, uintptr_t from, size_t bytes)
{
    struct iovec local = {to, bytes},
                 remote = {(void *)from, bytes}; // NOLINT(performance-no-int-to-ptr)

    (void)context;
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static enum gv_idle_target target_of(const struct gv_thread_state *state, char path[256])
{
    return gv_thread_state_target((uint32_t)getpid(), tid, state, read_own, NULL, path, 256);
}

static void a_thread_that_reads_a_pipe(void **unused)
{
    static void (*const body)(void) = read_a_byte;
    struct gv_thread_state state, later;
    char path[256];
    pthread_t thread = start(&body, is_read, &state);

    (void)unused;
    assert_int_equal(state.arguments[0], ends[0]);
    assert_int_not_equal(state.sp, 0);
    assert_int_not_equal(state.pc, 0);
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_PIPE);
    assert_string_equal(path, "");
    assert_int_equal(gv_thread_state_times((uint32_t)getpid(), tid, NULL, &later), 0);
    assert_int_equal(later.cpu_ns, state.cpu_ns);
    let_go(thread);
}

static void a_thread_that_waits_for_a_file(void **unused)
{
    static void (*const body)(void) = lock_the_file;
    struct gv_thread_state state;
    char path[256];
    pthread_t thread;

    (void)unused;
    assert_int_equal(flock(file, LOCK_EX), 0);
    thread = start(&body, is_flock, &state);
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_FILE);
    assert_non_null(strstr(path, "gpuverify-test-"));
    assert_int_equal(
        gv_thread_state_target((uint32_t)getpid(), tid, &state, read_own, NULL, path, 5),
        GV_IDLE_TARGET_FILE);
    assert_int_equal(strlen(path), 4);
    flock(file, LOCK_UN);
    pthread_join(thread, NULL);
    flock(other_file, LOCK_UN);
}

static void a_thread_that_waits_for_several_files(void **unused)
{
    static void (*const bodies[])(void) = {poll_the_pipe, select_the_pipe, wait_in_epoll};
    static void (*const both)(void) = poll_both;
    struct gv_thread_state state;
    char path[256];

    (void)unused;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        pthread_t thread = start(&bodies[i], gv_thread_state_is_poll, &state);

        assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_PIPE);
        let_go(thread);
    }
    pthread_t thread = start(&both, gv_thread_state_is_poll, &state);

    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_SOCKET);
    let_go(thread);
}

static void a_socket_of_the_network_is_none_of_unix(void **unused)
{
    struct gv_thread_state state = {.call = SYS_recvfrom};
    char path[256];

    (void)unused;
    atomic_store(&tid, (uint32_t)getpid());
    state.arguments[0] = (uint64_t)sockets[0];
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_SOCKET);
    state.arguments[0] = (uint64_t)datagrams;
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NETWORK);
    assert_string_equal(path, "");
}

static void a_poll_of_nothing_is_about_nothing(void **unused)
{
    static void (*const body)(void) = sleep_in_poll;
    struct gv_thread_state state;
    char path[256];
    pthread_t thread = start(&body, gv_thread_state_is_poll, &state);

    (void)unused;
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NONE);
    pthread_join(thread, NULL);
}

static void wild_arguments_are_not_followed(void **unused)
{
    struct gv_thread_state state = {.call = SYS_ppoll, .arguments = {1, UINT64_MAX}};
    char path[256];

    (void)unused;
    atomic_store(&tid, (uint32_t)getpid());
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NONE);
    state = (struct gv_thread_state){.call = SYS_pselect6, .arguments = {UINT64_MAX, 1, 2, 3}};
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NONE);
    state = (struct gv_thread_state){.call = SYS_epoll_pwait, .arguments = {UINT64_MAX}};
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NONE);
    state = (struct gv_thread_state){.call = SYS_read, .arguments = {UINT64_MAX}};
    assert_int_equal(target_of(&state, path), GV_IDLE_TARGET_NONE);
}

static void a_thread_that_has_ended(void **unused)
{
    static void (*const body)(void) = sleep_in_poll;
    struct gv_thread_files files = GV_THREAD_NO_FILES;
    struct gv_thread_state state;
    pthread_t thread = start(&body, gv_thread_state_is_poll, &state);

    (void)unused;
    assert_int_equal(gv_thread_state_read((uint32_t)getpid(), tid, &files, &state), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000 && gv_thread_state_read((uint32_t)getpid(), tid, &files, &state) == 0;
         i++)
        pause_a_ms(); /* the C library returns a little before it is gone */
    assert_int_equal(gv_thread_state_read((uint32_t)getpid(), tid, &files, &state), -ESRCH);
    assert_int_equal(gv_thread_state_read((uint32_t)getpid(), tid, NULL, &state), -ESRCH);
    gv_thread_files_close(&files);
}

static int open_files(void **unused)
{
    char path[] = "/tmp/gpuverify-test-XXXXXX";

    (void)unused;
    file = mkstemp(path);
    other_file = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    return file < 0 || other_file < 0 || datagrams < 0 || pipe(ends) ||
           socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stat_has_name_state_and_time),
        cmocka_unit_test(a_name_may_look_like_a_stat),
        cmocka_unit_test(damaged_texts_are_unknown),
        cmocka_unit_test(a_call_has_arguments_and_registers),
        cmocka_unit_test(a_file_is_told_by_its_name),
        cmocka_unit_test(a_thread_that_reads_a_pipe),
        cmocka_unit_test(a_thread_that_waits_for_a_file),
        cmocka_unit_test(a_thread_that_waits_for_several_files),
        cmocka_unit_test(a_socket_of_the_network_is_none_of_unix),
        cmocka_unit_test(a_poll_of_nothing_is_about_nothing),
        cmocka_unit_test(wild_arguments_are_not_followed),
        cmocka_unit_test(a_thread_that_has_ended),
    };

    return cmocka_run_group_tests(tests, open_files, NULL);
}
