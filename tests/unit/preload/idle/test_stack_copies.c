/* Copies of the stacks of blocked threads: each wait once, and not too many. */
#include "preload/idle/stack_copies.h"
#include "preload/stacks/stack_objects.h"
#include "tests/unit/preload/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
#define SECOND_NS  1000000000u

uint32_t gv_stack_objects_generation(void)
{
    return 3;
}

void gv_stack_objects_look(void)
{
}

/* What thread.c asks of rooms above it; nothing here joins. */
const struct gv_process_steps gv_process_steps;

static unsigned char stack[2 * GV_STACK_COPY_MOST];
static struct gv_thread writer;

static int begin(void **state)
{
    int error = open_recording(state);

    memset(&writer, 0, sizeof writer);
    writer.serial = GV_SPOOL_IDLE_THREAD;
    gv_stack_copies_start_over();
    return error;
}

static uint32_t copy(const void *sp, uint64_t pc, uint32_t python, uint64_t now_ns)
{
    struct gv_thread_state state = {.state = 'S', .sp = (uintptr_t)sp, .pc = pc};

    return gv_stack_copies_write(&writer, &state, python, now_ns);
}

/* How many records of a kind were written; *last is the last of them. */
static unsigned written(enum gv_record_kind kind, union gv_record *last)
{
    unsigned count = 0;

    for (uint32_t sequence = 0; segment_of(GV_SPOOL_IDLE_THREAD, sequence); sequence++) {
        const struct gv_spool_segment *segment = segment_of(GV_SPOOL_IDLE_THREAD, sequence);

        for (uint32_t i = 0; i < atomic_load(&segment->published); i++)
            if (segment->records[i].head.kind == kind) {
                *last = segment->records[i];
                count++;
            }
    }
    return count;
}

static const struct gv_stack_copy *copy_of(const union gv_record *record)
{
    const struct gv_stack_copy *taken =
        (const void *)(gv_process.spool.ring +
                       (size_t)(record->stack_copy.copy - 1) * GV_STACK_CHUNK_BYTES);

    assert_int_not_equal(record->stack_copy.copy, 0);
    assert_int_equal(taken->serial, record->stack_copy.serial);
    return taken;
}

static void a_wait_is_copied_once(void **unused)
{
    union gv_record record;
    uint32_t number = copy(stack, 1, 0, SECOND_NS);

    (void)unused;
    assert_int_not_equal(number, 0);
    assert_int_equal(copy(stack, 1, 0, SECOND_NS), number);
    assert_int_equal(written(GV_RECORD_STACK, &record), 1);
    assert_int_equal(record.stack.number, number);
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 1);
    assert_int_equal(record.stack_copy.number, number);
    assert_int_equal(copy_of(&record)->sp, (uintptr_t)stack);
    assert_int_equal(copy_of(&record)->pc, 1);
    assert_int_equal(copy_of(&record)->known, 0);
    assert_int_equal(copy_of(&record)->generation, 3);
    assert_int_equal(copy_of(&record)->bytes, GV_STACK_COPY_OF_OTHER);
    assert_int_not_equal(copy(stack, 2, 0, SECOND_NS), number); /* another place, */
    stack[0]++;
    assert_int_not_equal(copy(stack, 1, 0, SECOND_NS), number); /* or called from another */
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 3);
}

static void four_in_a_second(void **unused)
{
    union gv_record record;
    uint32_t number = 0;

    (void)unused;
    for (uint64_t pc = 1; pc <= 4; pc++)
        assert_int_not_equal(number = copy(stack, pc, 0, 9 * SECOND_NS), 0);
    assert_int_equal(copy(stack, 5, 0, 9 * SECOND_NS + 1), 0);
    assert_int_not_equal(copy(stack, 4, 0, 9 * SECOND_NS + 1), 0); /* a known one */
    assert_int_equal(copy(stack, 1, 3, 9 * SECOND_NS + 1), 3);
    stack[0]++; /* the same place, with other variables */
    assert_int_equal(copy(stack, 4, 0, 9 * SECOND_NS + 1), number);
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 4);
    assert_int_not_equal(copy(stack, 5, 0, 10 * SECOND_NS), 0);
}

static void python_frames_get_a_native_side_once(void **unused)
{
    union gv_record record;

    (void)unused;
    assert_int_equal(copy(stack, 1, 3, SECOND_NS), 3);
    assert_int_equal(copy(stack, 2, 3, SECOND_NS), 3);
    assert_int_equal(written(GV_RECORD_STACK, &record), 0);
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 1);
    assert_int_equal(record.stack_copy.number, 3);
}

static void what_had_no_room_is_written_later(void **unused)
{
    const struct gv_spool_owner other = {0};
    enum gv_spool_room open_to;
    union gv_record record;

    (void)unused;
    while (gv_spool_writer_take(&gv_process.spool, GV_ROOM_CODE, &open_to, &other))
        continue;
    assert_int_equal(copy(stack, 1, 0, SECOND_NS), 0);
    assert_int_equal(copy(stack, 2, 3, SECOND_NS), 3);
    gv_spool_writer_close(&gv_process.spool, true);
    open_spool("another", 1);
    assert_int_not_equal(copy(stack, 1, 0, 2 * SECOND_NS), 0);
    assert_int_equal(copy(stack, 2, 3, 2 * SECOND_NS), 3);
    assert_int_equal(written(GV_RECORD_STACK, &record), 1);
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 2);
}

static void a_copy_ends_where_the_memory_ends(void **unused)
{
    unsigned char *pages =
        mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    union gv_record record;

    (void)unused;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    assert_int_not_equal(copy(pages + PAGE_BYTES - 1000, 1, 0, SECOND_NS), 0);
    assert_int_equal(written(GV_RECORD_STACK_COPY, &record), 1);
    assert_int_equal(copy_of(&record)->bytes, 1000);
    assert_int_equal(copy(pages + PAGE_BYTES, 1, 0, SECOND_NS), 0);
    assert_int_equal(copy(NULL, 1, 0, SECOND_NS), 0); /* it runs */
    munmap(pages, 2 * PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_is_copied_once, begin, close_recording),
        cmocka_unit_test_setup_teardown(four_in_a_second, begin, close_recording),
        cmocka_unit_test_setup_teardown(python_frames_get_a_native_side_once, begin,
                                        close_recording),
        cmocka_unit_test_setup_teardown(what_had_no_room_is_written_later, begin, close_recording),
        cmocka_unit_test_setup_teardown(a_copy_ends_where_the_memory_ends, begin, close_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
