/* CUPTI's callbacks on several threads, and the module's thread that reads the buffers. */
#include "cupti/buffers.h"
#include "cupti/loaded.h"
#include "cupti/output.h"

#include "threads.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORKERS 3
#define ROUNDS  4000
#define WORDS   512 /* of a buffer */

static struct gv_gpu_other other;

static _Atomic unsigned lost;
static unsigned written;
static uint64_t written_sum;
static struct gv_own_cost_total costs[GV_OWN_COST_COUNT];

void gv_output_count_lost(void)
{
    atomic_fetch_add(&lost, 1);
}

bool gv_output_write(const union gv_record *record)
{
    expect(record->gpu_module.at_ns == record->gpu_module.module &&
           record->gpu_module.tid == record->gpu_module.module);
    written_sum += record->gpu_module.module;
    written++;
    return true;
}

void gv_output_count_cost(enum gv_own_cost what, uint64_t duration_ns)
{
    (void)duration_ns;
    gv_own_cost_add(costs, what, 1);
}

static _Atomic int working;

static void *call_back(void *context)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t number = (uint32_t)(uintptr_t)context * ROUNDS + i + 1;
        struct gv_record_gpu_module loaded = {.at_ns = number, .module = number, .tid = number};
        uint32_t *words;
        uint8_t *data;
        size_t bytes, most;

        gv_buffers_give(&data, &bytes, &most);
        words = (uint32_t *)(void *)data;
        expect(bytes >= WORDS * sizeof *words && words[0] == 0 && words[WORDS - 1] == 0);
        for (int word = 0; word < WORDS; word++)
            words[word] = number;
        gv_buffers_take(NULL, 0, data, bytes, WORDS * sizeof *words);
        gv_loaded_note(&loaded, NULL);
        sched_yield(); /* the other side usually keeps up */
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void read_buffers(unsigned *count, uint64_t *sum)
{
    for (struct gv_buffer *buffer = gv_buffers_full(), *next; buffer; buffer = next) {
        uint32_t *words = (uint32_t *)(void *)buffer->data;

        next = buffer->next;
        expect(buffer->used == WORDS * sizeof *words);
        for (int word = 1; word < WORDS; word++)
            expect(words[word] == words[0]);
        *sum += words[0];
        ++*count;
        gv_buffers_recycle(buffer);
    }
    gv_buffers_refill();
}

static void all_that_cupti_brings_is_read_once(void **state)
{
    struct gv_threads threads = {.count = 0};
    uint64_t all = (uint64_t)WORKERS * ROUNDS, sum = 0;
    unsigned count = 0;
    bool is_last;

    (void)state;
    assert_int_equal(gv_buffers_prepare(&other, NULL), 0);
    atomic_store(&working, WORKERS);
    for (uintptr_t i = 0; i < WORKERS; i++)
        gv_threads_add(&threads, call_back, i);
    do {
        is_last = atomic_load(&working) == 0;
        gv_buffers_mark();
        gv_loaded_write();
        read_buffers(&count, &sum);
    } while (!is_last);
    assert_int_equal(gv_threads_join(&threads), 0);
    assert_int_equal(gv_buffers_marked(), 0);
    gv_buffers_mark();
    assert_int_equal(gv_buffers_marked(), 0);
    assert_int_equal(count, all);
    assert_int_equal(sum, all * (all + 1) / 2);
    assert_int_equal(costs[GV_OWN_COST_BUFFERS].count, 2 * all);
    assert_int_equal(written + atomic_load(&lost), all);
    assert_true(atomic_load(&lost) || written_sum == sum);
}

#define KEPT 1200 /* more than are noted */

static int compare(const void *one, const void *two)
{
    return memcmp(one, two, sizeof(uint8_t *));
}

static void those_of_the_reserve_are_zeroed_and_have_one_user(void **state)
{
    static uint8_t *kept[KEPT], *sorted[KEPT];
    size_t bytes, most;

    (void)state;
    assert_int_equal(gv_buffers_prepare(&other, NULL), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEPT; i++) {
            gv_buffers_give(&kept[i], &bytes, &most);
            assert_int_equal(kept[i][0] | kept[i][WORDS], 0);
            memset(kept[i], 1, WORDS + 1);
        }
        memcpy(sorted, kept, sizeof(kept));
        qsort(sorted, KEPT, sizeof(*sorted), compare);
        for (int i = 1; i < KEPT; i++)
            assert_ptr_not_equal(sorted[i - 1], sorted[i]);
        for (int i = 0; i < KEPT; i++)
            gv_buffers_take(NULL, 0, kept[i], bytes, WORDS + 1);
        assert_int_equal(gv_buffers_unread(), KEPT - 1024);
        for (struct gv_buffer *buffer = gv_buffers_full(), *next; buffer; buffer = next) {
            next = buffer->next;
            gv_buffers_recycle(buffer);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_cupti_brings_is_read_once),
        cmocka_unit_test(those_of_the_reserve_are_zeroed_and_have_one_user)};

    return cmocka_run_group_tests_name("CUPTI's callbacks, from several threads", tests, NULL,
                                       NULL);
}
