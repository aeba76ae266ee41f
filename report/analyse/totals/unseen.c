/* When the GPU side is not known: neither busy nor idle. */
#include "report/analyse/totals/run.h"

#include "report/store/array.h"

#include <stdlib.h>

static int unseen_add(struct gv_totals_run *run, int64_t process, int64_t start_ns, int64_t end_ns)
{
    int error = start_ns < end_ns ? gv_array_room(&run->unseen, run->unseen_count,
                                                  &run->unseen_room, sizeof(*run->unseen))
                                  : 0;

    if (!error && start_ns < end_ns)
        run->unseen[run->unseen_count++] = (struct gv_totals_unseen){start_ns, end_ns};
    if (!error && start_ns < end_ns)
        error = gv_range_pass_unseen(run->range_pass, process, start_ns, end_ns);
    return error;
}

static int unseen_compare(const void *left, const void *right)
{
    const struct gv_totals_unseen *one = left, *other = right;

    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static void unseen_merge(struct gv_totals_run *run)
{
    size_t kept = 0;

    if (run->unseen_count > 0)
        qsort(run->unseen, run->unseen_count, sizeof(*run->unseen), unseen_compare);
    for (size_t i = 0; i < run->unseen_count; i++) {
        struct gv_totals_unseen *last = kept ? &run->unseen[kept - 1] : NULL;
        if (!last || run->unseen[i].start_ns > last->end_ns)
            run->unseen[kept++] = run->unseen[i];
        else if (run->unseen[i].end_ns > last->end_ns)
            last->end_ns = run->unseen[i].end_ns;
    }
    run->unseen_count = kept;
}

int gv_totals_unseen(struct gv_totals_run *run)
{
    const struct gv_gpu_unseen_list *list = &run->unseen_times;
    int error = gv_gpu_unseen_read(run->trace, &run->unseen_times);

    for (size_t i = 0; i < list->count && !error; i++)
        if (!run->part.process || run->part.process == list->times[i].process)
            error = unseen_add(run, list->times[i].process, list->times[i].known_ns,
                               list->times[i].until_ns);
    /* Operations of a stream run in order. */
    for (size_t i = 0; i < run->places.rows && !error; i++) {
        const struct gv_totals_place *place = &run->place_times[i];
        int64_t last_ns = gv_pass_times_of_place(run->pass, (int64_t)i).last_ns;
        if (place->untimed)
            error =
                unseen_add(run, gv_id_table_get(&run->places, (int64_t)i, 0),
                           last_ns > place->launched_ns ? last_ns : place->launched_ns, INT64_MAX);
    }
    unseen_merge(run);
    return error;
}

const struct gv_totals_unseen *gv_totals_unseen_after(const struct gv_totals_run *run,
                                                      int64_t at_ns)
{
    size_t low = 0, high = run->unseen_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->unseen[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->unseen_count ? &run->unseen[low] : NULL;
}

int64_t gv_totals_unseen_ns(const struct gv_totals_run *run, int64_t start_ns, int64_t end_ns)
{
    const struct gv_totals_unseen *unseen = gv_totals_unseen_after(run, start_ns);
    size_t left = unseen ? run->unseen_count - (size_t)(unseen - run->unseen) : 0;
    int64_t ns = 0;

    for (; left > 0 && unseen->start_ns < end_ns; unseen++, left--)
        ns += gv_time_overlap(unseen->start_ns, unseen->end_ns, start_ns, end_ns);
    return ns;
}

int64_t gv_totals_known_until(const struct gv_totals_run *run)
{
    const struct gv_totals_unseen *last = gv_totals_unseen_after(run, INT64_MAX - 1);

    return last ? last->start_ns : INT64_MAX;
}
