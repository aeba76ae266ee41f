/* gpuverify top: which line the GPU's time is of, where only some rows are read. */
#include "tests/unit/report/cmocka_all.h"

#include "report/commands/top/top.h"

#include <stdlib.h>

#define SECOND INT64_C(1)

enum { SGEMM = 1, COPY, FORWARD, LOADER };

static struct gv_top_item *add(struct gv_top_items *items, uint64_t key, double ns, double calls)
{
    struct gv_top_item *item = gv_top_item_add(items, key, "");

    gv_top_series_add(&item->gpu_ns, SECOND * GV_TOP_SECOND_NS, ns);
    gv_top_series_add(&item->count, SECOND * GV_TOP_SECOND_NS, calls);
    return item;
}

static void add_work(struct gv_top_items *works, uint64_t work, uint64_t line, double calls)
{
    struct gv_top_item *item = add(works, work << 8 | line, 0, calls);

    item->work = work;
    item->line = line;
}

static int open_items(void **state)
{
    struct gv_top_items *items = calloc(3, sizeof(*items));

    for (int i = 0; i < 3; i++)
        items[i].list = calloc(GV_TOP_ITEMS, sizeof(*items[i].list));
    *state = items;
    return 0;
}

static int close_items(void **state)
{
    struct gv_top_items *items = *state;

    for (int i = 0; i < 3; i++)
        free(items[i].list);
    free(items);
    return 0;
}

static void a_kernels_time_is_divided_as_its_sampled_calls_are(void **state)
{
    struct gv_top_items *kernels = *state, *works = kernels + 1, *lines = kernels + 2;
    const int64_t until_ns = 2 * SECOND * GV_TOP_SECOND_NS, span_ns = GV_TOP_WINDOW_NS;

    add(kernels, 10, 8000, 100)->work = SGEMM;
    add(kernels, 11, 500, 1)->work = COPY; /* to the host */
    add(kernels, 12, 500, 1)->work = COPY;
    add(kernels, 13, 70, 1)->work = 99; /* no call has a stack */
    add(lines, FORWARD, 0, 60);
    add(lines, LOADER, 0, 20);
    add_work(works, SGEMM, FORWARD, 60);
    add_work(works, SGEMM, LOADER, 20);
    add_work(works, COPY, LOADER, 5);
    gv_top_items_sum(kernels, until_ns, span_ns);
    gv_top_items_sum(works, until_ns, span_ns);
    gv_top_items_sum(lines, until_ns, span_ns);
    gv_top_lines_estimate(kernels, works, lines);
    assert_int_equal(gv_top_items_sort(lines), 2);
    assert_int_equal(lines->order[0]->key, FORWARD);
    assert_int_equal((int)lines->order[0]->shown_ns, 6000);
    assert_int_equal((int)lines->order[1]->shown_ns, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernels_time_is_divided_as_its_sampled_calls_are,
                                        open_items, close_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
