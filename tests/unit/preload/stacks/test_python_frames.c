/* A thread's frames: read again in one system call, or directly; and the memory that is read. */
#include "preload/stacks/python_code.h"
#include "tests/unit/preload/stacks/python_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cmocka.h>

#define TID        7
#define PAGE_BYTES 4096u

static unsigned system_calls;

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

long __wrap_syscall(long number, ...)
{
    long words[6];
    va_list list;

    system_calls++;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* Nothing is written here. */
bool gv_thread_next_segment(struct gv_thread *thread, enum gv_spool_room room)
{
    (void)thread;
    (void)room;
    return false;
}

bool gv_thread_write_text(struct gv_thread *thread, const char *text, uint32_t bytes, bool more)
{
    (void)thread;
    (void)text;
    (void)bytes;
    (void)more;
    return false;
}

/* The keys of the stack's code, mixed, and how many system calls that took. */
static uint64_t take(uint16_t minor, unsigned *calls)
{
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    struct gv_python python = python_of(minor);
    uint64_t sum = 0, key;
    unsigned count;

    system_calls = 0;
    python.memory = gv_python_memory_take(0, TID, GV_PYTHON_WHOLE_STACK);
    assert_non_null(python.memory);
    assert_true(
        gv_python_frames(&python, (uintptr_t)&state, frames, GV_PYTHON_FRAMES_MOST, &count));
    assert_int_equal(count, FRAMES);
    gv_python_frames_bring(&python, frames, count);
    for (unsigned i = 0; i < count; i++) {
        assert_true(gv_python_code_key(&python, frames[i].code, &key));
        sum = sum * 31 + key;
    }
    gv_python_memory_give_back(python.memory);
    *calls = system_calls;
    return sum;
}

static void a_known_stack_takes_one_system_call(void **unused)
{
    (void)unused;
    set_places();
    for (uint16_t minor = 9; minor <= 12; minor = (uint16_t)(minor + 3)) {
        unsigned calls;
        uint64_t keys = take(minor, &calls);

        assert_true(keys == take(minor, &calls)); /* what is not needed any more is dropped here */
        assert_true(keys == take(minor, &calls));
        assert_int_equal(calls, 1);
    }
}

static bool take_directly(const struct gv_python *python, unsigned *count)
{
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    bool taken;

    system_calls = 0;
    taken = gv_python_frames(python, (uintptr_t)&state, frames, GV_PYTHON_FRAMES_MOST, count);
    assert_int_equal(system_calls, 0);
    return taken;
}

/* Nothing is loaded from there. */
static void pointers_that_no_object_can_have_are_refused(void **unused)
{
    const uintptr_t odd[] = {1,
                             8,
                             65528,
                             (uintptr_t)&places[1].frame + 4,
                             UINT64_C(0x8000000000000000),
                             GV_PYTHON_MEMORY_HIGH,
                             UINTPTR_MAX - 7};
    struct gv_python python = python_of(12);
    unsigned count;
    uint64_t key;

    (void)unused;
    set_places();
    assert_true(take_directly(&python, &count));
    assert_int_equal(count, FRAMES);
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        places[3].frame.previous = (void *)odd[i];
        assert_false(take_directly(&python, &count));
        assert_false(gv_python_code_key(&python, odd[i], &key));
        places[3].code.filename = places[3].code.lines = (void *)odd[i];
        assert_false(gv_python_code_looks_right(&python, (uintptr_t)&places[3].code));
        set_places();
    }
    assert_true(gv_python_code_looks_right(&python, (uintptr_t)&places[3].code));
}

/* From 3.14 on, without the GIL: a code object has a list of its instructions' copies. */
static void instructions_of_a_thread(void **unused)
{
    struct {
        struct code code;
        void *copies;
        char own[64];
    } code = {.code = {.type = code_type}};
    struct {
        struct frame frame;
        int32_t copy;
    } frame = {.frame = {.code = &code.code}};
    char copy[64];
    struct {
        int64_t count;
        char *copy[2];
    } list = {2, {code.own, copy}};
    struct gv_python python = python_of(14);
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    unsigned count;

    (void)unused;
    code.copies = &list;
    python.layout.code_bytes = sizeof code.code + sizeof code.copies;
    python.layout.thread_codes = sizeof code.code;
    python.layout.thread_code = sizeof frame.frame;
    state.frame = &frame.frame;
    for (int32_t i = -1; i <= 2; i++) {
        frame.copy = i;
        frame.frame.instruction = (uintptr_t)((i == 1 ? copy : code.own) + 6);
        assert_int_equal(
            gv_python_frames(&python, (uintptr_t)&state, frames, GV_PYTHON_FRAMES_MOST, &count),
            i == 0 || i == 1);
        if (i == 0 || i == 1)
            assert_int_equal(frames[0].instruction, 6);
    }
}

static void what_is_gone_is_not_read(void **unused)
{
    char *pages =
        mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct gv_python_memory *memory;
    uint64_t word;

    (void)unused;
    assert_true(pages != MAP_FAILED);
    for (int times = 0; times < 3; times++) {
        memory = gv_python_memory_take(0, TID + 1, GV_PYTHON_TOP_FRAME);
        for (unsigned at = 0; at < 2 * PAGE_BYTES; at += 1024) {
            bool is_there = times < 2 || at < PAGE_BYTES;

            memcpy(pages + (is_there ? at : 0), &(uint64_t){at + (unsigned)times}, sizeof word);
            assert_int_equal(
                gv_python_memory_read(memory, &word, (uintptr_t)pages + at, sizeof word), is_there);
        }
        gv_python_memory_give_back(memory);
        if (times == 1)
            assert_int_equal(munmap(pages + PAGE_BYTES, PAGE_BYTES), 0);
    }
    *(uint64_t *)(void *)pages = 4711;
    memory = gv_python_memory_take(0, TID + 1, GV_PYTHON_TOP_FRAME);
    assert_true(gv_python_memory_read(memory, &word, (uintptr_t)pages, sizeof word));
    assert_int_equal(word, 4711);
    assert_false(gv_python_memory_read(memory, &word, 8, sizeof word));
    gv_python_memory_give_back(memory);
    munmap(pages, PAGE_BYTES);
}

static void more_than_there_is_room_for(void **unused)
{
    enum { WORDS = 1 << 16 };
    uint32_t *words = malloc(WORDS * sizeof *words), word;

    (void)unused;
    assert_non_null(words);
    for (uint32_t times = 0; times < 2; times++) {
        struct gv_python_memory *memory = gv_python_memory_take(0, TID + 2, GV_PYTHON_TOP_FRAME);

        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = i + times;
        for (uint32_t i = 0; i < WORDS; i += 9) {
            assert_true(gv_python_memory_read(memory, &word, (uintptr_t)&words[i], sizeof word));
            assert_int_equal(word, i + times);
        }
        gv_python_memory_give_back(memory);
    }
    free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_stack_takes_one_system_call),
        cmocka_unit_test(pointers_that_no_object_can_have_are_refused),
        cmocka_unit_test(instructions_of_a_thread),
        cmocka_unit_test(what_is_gone_is_not_read),
        cmocka_unit_test(more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
