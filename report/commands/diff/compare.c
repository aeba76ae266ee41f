#include "report/commands/diff/diff.h"

#include "report/analyse/rank_test.h"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the rank test calls more than noise. */
#define GV_DIFF_CHANCE 0.05
/* Less time than this share of the longer run is ignored. */
#define GV_DIFF_SHORT 0.001
/* The same while noise is unknown: a run's start alone differs by this much. */
#define GV_DIFF_SHORT_ONCE 0.005

/* A change of so much of the run is said though it may be chance. */
#define GV_DIFF_LARGE 20
_Static_assert(GV_DIFF_TRACES <= GV_RANK_TEST_MOST, "more traces than the test takes");

/* One thing, while its values are read. */
struct gv_diff_thing {
    enum gv_diff_area_id area;
    enum gv_diff_basis basis;
    char *what;
    double values[GV_DIFF_COLUMNS][GV_DIFF_TRACES];
    bool known[GV_DIFF_COLUMNS][GV_DIFF_TRACES];
    bool used[GV_DIFF_COLUMNS];
};

static double diff_size(double change)
{
    return change < 0 ? -change : change;
}

static int diff_order_values(const void *left, const void *right)
{
    double one = *(const double *)left, other = *(const double *)right;

    return (one > other) - (one < other);
}

/* Whether only some traces have a GPU side. */
static bool diff_is_mixed(const struct gv_diff *diff)
{
    size_t count = diff->counts[0] + diff->counts[1], seen = 0;

    for (size_t i = 0; i < count; i++)
        seen += diff->runs[i].gpu_whole;
    return seen > 0 && seen < count;
}

/* Whether a trace without the thing shows that it was not there: a 0. */
static bool diff_is_zero(const struct gv_diff *diff, const struct gv_diff_thing *thing, size_t run)
{
    if (thing->area == GV_DIFF_AREA_run || thing->area == GV_DIFF_AREA_memory)
        return false;
    return (thing->basis != GV_DIFF_ON_GPU && thing->basis != GV_DIFF_ON_GPU_SUMS) ||
           diff->runs[run].gpu_whole;
}

/* One side's values, sorted; `each`: of each time that it happened. Returns their number. */
static size_t diff_gather(const struct gv_diff *diff, const struct gv_diff_thing *thing,
                          enum gv_diff_unit unit, bool each, size_t side,
                          double values[GV_DIFF_TRACES])
{
    size_t first = side == 0 ? 0 : diff->counts[0], count = 0;

    for (size_t run = first; run < first + diff->counts[side]; run++) {
        double times = each ? thing->values[GV_DIFF_TIMES][run] : 1;
        if (times > 0 && (thing->known[unit][run] || diff_is_zero(diff, thing, run)))
            values[count++] = thing->values[unit][run] / times;
    }
    if (count > 0)
        qsort(values, count, sizeof(*values), diff_order_values);
    return count;
}

/* Of sorted values. */
static struct gv_diff_range diff_range_of(const double *values, size_t count)
{
    if (count == 0)
        return (struct gv_diff_range){0};
    return (struct gv_diff_range){
        .count = count,
        .least = values[0],
        .middle = values[(count - 1) / 2] / 2 + values[count / 2] / 2,
        .most = values[count - 1],
    };
}

/* Whether a change is more than noise, if that can be known, and large. */
static void diff_judge(const struct gv_diff *diff, double values[GV_DIFF_SIDES][GV_DIFF_TRACES],
                       struct gv_diff_change *change)
{
    const struct gv_diff_range *before = &change->sides[0], *after = &change->sides[1];
    double size = diff_size(change->change);
    double larger = before->middle > after->middle ? before->middle : after->middle;

    change->p = -1;
    if (diff->test == GV_DIFF_TEST_RANK) {
        change->p = gv_rank_test(values[0], before->count, values[1], after->count);
        change->more = change->p <= GV_DIFF_CHANCE;
    } else {
        change->more = before->most < after->least || after->most < before->least;
    }
    change->different = change->more && size > 0 && size >= diff->least_change * larger;
}

/* Whether a change of estimated times is within twice their errors. Of several traces the rank test
 * sees how far they spread, which includes the errors. */
static bool diff_is_within_error(const struct gv_diff *diff, const struct gv_diff_thing *thing,
                                 const struct gv_diff_change *change)
{
    double variance = 0;

    if (change->unit != GV_DIFF_NS || diff->test == GV_DIFF_TEST_RANK)
        return false;
    for (size_t side = 0; side < GV_DIFF_SIDES; side++) {
        size_t first = side == 0 ? 0 : diff->counts[0];
        double most = 0;
        for (size_t run = first; run < first + diff->counts[side]; run++) {
            double times = change->times > 0 ? thing->values[GV_DIFF_TIMES][run] : 1;
            double error = times > 0 ? thing->values[GV_DIFF_ERROR_NS][run] / times : 0;
            most = error > most ? error : most;
        }
        variance += most * most;
    }
    return thing->used[GV_DIFF_ERROR_NS] && change->change * change->change <= 4 * variance;
}

/* A thing's change in one unit; none if nothing changed, or it is unknown on a side. `times`: as in
 * struct gv_diff_change. */
static int diff_compare_unit(struct gv_diff *diff, const struct gv_diff_thing *thing,
                             enum gv_diff_unit unit, double times)
{
    double values[GV_DIFF_SIDES][GV_DIFF_TRACES];
    struct gv_diff_range ranges[GV_DIFF_SIDES];

    for (size_t side = 0; side < GV_DIFF_SIDES; side++)
        ranges[side] = diff_range_of(values[side],
                                     diff_gather(diff, thing, unit, times > 0, side, values[side]));
    if (ranges[0].count == 0 || ranges[1].count == 0 || ranges[0].middle == ranges[1].middle)
        return 0;
    if (gv_array_room(&diff->changes, diff->count, &diff->room, sizeof(*diff->changes)))
        return -ENOMEM;
    struct gv_diff_change *change = &diff->changes[diff->count++];
    *change = (struct gv_diff_change){.area = thing->area,
                                      .unit = unit,
                                      .times = times,
                                      .what = strdup(thing->what),
                                      .sides = {ranges[0], ranges[1]},
                                      .change = ranges[1].middle - ranges[0].middle};
    if (!change->what)
        return -ENOMEM;
    diff_judge(diff, values, change);
    if (diff_is_within_error(diff, thing, change)) {
        change->unsure = change->different;
        change->more = change->different = false;
    }
    return 0;
}

/* How often the thing happened in the run with most of it, or how many steps that has; 0: as often
 * in all runs, or one has no steps. */
static double diff_times(const struct gv_diff *diff, const struct gv_diff_thing *thing)
{
    double times[GV_DIFF_TRACES];
    size_t count = diff_gather(diff, thing, GV_DIFF_TIMES, false, 0, times);

    count += diff_gather(diff, thing, GV_DIFF_TIMES, false, 1, times + count);
    if (count > 0)
        qsort(times, count, sizeof(*times), diff_order_values);
    const struct gv_diff_range range = diff_range_of(times, count);
    if (gv_diff_areas[thing->area].by_step)
        return range.least > 0 ? range.most : 0;
    return range.least < range.most ? range.most : 0;
}

/* What is of steps is not there in some of a run that does not have it. */
static void diff_fill_steps(const struct gv_diff *diff, struct gv_diff_thing *thing)
{
    size_t count = diff->counts[0] + diff->counts[1], with_steps = 0;
    double *steps = thing->values[GV_DIFF_TIMES];

    for (size_t run = 0; run < count; run++)
        with_steps += steps[run] > 0;
    for (size_t run = 0; run < count && with_steps > 0; run++)
        if (!thing->known[GV_DIFF_TIMES][run])
            steps[run] = (double)diff->runs[run].steps;
}

static int diff_compare_thing(struct gv_diff *diff, struct gv_diff_thing *thing)
{
    size_t first = diff->count;
    const bool by_step = gv_diff_areas[thing->area].by_step;
    double run_ns = 0, times;

    if (by_step)
        diff_fill_steps(diff, thing);
    times = diff_times(diff, thing);

    if (thing->basis == GV_DIFF_ON_EITHER && diff_is_mixed(diff))
        return 0;
    double least = diff->test == GV_DIFF_TEST_NONE ? GV_DIFF_SHORT_ONCE : GV_DIFF_SHORT;
    int error = 0;

    for (size_t run = 0; run < diff->counts[0] + diff->counts[1]; run++)
        if ((double)diff->runs[run].run_ns > run_ns)
            run_ns = (double)diff->runs[run].run_ns;
    for (int unit = 0; unit < GV_DIFF_UNITS && !error; unit++) {
        if (thing->used[unit] && !(by_step && times > 0))
            error = diff_compare_unit(diff, thing, (enum gv_diff_unit)unit, 0);
        if (!error && thing->used[unit] && times > 0)
            error = diff_compare_unit(diff, thing, (enum gv_diff_unit)unit, times);
    }
    for (size_t i = first; i < diff->count; i++) {
        struct gv_diff_change *change = &diff->changes[i];
        change->thing = first;
        /* At equal times, counts matter less. */
        if (diff->changes[first].unit == GV_DIFF_NS || !thing->used[GV_DIFF_NS])
            change->weight =
                diff_size(diff->changes[first].change) * (by_step && times > 0 ? times : 1);
        const double size_ns = diff_size(change->change) * (change->times > 0 ? change->times : 1);
        if (change->unit == GV_DIFF_NS)
            change->different &= size_ns >= least * run_ns;
        change->unsure &= size_ns >= run_ns / GV_DIFF_LARGE;
    }
    return error;
}

static int diff_order_changes(const void *left, const void *right)
{
    const struct gv_diff_change *one = left, *other = right;

    if (one->area != other->area)
        return one->area < other->area ? -1 : 1;
    /* Its things have one unit each; times come first. */
    if (one->area == GV_DIFF_AREA_run && one->unit != other->unit)
        return one->unit < other->unit ? -1 : 1;
    if (one->weight != other->weight)
        return one->weight > other->weight ? -1 : 1;
    if (one->thing != other->thing)
        return one->thing < other->thing ? -1 : 1;
    if (one->unit != other->unit)
        return one->unit < other->unit ? -1 : 1;
    return one->times < other->times ? -1 : one->times > other->times;
}

static void diff_choose_test(struct gv_diff *diff)
{
    diff->chance = gv_rank_test_least(diff->counts[0], diff->counts[1]);
    if (diff->counts[0] + diff->counts[1] <= GV_DIFF_SIDES) {
        diff->test = GV_DIFF_TEST_NONE;
    } else if (diff->chance > GV_DIFF_CHANCE) {
        diff->test = GV_DIFF_TEST_RANGES;
    } else {
        diff->test = GV_DIFF_TEST_RANK;
        diff->chance = GV_DIFF_CHANCE;
    }
}

struct diff_comparing {
    struct gv_diff *diff;
    struct gv_diff_thing thing;
};

/* Takes a row of the table of values. The last thing is compared when the next one starts. */
static int diff_take(void *context, sqlite3_stmt *rows)
{
    struct diff_comparing *comparing = context;
    struct gv_diff *diff = comparing->diff;
    struct gv_diff_thing *thing = &comparing->thing;
    enum gv_diff_area_id area = (enum gv_diff_area_id)sqlite3_column_int(rows, 0);
    const char *what = (const char *)sqlite3_column_text(rows, 1);
    int unit = sqlite3_column_int(rows, 3), run = sqlite3_column_int(rows, 4), error = 0;

    if (!what)
        return -ENOMEM;
    if (!thing->what || thing->area != area || strcmp(thing->what, what) != 0) {
        if (thing->what)
            error = diff_compare_thing(diff, thing);
        free(thing->what);
        *thing = (struct gv_diff_thing){.area = area,
                                        .basis = (enum gv_diff_basis)sqlite3_column_int(rows, 2),
                                        .what = strdup(what)};
        if (!thing->what)
            return -ENOMEM;
    }
    thing->used[unit] = true;
    thing->known[unit][run] = true;
    thing->values[unit][run] = sqlite3_column_double(rows, 5);
    return error;
}

int gv_diff_compare(struct gv_diff *diff)
{
    struct diff_comparing comparing = {.diff = diff};
    struct gv_diff_thing *thing = &comparing.thing;

    diff_choose_test(diff);
    int error = gv_database_each(diff->values,
                                 "SELECT area, what, basis, unit, run, value FROM value ORDER BY"
                                 " area, what, basis, unit, run",
                                 NULL, 0, diff_take, &comparing);
    if (!error && thing->what)
        error = diff_compare_thing(diff, thing);
    diff->empty = !thing->what;
    free(thing->what);
    if (!error && diff->count > 0)
        qsort(diff->changes, diff->count, sizeof(*diff->changes), diff_order_changes);
    return error;
}

bool gv_diff_any(const struct gv_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        if (diff->changes[i].different)
            return true;
    return false;
}

bool gv_diff_shows(const struct gv_diff_change *change, const struct gv_diff_style *style,
                   int64_t *shown, size_t *thing)
{
    if (!style->all && !change->different)
        return false;
    if (change->thing != *thing) {
        *thing = change->thing;
        (*shown)++;
    }
    return style->top <= 0 || *shown <= style->top;
}
