/* CUPTI calls back in a signal handler at every instruction of the same callback. */
#include "cupti/buffers.h"
#include "cupti/loaded.h"
#include "cupti/output.h"

#include "step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The spool: only counts. */
static struct gv_gpu_other other;

static unsigned lost, written;
static struct gv_own_cost_total costs[GV_OWN_COST_COUNT];

void gv_output_count_lost(void)
{
    lost++;
}

bool gv_output_write(const union gv_record *record)
{
    written += record != NULL;
    return true;
}

void gv_output_count_cost(enum gv_own_cost what, uint64_t duration_ns)
{
    (void)duration_ns;
    gv_own_cost_add(costs, what, 1);
}

static _Atomic unsigned given, noted;

static void fill_a_buffer(void)
{
    uint8_t *data;
    size_t bytes, most;

    gv_buffers_give(&data, &bytes, &most);
    *(unsigned *)(void *)data = ++given;
    gv_buffers_take(NULL, 0, data, bytes, sizeof(unsigned));
}

static void note_code(void)
{
    struct gv_record_gpu_module loaded = {.module = ++noted};

    gv_loaded_note(&loaded, NULL);
}

/* A buffer that appears between every two looks would make the thread look for ever. */
#define HANDLED 1000

static void fill_another_buffer(void)
{
    if (gv_steps < HANDLED)
        fill_a_buffer();
}

static void a_handler_at_every_instruction_gets_a_buffer(void **state)
{
    unsigned full = 0;
    uint64_t sum = 0;

    (void)state;
    GV_STEP_NEEDS_X86;
    assert_int_equal(gv_buffers_prepare(&other, NULL), 0);
    gv_buffers_mark();
    assert_true(gv_step_through(fill_a_buffer, fill_another_buffer) > 100);
    gv_buffers_mark();
    assert_int_equal(gv_buffers_marked(), 0);
    for (struct gv_buffer *buffer = gv_buffers_full(), *next; buffer; buffer = next, full++) {
        next = buffer->next;
        sum += *(unsigned *)(void *)buffer->data;
        gv_buffers_recycle(buffer);
    }
    assert_int_equal(gv_buffers_unread(), 0);
    assert_int_equal(full, given);
    assert_int_equal(costs[GV_OWN_COST_BUFFERS].count, 2 * given);
    assert_int_equal(sum, (uint64_t)given * (given + 1) / 2);
}

/* More than the pool has room for, so that some are unmapped. */
#define MANY 24

static struct gv_buffer *recycle_all_but_first(void)
{
    struct gv_buffer *first = gv_buffers_full();

    for (struct gv_buffer *buffer = first ? first->next : NULL, *next; buffer; buffer = next) {
        next = buffer->next;
        gv_buffers_recycle(buffer);
    }
    return first;
}

/* What the module's thread and others may do between two instructions of a callback. */
static void read_all_and_fill_many(void)
{
    uint8_t *data[MANY];
    size_t bytes, most;
    struct gv_buffer *first;

    for (int i = 0; i < MANY; i++)
        gv_buffers_give(&data[i], &bytes, &most);
    first = recycle_all_but_first();
    for (int i = 0; i < MANY; i++)
        gv_buffers_take(NULL, 0, data[i], bytes, 0);
    gv_buffers_recycle(recycle_all_but_first());
    if (first)
        gv_buffers_recycle(first);
    gv_buffers_marked();
}

static void a_buffer_may_be_gone_before_its_callback_ends(void **state)
{
    struct gv_buffer *last;

    (void)state;
    GV_STEP_NEEDS_X86;
    assert_true(gv_step_through(fill_a_buffer, read_all_and_fill_many) > 100);
    last = recycle_all_but_first();
    if (last)
        gv_buffers_recycle(last);
    for (int i = 0; i < 2; i++, gv_buffers_mark())
        assert_int_equal(gv_buffers_marked(), 0);
}

static void a_handler_at_every_instruction_notes_code(void **state)
{
    (void)state;
    GV_STEP_NEEDS_X86;
    assert_true(gv_step_through(note_code, note_code) > 20);
    gv_loaded_write();
    assert_int_equal(written, noted);
    assert_int_equal(lost, 0);
}

static void buffers_come_back_in_the_order_in_which_they_were_filled(void **state)
{
    unsigned before = atomic_load(&given);

    (void)state;
    for (int i = 0; i < 100; i++)
        fill_a_buffer();
    for (struct gv_buffer *buffer = gv_buffers_full(), *next; buffer; buffer = next) {
        next = buffer->next;
        assert_int_equal(*(unsigned *)(void *)buffer->data, ++before);
        gv_buffers_recycle(buffer);
    }
    assert_int_equal(before, given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_at_every_instruction_gets_a_buffer),
        cmocka_unit_test(a_buffer_may_be_gone_before_its_callback_ends),
        cmocka_unit_test(a_handler_at_every_instruction_notes_code),
        cmocka_unit_test(buffers_come_back_in_the_order_in_which_they_were_filled),
    };

    return cmocka_run_group_tests_name("CUPTI's callbacks, at every instruction", tests, NULL,
                                       NULL);
}
