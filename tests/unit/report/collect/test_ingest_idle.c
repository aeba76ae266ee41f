/* From looks at threads between their calls to rows. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/running_stack.h"
#include "tests/unit/report/one_drain.h"
#include "trace/session_id.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM 1 /* a thread that made calls, and ... */
#define LOOKER  2 /* the one that looks at it */
#define TID     (1000 + PROGRAM)

static void drain_all_now(void)
{
    pass();
    assert_int_equal(gv_drain_finish(&drain), 0);
    gv_drain_close(&drain);
}

static void drain_all(void)
{
    open_drain(0);
    drain_all_now();
}

/* The looker's records are those of GV_SPOOL_IDLE_THREAD. */
static void append(const union gv_record *record)
{
    assert_true(fixture_append(&spool, LOOKER, record));
    spool.threads[LOOKER - 1].segment->thread = GV_SPOOL_IDLE_THREAD;
}

static union gv_record look(uint64_t at_ns, uint64_t since_ns)
{
    return (union gv_record){.idle_sample = {.head = {.kind = GV_RECORD_IDLE_SAMPLE, .result = -1},
                                             .at_ns = FIXTURE_EPOCH_NS + at_ns,
                                             .since_ns = since_ns ? FIXTURE_EPOCH_NS + since_ns : 0,
                                             .tid = TID,
                                             .delay_ns = 5,
                                             .cpu_ns = 0,
                                             .state = 'S'}};
}

static int setup_alive(void **state)
{
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, true);
    return 0;
}

static void add_look(uint64_t at_ns)
{
    union gv_record sample = look(at_ns, 0);

    append(&sample);
}

/* In every pass, they would write 0.5 MB a second to the disk. */
static void looks_at_an_idle_process_are_stored_together(void **state)
{
    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 10, 0));
    add_look(20000);
    open_drain(0);
    pass();
    assert_int_equal(stored, 2);
    add_look(40000);
    pass();
    assert_int_equal(stored, 0);
    assert_true(drain.put_off);
    add_look(60000);
    drain.is_asked = true; /* by a snapshot, for example */
    pass();
    assert_int_equal(stored, 2);
    assert_false(drain.put_off);
    drain.is_asked = false;
    add_look(80000);
    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 90000, 10, 0));
    pass();
    assert_int_equal(stored, 2);
    add_look(100000);
    pass();
    assert_int_equal(stored, 0);
    drain.spools[0]->stored_ns -= 2000000000;
    pass();
    assert_int_equal(stored, 1);
    for (int i = 0; i < 300; i++) /* more than a segment holds */
        add_look(200000 + (uint64_t)i * 1000);
    pass();
    assert_true(stored >= 255);
    add_look(900000);
    drain.is_asked = true;
    drain_all_now();
    assert_int_equal(number("SELECT count(*) FROM idle_sample"), 306);
}

static void a_look_becomes_a_row(void **state)
{
    union gv_record stack = {
        .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}, .number = 4}};
    union gv_record frames = {
        .python_frames = {
            .head = {.kind = GV_RECORD_PYTHON_FRAMES, .flags = GV_RECORD_MORE, .api = 1},
            .position = {{.code = 3}}}};
    union gv_record sample = look(50000, 30000);

    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 10, 0));
    fixture_python_code(&spool, LOOKER, 3, "data.py", "load", 12);
    append(&stack);
    append(&frames);
    sample.head.api = 9;
    sample.head.flags = GV_RECORD_MORE;
    sample.head.result = 0; /* read() on x86-64 */
    sample.idle_sample.stack = 4;
    sample.idle_sample.other_stack = 5; /* comes later, or never */
    sample.idle_sample.other = 77;
    sample.idle_sample.about = GV_IDLE_CHILD;
    sample.idle_sample.target = GV_IDLE_TARGET_FILE;
    sample.idle_sample.signs = GV_IDLE_IN_PYTHON;
    sample.idle_sample.cpus = 16;
    sample.idle_sample.process_cpus = 250;
    append(&sample);
    fixture_text(&spool, LOOKER, "/data/x.\xff", false);
    spool.threads[LOOKER - 1].segment->thread = GV_SPOOL_IDLE_THREAD;
    recover();
    assert_int_equal(
        number("SELECT count(*) FROM idle_sample s JOIN threads t ON t.id = s.thread"
               " JOIN stack k ON k.id = s.stack JOIN frame f ON f.stack = k.id"
               " JOIN stack o ON o.id = s.other_stack"
               " WHERE t.tid = 1001 AND t.serial = 1 AND s.process = t.process"
               " AND s.at_ns = 50000 AND s.span_ns = 20000 AND s.about = 2 AND s.state = 'S'"
               " AND s.system_call = 0 AND s.target = 1 AND s.signs = 2 AND s.pid_or_tid = 77"
               " AND k.number = 4 AND f.line = 12 AND o.number = 5 AND s.delay_ns = 5"
               " AND s.cpu_ns = 0 AND s.text = '/data/x.' || char(65533)"),
        1);
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN idle_sample_cpu c ON c.sample "
                            "= s.id WHERE c.process_cpu_ns = 50000 AND c.cpus = 16"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM threads"), 1);
}

static void what_a_first_look_cannot_say_is_null(void **state)
{
    union gv_record sample = look(50000, 0);

    sample.idle_sample.tid = 5; /* of no thread with calls */
    sample.idle_sample.state = '\x01';
    sample.idle_sample.cpus = 16;
    append(&sample);
    recover();
    assert_int_equal(
        number("SELECT count(*) FROM idle_sample WHERE thread IS NULL AND span_ns IS NULL"
               " AND state IS NULL AND system_call IS NULL AND pid_or_tid IS NULL AND stack IS NULL"
               " AND other_stack IS NULL AND delay_ns IS NULL AND cpu_ns IS NULL AND text IS NULL"),
        1);
    assert_int_equal(number("SELECT count(*) FROM idle_sample_cpu"), 0);
}

/* The system gave the number of an ended thread to a new one. */
static void a_look_belongs_to_the_thread_that_had_its_number_then(void **state)
{
    union gv_record before = look(5000, 0), after = look(50000, 0);

    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 10, 0));
    assert_true(fixture_call(&spool, 3, FIXTURE_SYNC, 20000, 10, 0));
    spool.threads[3 - 1].segment->tid = TID;
    append(&before);
    append(&after);
    recover();
    assert_int_equal(number("SELECT t.serial FROM idle_sample s JOIN threads t ON t.id = s.thread"
                            " WHERE s.at_ns = 5000"),
                     1);
    assert_int_equal(number("SELECT t.serial FROM idle_sample s JOIN threads t ON t.id = s.thread"
                            " WHERE s.at_ns = 50000"),
                     3);
}

static void a_thread_may_have_its_first_row_after_a_look(void **state)
{
    union gv_record sample = look(50000, 0);

    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, true);
    append(&sample);
    drain_all();
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN thread t ON t.id = s.thread"),
                     0);
    assert_true(fixture_call(&spool, PROGRAM, FIXTURE_SYNC, 1000, 90000, 0));
    spool.writer.header->process_start_ticks++; /* it is gone */
    recover();
    assert_int_equal(number("SELECT t.serial FROM idle_sample s JOIN threads t ON t.id = s.thread"),
                     1);
}

#if defined(GV_HAS_ELFUTILS) && defined(__x86_64__)

/* ---- the native frames of a blocked thread ---- */

static int nothing_comes[2];
static _Atomic uint32_t blocked_tid;

#if __has_attribute(optimize)
#define WITH_FRAME_POINTER __attribute__((noinline, optimize("no-omit-frame-pointer")))
#else
#define WITH_FRAME_POINTER __attribute__((noinline))
#endif

/* Its own frame pointer is unknown at its end. */
static WITH_FRAME_POINTER void waits_for_more(void)
{
    char byte;

    assert_int_equal(read(nothing_comes[0], &byte, 1), 0);
    __asm__ volatile("");
}

static WITH_FRAME_POINTER void calls_what_waits(void)
{
    waits_for_more();
    __asm__ volatile("");
}

static void *block(void *none)
{
    blocked_tid = (uint32_t)syscall(SYS_gettid);
    calls_what_waits();
    return none;
}

/* As the kernel tells it: number, arguments, stack pointer, program counter. */
static bool is_in_read(uint64_t *sp, uint64_t *pc)
{
    char path[64], line[256] = "";
    unsigned long long at_sp, at_pc;

    snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", blocked_tid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bool said = fgets(line, sizeof(line), file);
    fclose(file);
    if (!said || sscanf(line, "0 %*s %*s %*s %*s %*s %*s %llx %llx", &at_sp, &at_pc) != 2)
        return false;
    *sp = at_sp;
    *pc = at_pc;
    return true;
}

static void append_copy(uint64_t sp, uint64_t pc)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}, .number = 1}};
    const uint32_t bytes = 512; /* of the stack of a thread that stays where it is */

    append(&record);
    record = (union gv_record){
        .stack_copy = {.head = {.kind = GV_RECORD_STACK_COPY, .flags = GV_RECORD_MORE},
                       .number = 1}};
    fixture_objects(&spool);
    fixture_copy(&spool, pc, sp, bytes, &record.stack_copy.copy, &record.stack_copy.serial);
    append(&record);
    record = look(50000, 30000);
    record.idle_sample.stack = 1;
    append(&record);
}

static void a_copied_stack_names_the_function_that_waits(void **state)
{
    pthread_t thread;
    uint64_t sp, pc;

#ifdef __SANITIZE_ADDRESS__ /* its read() needs a frame pointer that is not on the stack */
    skip();
#endif
    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 2, true);
    assert_int_equal(pipe(nothing_comes), 0);
    assert_int_equal(pthread_create(&thread, NULL, block, NULL), 0);
    while (!blocked_tid || !is_in_read(&sp, &pc))
        usleep(1000);
    append_copy(sp, pc);
    drain_all();
    close(nothing_comes[1]);
    pthread_join(thread, NULL);
    close(nothing_comes[0]);
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN frame f ON f.stack = s.stack"
                            " WHERE f.kind = 'native' AND f.function = 'waits_for_more'"
                            " AND f.file LIKE '%test_ingest_idle.c' AND f.line > 0"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN frame f ON f.stack = s.stack"
                            " JOIN frame g ON g.stack = s.stack WHERE g.depth = f.depth + 1"
                            " AND f.function = 'waits_for_more'"
                            " AND g.function = 'calls_what_waits'"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM object WHERE path LIKE '%test_report_ingest_idle'"
                            " AND length(build_id) = 40"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM losses"), 0);
}

/* ---- the native frames of a running thread ---- */

static volatile uint64_t sum;

static __attribute__((noinline)) void computes(void)
{
    for (;;)
        sum = sum * 3 + 1;
}

static pid_t child_that(void (*does)(void))
{
#ifdef __SANITIZE_ADDRESS__ /* so slow that a stack within 5 ms is a matter of luck */
    skip();
#endif
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves none that holds its output */
        does();
        _exit(1);
    }
    usleep(20000);
    return child;
}

/* A look, just now, at the only thread of a child, which asks for its stack. */
static void look_at_child(pid_t child, uint32_t python_stack)
{
    union gv_record sample = look(50000, 0);
    struct timespec now;

    fixture_spool_close(&spool);
    fixture_spool_open(&fixture, &spool, 3, true);
    fixture_objects(&spool); /* a forked child has the same */
    spool.writer.header->pid = (uint32_t)child;
    assert_int_equal(
        gv_session_read_start_ticks((uint32_t)child, &spool.writer.header->process_start_ticks), 0);
    if (python_stack) {
        union gv_record stack = {
            .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE},
                      .number = python_stack}};
        union gv_record frames = {
            .python_frames = {
                .head = {.kind = GV_RECORD_PYTHON_FRAMES, .flags = GV_RECORD_MORE, .api = 1},
                .position = {{.code = 3}}}};
        fixture_python_code(&spool, LOOKER, 3, "data.py", "load", 12);
        append(&stack);
        append(&frames);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    /* In a minute: on a busy machine, a look soon is too old for a stack. */
    sample.idle_sample.at_ns = (uint64_t)(now.tv_sec + 60) * 1000000000 + (uint64_t)now.tv_nsec;
    sample.idle_sample.tid = (uint32_t)child;
    sample.idle_sample.state = 'R';
    sample.idle_sample.stack = python_stack;
    sample.idle_sample.signs = GV_IDLE_WANTS_STACK;
    append(&sample);
    drain_all();
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, __WALL);
}

/* A thread that gets no processor for 5 ms does not stop in time, and its look has no stack. */
#define LOOKS 100

static void a_running_thread_is_asked_where_it_is(void **state)
{
    pid_t child = child_that(computes);
    int status;

    look_at_child(child, 6);
    for (int i = 1; i < LOOKS && number("SELECT count(*) FROM idle_sample s JOIN frame f"
                                        " ON f.stack = s.stack WHERE f.kind = 'native'") == 0;
         i++) {
        teardown(state);
        setup(state);
        while (gv_running_stack_let_go())
            usleep(1000);
        look_at_child(child, 6);
    }
    /* It runs on, and is nobody's. */
    assert_int_equal(waitpid(child, &status, WNOHANG | WUNTRACED), 0);
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    end_child(child);
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN frame f ON f.stack = s.stack"
                            " WHERE f.depth = 0 AND f.kind = 'native' AND f.function = 'computes'"
                            " AND f.line > 0"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM idle_sample s JOIN frame f ON f.stack = s.stack"
                            " WHERE f.depth >= 1000 AND f.kind = 'python' AND f.function = 'load'"
                            " AND f.line = 12"),
                     1);
    assert_int_equal(number("SELECT count(*) FROM losses"), 0);
}

static void sleeps(void)
{
    const struct timespec long_time = {.tv_sec = 100};

    _exit(nanosleep(&long_time, NULL) == 0 ? 0 : 2);
}

static void a_thread_in_a_system_call_is_left_alone(void **state)
{
    pid_t child = child_that(sleeps);

    look_at_child(child, 0);
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    end_child(child);
    assert_int_equal(number("SELECT count(*) FROM idle_sample WHERE stack IS NULL"), 1);
    assert_int_equal(number("SELECT count(*) FROM losses"), 0);
}

static void a_debugger_keeps_its_thread(void **state)
{
    pid_t child = child_that(computes);

    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    look_at_child(child, 0);
    end_child(child);
    assert_int_equal(number("SELECT count(*) FROM idle_sample WHERE stack IS NULL"), 1);
    assert_int_equal(number("SELECT count FROM not_taken WHERE what = 'native stack'"
                            " AND reason = 'has a debugger'"),
                     1);
}

#endif

/* Whatever a damaged spool says, there is a row, and no frame. */
static void a_copy_of_nonsense_has_no_frames(void **state)
{
    union gv_record stack = {
        .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}, .number = 4}};
    union gv_record copy = {
        .stack_copy = {.head = {.kind = GV_RECORD_STACK_COPY}, .number = 4, .copy = UINT32_MAX}};

    append(&stack);
    append(&copy);
    copy.stack_copy.number = 5; /* of no stack */
    copy.stack_copy.copy = GV_STACK_WORDS * GV_STACK_WORD_CHUNKS;
    copy.stack_copy.serial = 0;
    append(&copy);
    recover();
    assert_int_equal(number("SELECT count(*) FROM stack"), 2);
    assert_int_equal(number("SELECT count(*) FROM frame"), 0);
    assert_int_equal(number("SELECT count FROM losses WHERE what = 'stack'"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_look_becomes_a_row, setup, teardown),
        cmocka_unit_test_setup_teardown(looks_at_an_idle_process_are_stored_together, setup_alive,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_a_first_look_cannot_say_is_null, setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_belongs_to_the_thread_that_had_its_number_then,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_may_have_its_first_row_after_a_look, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_copy_of_nonsense_has_no_frames, setup, teardown),
#if defined(GV_HAS_ELFUTILS) && defined(__x86_64__)
        cmocka_unit_test_setup_teardown(a_copied_stack_names_the_function_that_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_running_thread_is_asked_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thread_in_a_system_call_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_debugger_keeps_its_thread, setup, teardown),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
