/* A thread's own frames: through the Linux kernel until that and loading them directly agree. This
 * program is the interpreter, as CPython 3.12 lays it out. Each test is a process of its own. */
#include "preload/stacks/python_take.h"
#include "preload/stacks/stack_objects.h"
#include "tests/unit/preload/recording.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define SHOWN  __attribute__((visibility("default")))
#define FRAMES 5

static void do_nothing(struct gv_thread *thread)
{
    (void)thread;
}

static bool attach(void)
{
    return true;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = do_nothing, .write_open_ranges = do_nothing};

static uint32_t generation = 1;

uint32_t gv_stack_objects_generation(void)
{
    return generation;
}

/* ---- the interpreter ---- */

struct type {
    char before[168];
    uint64_t flags;
};

extern struct type PyCode_Type, PyUnicode_Type, PyBytes_Type;
extern char _PyRuntime[64];
SHOWN struct type PyCode_Type, PyUnicode_Type, PyBytes_Type;
SHOWN char _PyRuntime[64];
const char *Py_GetVersion(void);
void *PyGILState_GetThisThreadState(void);

struct frame {
    void *code;
    struct frame *previous;
    char unused[40];
    uintptr_t instruction;
    char after[6];
    uint8_t owner;
};
_Static_assert(offsetof(struct frame, instruction) == 56 && offsetof(struct frame, owner) == 70,
               "frame");

struct code {
    void *references, *type;
    int64_t units;
    char before_line[44];
    int32_t first_line;
    char before_number[20];
    uint32_t number;
    char before_filename[16];
    void *filename, *name, *qualname, *lines;
    char before_instructions[48];
    uint16_t instructions[4];
};
_Static_assert(offsetof(struct code, first_line) == 68 && offsetof(struct code, filename) == 112 &&
                   offsetof(struct code, lines) == 136 &&
                   offsetof(struct code, instructions) == 192,
               "code");

struct text {
    void *references, *type;
    int64_t length, hash;
    uint32_t state;
    char padding[4];
    char characters[16];
};

struct bytes {
    void *references, *type;
    int64_t length, hash;
    unsigned char data[8];
};

static struct frame frames[FRAMES];
static struct code codes[FRAMES];
static struct text name = {.type = &PyUnicode_Type,
                           .length = 4,
                           .hash = -1,
                           .state = 1u << 2 | 1u << 5 | 1u << 6,
                           .characters = "name"};
static struct bytes lines = {.type = &PyBytes_Type, .length = 2, .data = {0x80 | 15 << 3, 0}};
static struct frame *current = frames;
static struct {
    char before[56];
    struct frame **current;
} state = {.current = &current};
static const char *version = "3.12.1 (main, ...)";
static bool has_state = true;

SHOWN const char *Py_GetVersion(void)
{
    return version;
}

SHOWN void *PyGILState_GetThisThreadState(void)
{
    return has_state ? &state : NULL;
}

static void set_frames(void)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        codes[i] = (struct code){.type = &PyCode_Type,
                                 .units = 4,
                                 .first_line = 7,
                                 .number = i + 1,
                                 .filename = &name,
                                 .name = &name,
                                 .qualname = &name,
                                 .lines = &lines};
        frames[i] = (struct frame){.code = &codes[i],
                                   .previous = i + 1 < FRAMES ? &frames[i + 1] : NULL,
                                   .instruction = (uintptr_t)&codes[i].instructions[1]};
    }
}

/* ---- the kernel ---- */

static unsigned system_calls;
static bool changes_after; /* a frame goes on when it was read */

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                                const struct iovec *remote, unsigned long remote_count,
                                unsigned long flags)
{
    system_calls++;
    return __real_process_vm_readv(pid, local, local_count, remote, remote_count, flags);
}

/* Its first call of a stack reads all that the last one needed. */
long __wrap_syscall(long number, ...)
{
    long words[6], result;
    va_list list;

    system_calls += number != SYS_rt_sigprocmask; /* asks whether a page can be read */
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    result = __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (changes_after && number != SYS_rt_sigprocmask)
        frames[1].instruction = (uintptr_t)&codes[1].instructions[2];
    return result;
}

/* ---- the tests ---- */

struct seen {
    struct gv_python_position position[GV_STACK_POSITIONS];
    unsigned count, calls;
    uint64_t low, high, top;
    bool taken;
};

static struct seen take(void)
{
    struct seen seen;

    system_calls = 0;
    seen.taken = gv_python_take(&gv_thread, seen.position, &seen.count, &seen.low, &seen.high);
    seen.calls = system_calls;
    return seen;
}

static void expect_all(const struct seen *seen)
{
    assert_true(seen->taken);
    assert_int_equal(seen->count, FRAMES);
    assert_true((uintptr_t)&PyCode_Type >= seen->low && (uintptr_t)&PyCode_Type < seen->high);
    for (unsigned i = 0; i < FRAMES; i++) {
        assert_int_equal(seen->position[i].code, i + 1);
        assert_int_equal(seen->position[i].instruction, 2);
        assert_int_equal(seen->position[i].left_out, 0);
    }
}

static void become_direct(void)
{
    for (unsigned i = 0; i <= GV_PYTHON_MUST_AGREE; i++) { /* the first is the self-test */
        struct seen seen = take();

        assert_int_not_equal(seen.calls, 0);
        expect_all(&seen);
    }
}

static void *take_in_thread(void *seen)
{
    assert_true(gv_thread_join(&gv_thread));
    *(struct seen *)seen = take();
    return NULL;
}

static void frames_are_loaded_when_both_ways_agree(void **unused)
{
    struct seen seen;
    pthread_t thread;
    uint64_t top;

    (void)unused;
    become_direct();
    seen = take();
    assert_int_equal(seen.calls, 0);
    expect_all(&seen);
    assert_true(gv_python_top(&gv_thread, &top));
    assert_true(top == gv_python_top_of(&seen.position[0]));
    /* Another thread's may be freed meanwhile. */
    assert_int_equal(pthread_create(&thread, NULL, take_in_thread, &seen), 0);
    pthread_join(thread, NULL);
    expect_all(&seen);
    assert_int_not_equal(seen.calls, 0);
    has_state = false;
    seen = take();
    assert_true(seen.taken);
    assert_int_equal(seen.count, 0);
}

static void ways_that_disagree_leave_the_kernel_for_good(void **unused)
{
    struct seen seen;

    (void)unused;
    for (unsigned i = 0; i < 3; i++)
        take();
    changes_after = true;
    take();
    changes_after = false;
    set_frames();
    for (unsigned i = 0; i < 2 * GV_PYTHON_MUST_AGREE; i++) {
        seen = take();
        expect_all(&seen);
        assert_int_not_equal(seen.calls, 0);
    }
}

static void an_odd_pointer_is_the_last_that_is_loaded(void **unused)
{
    static char odd[sizeof(struct frame) + 16];
    struct seen seen;

    (void)unused;
    become_direct();
    assert_int_equal(take().calls, 0);
    memcpy(odd + 1, &frames[3], sizeof frames[3]);
    frames[2].previous = (struct frame *)(void *)(odd + 1);
    for (unsigned i = 0; i < 2 * GV_PYTHON_MUST_AGREE; i++) {
        seen = take();
        expect_all(&seen); /* the kernel takes any */
        assert_int_not_equal(seen.calls, 0);
        set_frames();
    }
}

static void an_unknown_version_has_frames_that_cannot_be_read(void **unused)
{
    struct seen seen;

    (void)unused;
    version = "3.99.0";
    seen = take();
    assert_false(seen.taken);
    has_state = false;
    seen = take();
    assert_true(seen.taken);
    assert_int_equal(seen.count, 0);
}

static void an_interpreter_is_looked_for_when_objects_come(void **unused)
{
    struct seen seen;

    (void)unused;
    PyCode_Type.flags = 0; /* another thread loads it */
    seen = take();
    assert_true(seen.taken);
    assert_int_equal(seen.count, 0);
    PyCode_Type.flags = 1u << 12;
    seen = take();
    expect_all(&seen);
}

static void a_forked_child_writes_anew(void **unused)
{
    struct seen seen;

    (void)unused;
    become_direct();
    codes[0].number = 99;
    seen = take();
    assert_int_equal(seen.position[0].code, FRAMES + 1);
    gv_python_start_over();
    seen = take();
    assert_int_equal(seen.calls, 0);
    expect_all(&seen);
}

static int prepare(void **unused)
{
    PyCode_Type.flags = 1u << 12;
    set_frames();
    return open_recording(unused) || !gv_thread_join(&gv_thread);
}

/* A process is for one test. */
int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, close_recording)
    const struct CMUnitTest tests[] = {
        TEST(frames_are_loaded_when_both_ways_agree),
        TEST(ways_that_disagree_leave_the_kernel_for_good),
        TEST(an_odd_pointer_is_the_last_that_is_loaded),
        TEST(an_unknown_version_has_frames_that_cannot_be_read),
        TEST(an_interpreter_is_looked_for_when_objects_come),
        TEST(a_forked_child_writes_anew),
    };
    int failed = 0;

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const struct CMUnitTest one[] = {tests[i]};
        pid_t child = fork();
        int status = 1;

        if (child == 0)
            _exit(cmocka_run_group_tests(one, NULL, NULL));
        failed += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}
