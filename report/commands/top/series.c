/* Sums over the last seconds, and things with a name that have them. */
#include "report/commands/top/top.h"

#include <stdlib.h>
#include <string.h>

static double *series_slice(struct gv_top_series *series, int64_t slice)
{
    if (slice > series->newest) {
        int64_t from = series->newest + 1;
        if (slice - from >= GV_TOP_SLICES)
            from = slice - GV_TOP_SLICES + 1;
        for (int64_t i = from; i <= slice; i++)
            series->values[i % GV_TOP_SLICES] = 0;
        series->newest = slice;
    }
    return slice >= 0 && slice > series->newest - GV_TOP_SLICES
               ? &series->values[slice % GV_TOP_SLICES]
               : NULL;
}

void gv_top_series_add(struct gv_top_series *series, int64_t at_ns, double value)
{
    double *sum = series_slice(series, at_ns / GV_TOP_SLICE_NS);

    if (sum)
        *sum += value;
}

void gv_top_series_add_time(struct gv_top_series *series, int64_t start_ns, int64_t end_ns,
                            double weight)
{
    int64_t first = start_ns / GV_TOP_SLICE_NS, last = end_ns / GV_TOP_SLICE_NS;

    if (start_ns < 0 || end_ns <= start_ns)
        return;
    if (last - first >= GV_TOP_SLICES) {
        first = last - GV_TOP_SLICES + 1;
        start_ns = first * GV_TOP_SLICE_NS;
    }
    for (int64_t slice = first; slice <= last; slice++) {
        int64_t until_ns = slice == last ? end_ns : (slice + 1) * GV_TOP_SLICE_NS;
        gv_top_series_add(series, start_ns, (double)(until_ns - start_ns) * weight);
        start_ns = until_ns;
    }
}

double gv_top_series_sum(const struct gv_top_series *series, int64_t until_ns, int64_t span_ns)
{
    int64_t end = until_ns / GV_TOP_SLICE_NS, count = span_ns / GV_TOP_SLICE_NS;
    double sum = 0;

    for (int64_t slice = end - count; slice < end; slice++)
        if (slice >= 0 && slice <= series->newest && slice > series->newest - GV_TOP_SLICES)
            sum += series->values[slice % GV_TOP_SLICES];
    return sum;
}

struct gv_top_item *gv_top_item_find(struct gv_top_items *items, uint64_t key)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].key == key)
            return &items->list[i];
    return NULL;
}

struct gv_top_item *gv_top_item_add(struct gv_top_items *items, uint64_t key, const char *text)
{
    struct gv_top_item *item = &items->list[0];

    if (items->count < GV_TOP_ITEMS) {
        item = &items->list[items->count++];
    } else {
        for (size_t i = 1; i < items->count; i++)
            if (items->list[i].count.newest < item->count.newest)
                item = &items->list[i];
    }
    memset(item, 0, sizeof(*item));
    item->key = key;
    strncpy(item->text, text, sizeof(item->text) - 1);
    return item;
}

static int items_compare(const void *one, const void *other)
{
    const struct gv_top_item *a = *(struct gv_top_item *const *)one;
    const struct gv_top_item *b = *(struct gv_top_item *const *)other;

    if (a->shown_ns != b->shown_ns)
        return a->shown_ns < b->shown_ns ? 1 : -1;
    if (a->shown_count != b->shown_count)
        return a->shown_count < b->shown_count ? 1 : -1;
    return strcmp(a->text, b->text);
}

void gv_top_items_sum(struct gv_top_items *items, int64_t until_ns, int64_t span_ns)
{
    for (size_t i = 0; i < items->count; i++) {
        struct gv_top_item *item = &items->list[i];
        item->shown_ns = gv_top_series_sum(&item->gpu_ns, until_ns, span_ns);
        item->shown_count = gv_top_series_sum(&item->count, until_ns, span_ns);
    }
}

size_t gv_top_items_sort(struct gv_top_items *items)
{
    size_t used = 0;

    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].shown_ns > 0 || items->list[i].shown_count > 0)
            items->order[used++] = &items->list[i];
    qsort(items->order, used, sizeof(items->order[0]), items_compare);
    return used;
}

/* Of a busy program only some rows are read: hardly ever the operation of a call that has a stack.
 * So lines cannot be summed up by their own operations. */
void gv_top_lines_estimate(const struct gv_top_items *kernels, const struct gv_top_items *works,
                           struct gv_top_items *lines)
{
    for (size_t i = 0; i < works->count; i++) {
        const struct gv_top_item *one = &works->list[i];
        struct gv_top_item *line = gv_top_item_find(lines, one->line);
        double calls = 0, ns = 0;
        for (size_t k = 0; k < works->count; k++)
            if (works->list[k].work == one->work)
                calls += works->list[k].shown_count;
        for (size_t k = 0; k < kernels->count; k++)
            if (kernels->list[k].work == one->work)
                ns += kernels->list[k].shown_ns;
        if (line && calls > 0)
            line->shown_ns += ns * one->shown_count / calls;
    }
}
