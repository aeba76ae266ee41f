/* Frames that were named before are remembered, read in one system call, and told from others that
 * took their place. */
#include "preload/stacks/python_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cmocka.h>

#define TID        7
#define PAGE_BYTES 4096u
#define FRAMES     40

/* ---- an interpreter's memory, as CPython 3.12 lays it out, but for 3.9's frames ---- */

struct text {
    void *references, *type;
    int64_t length, hash;
    uint32_t state;
    char padding[12];
    char characters[32];
};

struct bytes {
    void *references, *type;
    int64_t length, hash;
    unsigned char data[8];
};

struct code {
    void *references, *type;
    char before_line[24];
    int32_t first_line;
    char before_number[20];
    uint32_t number; /* GV_PYTHON_NUMBER_AT after the line */
    void *filename, *name, *lines;
};

struct frame {
    void *references, *previous;
    struct code *code;
    uint64_t instruction;
};

static char code_type[8], text_type[8];
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

static struct {
    void *before[3];
    struct frame *frame;
} state;

static void *thread_state(void)
{
    return &state;
}

static struct gv_python python_of(uint16_t minor)
{
    return (struct gv_python){.layout = {.minor = minor,
                                         .frame = offsetof(__typeof__(state), frame),
                                         .cframe_frame = GV_PYTHON_NONE,
                                         .previous = offsetof(struct frame, previous),
                                         .code = offsetof(struct frame, code),
                                         .instruction = offsetof(struct frame, instruction),
                                         .owner = GV_PYTHON_NONE,
                                         .first_line = offsetof(struct code, first_line),
                                         .filename = offsetof(struct code, filename),
                                         .name = offsetof(struct code, name),
                                         .qualname = GV_PYTHON_NONE,
                                         .line_table = offsetof(struct code, lines),
                                         .code_bytes = GV_PYTHON_NONE,
                                         .ascii_bytes = offsetof(struct text, characters)},
                              .code_type = (uintptr_t)code_type,
                              .text_type = (uintptr_t)text_type,
                              .thread_state = thread_state,
                              .low = 0,
                              .high = 0,
                              .trusted = true};
}

static void set_text(struct text *text, const char *characters)
{
    memset(text, 0, sizeof *text);
    text->type = text_type;
    text->length = (int64_t)strlen(characters);
    text->hash = -1;
    text->state = 1u << 2 | 1u << 5 | 1u << 6;
    strcpy(text->characters, characters);
}

static struct {
    struct frame frame;
    struct code code;
    struct text file, name;
    struct bytes lines;
} places[FRAMES];

/* 3.9's table: pairs of steps, in bytes and lines. */
static void set_places(void)
{
    for (int i = 0; i < FRAMES; i++) {
        char name[32];

        snprintf(name, sizeof name, "function_%d", i);
        set_text(&places[i].file, "/no/such/file.py");
        set_text(&places[i].name, name);
        places[i].lines = (struct bytes){.length = 2, .data = {0, 3}};
        places[i].code = (struct code){.type = code_type,
                                       .first_line = 10,
                                       .number = (uint32_t)i + 100,
                                       .filename = &places[i].file,
                                       .name = &places[i].name,
                                       .lines = &places[i].lines};
        places[i].frame = (struct frame){.code = &places[i].code,
                                         .instruction = 4,
                                         .previous = i + 1 < FRAMES ? &places[i + 1].frame : NULL};
    }
    state.frame = &places[0].frame;
}

/* The stack's hash, and how many system calls that took. */
static uint64_t take(uint16_t minor, unsigned *calls)
{
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    struct gv_python python = python_of(minor);
    uint64_t sum = 0, hash;
    unsigned count;

    system_calls = 0;
    python.memory = gv_python_memory_take(0, TID, GV_PYTHON_WHOLE_STACK);
    assert_non_null(python.memory);
    assert_true(gv_python_frames(&python, frames, GV_PYTHON_FRAMES_MOST, &count));
    assert_int_equal(count, FRAMES);
    gv_python_frames_bring(&python, frames, count, false);
    for (unsigned i = 0; i < count; i++) {
        assert_true(gv_python_frame_hash(&python, &frames[i], &hash));
        assert_true(hash != 0);
        sum = sum * 31 + hash;
    }
    gv_python_memory_give_back(python.memory);
    *calls = system_calls;
    return sum;
}

static uint64_t hash_of(uint16_t minor)
{
    unsigned calls;

    return take(minor, &calls);
}

static void a_known_stack_takes_one_system_call(void **unused)
{
    (void)unused;
    set_places();
    for (uint16_t minor = 9; minor <= 12; minor = (uint16_t)(minor + 3)) {
        uint64_t hash = hash_of(minor);
        unsigned calls;

        assert_true(hash == hash_of(minor)); /* what is not needed any more is dropped here */
        assert_true(hash == take(minor, &calls));
        assert_int_equal(calls, 1);
    }
}

static void other_code_at_the_same_address_is_noticed(void **unused)
{
    uint64_t hash;

    (void)unused;
    set_places();
    hash = hash_of(9);
    set_text(&places[3].name, "another_");
    assert_true(hash != hash_of(9));
    set_places();
    assert_true(hash == hash_of(9));
    places[3].file.characters[9] = 'm';
    assert_true(hash != hash_of(9));
    set_places();
    places[3].lines.data[1] = 4;
    assert_true(hash != hash_of(9));
    set_places();
    places[3].code.first_line++;
    assert_true(hash != hash_of(9));
    set_places();
    places[3].frame.instruction = 0; /* the same line */
    assert_true(hash == hash_of(9));
}

static void numbered_code_is_known_by_its_number(void **unused)
{
    unsigned unread = 0;
    uint64_t hash;

    (void)unused;
    set_places();
    hash = hash_of(12);
    /* Names are not even read, unless another frame is remembered in this one's place: one of 100.
     */
    for (int i = 5; i >= 3; i--) {
        set_places();
        set_text(&places[i].name, "another_");
        unread += hash == hash_of(12);
    }
    assert_true(unread > 0);
    places[3].code.number = 99;
    assert_true(hash != hash_of(12));
    set_places();
    places[3].code.number = 0; /* the numbers ran out */
    assert_true(hash == hash_of(12));
    set_text(&places[3].name, "another_");
    assert_true(hash != hash_of(12));
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
        cmocka_unit_test(other_code_at_the_same_address_is_noticed),
        cmocka_unit_test(numbered_code_is_known_by_its_number),
        cmocka_unit_test(what_is_gone_is_not_read),
        cmocka_unit_test(more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
