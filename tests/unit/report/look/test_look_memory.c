/* What is read of a process's memory, when that may hold anything. The process is this one. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/running_stack.h"
#include "report/look/python.h"
#include "report/look/symbols.h"
#include "trace/futex.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PID ((uint32_t)getpid())

static void symbols_of_the_c_library(void **state)
{
    struct gv_outside_objects objects = {NULL, 0, 0};
    uint64_t at = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getppid");
    struct gv_symbols symbols;

    assert_int_equal(gv_outside_objects(PID, &objects), 0);
    const struct gv_outside_object *object = gv_outside_object_at(&objects, at);
    assert_non_null(object);
    assert_non_null(strstr(object->path, "libc"));
    assert_true(object->build_id_bytes > 0);
    assert_null(gv_outside_object_at(&objects, 1));
    assert_int_equal(gv_symbols_read(PID, object, &symbols), 0);
    assert_int_equal(gv_symbols_address(&symbols, "getppid"), at);
    assert_string_equal(gv_symbols_function(&symbols, at + 1), "getppid");
    assert_int_equal(gv_symbols_address(&symbols, "no_such_function"), 0);
    gv_symbols_free(&symbols);
    gv_outside_objects_free(&objects);
}

static void reading_ends_where_memory_does(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static struct gv_running_stack taken;
    static char to[3 * 65536];

    assert_true(pages != MAP_FAILED && page <= 65536);
    munmap(pages + 2 * page, page);
    taken.stack.sp = (uintptr_t)pages + page + 5;
    assert_int_equal(gv_running_stack_copy(PID, &taken), 0);
    assert_int_equal(taken.stack.size, page - 5);
    taken.stack.sp = (uintptr_t)pages + 2 * page;
    assert_true(gv_running_stack_copy(PID, &taken) < 0);
    assert_false(gv_outside_read(PID, to, (uintptr_t)pages, 3 * page));
    assert_true(gv_outside_read(PID, to, (uintptr_t)pages, 2 * page));
    munmap(pages, 2 * page);
}

/* ---- an interpreter that is none ---- */

#define WORDS 4096u
static uint64_t arena[WORDS];
static struct gv_look_python python;
static struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES];

static uint64_t address(size_t word)
{
    return (uint64_t)(uintptr_t)&arena[word];
}

static bool read_own(void *unused, void *to, uintptr_t from, size_t bytes)
{
    return gv_outside_read(PID, to, from, bytes);
}

static void forge(long minor)
{
    memset(arena, 0, sizeof(arena));
    memset(&python, 0, sizeof(python));
    assert_true(gv_python_layout_find(minor, 0, read_own, NULL, &python.layout));
    python.pid = PID;
    python.low = 1;
    python.runtime = address(0);
    python.code_type = address(1000);
    python.text_type = address(1001);
    python.bytes_type = address(1002);
}

/* An ASCII text. */
static uint64_t put_text(size_t word, int64_t length, const char *text)
{
    arena[word + 1] = python.text_type;
    arena[word + 2] = (uint64_t)length;
    arena[word + 4] = 1u << 5 | 1u << 6 | 1u << 2;
    strcpy((char *)&arena[word] + python.layout.ascii_bytes, text);
    return address(word);
}

static void put_frames(int64_t length)
{
    const struct gv_python_layout *layout = &python.layout;
    char *state = (char *)&arena[2000], *frame = (char *)&arena[2200], *code = (char *)&arena[2400];

    python.threads = 1;
    python.thread[0].tid = 7;
    python.thread[0].state = (uintptr_t)state;
#define PUT(at, value) memcpy(at, &(uint64_t){value}, sizeof(uint64_t))
    PUT(state + layout->frame, (uintptr_t)frame);
    PUT(frame + layout->code, (uintptr_t)code);
    PUT(frame + layout->previous, 0);
    PUT(code + layout->type, python.code_type);
    PUT(code + layout->filename, put_text(2600, length, "a.py"));
    PUT(code + layout->name, put_text(2700, 1, "f"));
    if (layout->qualname != GV_PYTHON_NONE)
        PUT(code + layout->qualname, put_text(2700, 1, "f"));
    PUT(code + layout->line_table, address(2800));
    memcpy(code + layout->first_line, &(int32_t){41}, sizeof(int32_t));
}

/* The frame of the call from C that called it. */
static void put_outermost(void)
{
    PUT((char *)&arena[2200] + python.layout.previous, address(2300));
    *((char *)&arena[2300] + python.layout.owner) = 3; /* CPython's number for it */
}

static void put_frames_of_3_12(void)
{
    forge(12);
    put_frames(4);
    put_outermost();
    /* The state has a pointer to what has the frame. */
    arena[2100] = address(2200);
    PUT((char *)&arena[2000] + python.layout.frame, address(2100));
}

static void a_frame(void **state)
{
    put_frames_of_3_12();
    assert_int_equal(gv_look_python_frames(&python, 7, frames), 1);
    assert_string_equal(frames[0].file, "a.py");
    assert_string_equal(frames[0].function, "f");
    assert_int_equal(frames[0].line, 41);
    assert_int_equal(gv_look_python_frames(&python, 8, frames), 0);
    /* It was left while it was read: it is not what the thread began with. */
    PUT((char *)&arena[2200] + python.layout.previous, 0);
    assert_int_equal(gv_look_python_frames(&python, 7, frames), 0);
}

/* Its state is before that of the thread that made it, whose number it has until it begins. */
static void a_thread_that_has_not_begun(void **state)
{
    for (long minor = 10; minor <= 12; minor += 2) {
        if (minor == 10)
            forge(10), put_frames(4);
        else
            put_frames_of_3_12();
        python.thread[1] = python.thread[0];
        python.thread[0].state = address(3000); /* without frames */
        python.threads = 2;
        assert_int_equal(gv_look_python_frames(&python, 7, frames), minor < 12);
    }
}

static void what_was_copied_while_it_was_stopped(void **state)
{
    put_frames_of_3_12();
    gv_look_python_copy(&python, 7);
    /* It goes on: the next function is called where that frame was. */
    memset(&arena[2200], 0, 400);
    assert_int_equal(gv_look_python_frames(&python, 7, frames), 1);
    assert_string_equal(frames[0].function, "f");
    assert_int_equal(gv_look_python_frames(&python, 7, frames), 0);
}

static void lies_are_not_followed(void **state)
{
    static const int64_t lengths[] = {-1, INT64_MAX, 1 << 20, (1 << 20) + 1, 1 << 30};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        forge(10);
        put_frames(lengths[i]);
        assert_true(gv_look_python_frames(&python, 7, frames) <= 1);
    }
    forge(10);
    put_frames(4);
    /* For ever the same frame. */
    memcpy((char *)&arena[2200] + python.layout.previous, &(uint64_t){address(2200)}, 8);
    assert_int_equal(gv_look_python_frames(&python, 7, frames), GV_LOOK_PYTHON_FRAMES);
    /* Interpreters and threads that go round. */
    for (size_t i = 0; i < WORDS; i++)
        arena[i] = address(0);
    gv_look_python_threads(&python, (const uint32_t[]){7}, 1);
    assert_true(python.threads <= GV_LOOK_PYTHON_THREADS);
}

static void anything_in_memory(void **state)
{
    uint64_t end_ns = gv_monotonic_ns() + 2000000000u;
    unsigned seed = 1;

    for (long minor = 9; gv_monotonic_ns() < end_ns; minor = minor == 12 ? 9 : minor + 1) {
        forge(minor);
        put_frames(4);
        for (size_t i = 0; i < WORDS; i++)
            if (rand_r(&seed) % 8 == 0)
                arena[i] = rand_r(&seed) % 4 ? address((size_t)rand_r(&seed) % WORDS)
                                             : (uint64_t)rand_r(&seed) << (rand_r(&seed) % 34);
        assert_true(gv_look_python_frames(&python, 7, frames) <= GV_LOOK_PYTHON_FRAMES);
        gv_look_python_copy(&python, 7);
        assert_true(gv_look_python_frames(&python, 7, frames) <= GV_LOOK_PYTHON_FRAMES);
        gv_look_python_threads(&python, (const uint32_t[]){7, 8}, 2);
        for (size_t i = 0; i < python.threads && i < 8; i++)
            gv_look_python_frames(&python, python.thread[i].tid, frames);
    }
}

/* An object whose dynamic section says anything. */
static void any_symbols(void **state)
{
    uint64_t end_ns = gv_monotonic_ns() + 1000000000u;
    unsigned seed = 2;

    while (gv_monotonic_ns() < end_ns) {
        struct gv_outside_object object = {
            .base = address(0), .dynamic = address(0), .dynamic_bytes = 4096};
        struct gv_symbols symbols;
        for (size_t i = 0; i < WORDS; i++)
            arena[i] = rand_r(&seed) % 3 ? (uint64_t)rand_r(&seed) % 16
                                         : address((size_t)rand_r(&seed) % WORDS);
        arena[0] = DT_SYMTAB, arena[2] = DT_STRTAB, arena[4] = DT_STRSZ;
        arena[5] = (uint64_t)rand_r(&seed) % 100;
        arena[6] = rand_r(&seed) % 2 ? DT_HASH : DT_GNU_HASH;
        if (gv_symbols_read(PID, &object, &symbols) == 0) {
            gv_symbols_address(&symbols, "cuInit");
            gv_symbols_function(&symbols, address(7));
        }
        gv_symbols_free(&symbols);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_of_the_c_library),
        cmocka_unit_test(reading_ends_where_memory_does),
        cmocka_unit_test(a_frame),
        cmocka_unit_test(a_thread_that_has_not_begun),
        cmocka_unit_test(what_was_copied_while_it_was_stopped),
        cmocka_unit_test(lies_are_not_followed),
        cmocka_unit_test(anything_in_memory),
        cmocka_unit_test(any_symbols),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
