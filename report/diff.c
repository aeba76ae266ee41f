#include "report/diff.h"

#include "report/time_sum.h"
#include "trace/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gv_diff_query {
    const char *area;
    enum gv_diff_unit unit;
    bool of_gpu;
    const char *sql;
};

static const struct gv_diff_query gv_diff_queries[] = {
#define GV_DIFF_FACT(what, unit, gpu, number)
#define GV_DIFF_QUERY(area, unit, gpu, sql) {#area, GV_DIFF_##unit, gpu, sql},
#include "report/diff_values.def"
};

static int gv_diff_take(struct gv_diff *diff, const struct gv_diff_value *value)
{
    if (diff->count == diff->room) {
        size_t room = diff->room ? 2 * diff->room : 256;
        struct gv_diff_value *values = realloc(diff->values, room * sizeof(*values));
        if (!values)
            return -ENOMEM;
        diff->values = values;
        diff->room = room;
    }
    char *what = strdup(value->what);
    if (!what)
        return -ENOMEM;
    diff->values[diff->count] = *value;
    diff->values[diff->count++].what = what;
    return 0;
}

static int gv_diff_facts(struct gv_diff *diff, const struct gv_run_facts *facts, size_t side)
{
    const struct {
        const char *what;
        enum gv_diff_unit unit;
        bool of_gpu;
        int64_t value;
    } rows[] = {
#define GV_DIFF_FACT(what, unit, gpu, number) {what, GV_DIFF_##unit, gpu, number},
#define GV_DIFF_QUERY(area, unit, gpu, sql)
#include "report/diff_values.def"
    };
    int error = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !error; i++) {
        struct gv_diff_value value = {
            .area = "run",
            .what = (char *)rows[i].what,
            .unit = rows[i].unit,
            .of_gpu = rows[i].of_gpu,
            .side = side,
            .trace = diff->traces[side],
            .value = rows[i].value,
        };
        error = gv_diff_take(diff, &value);
    }
    return error;
}

static int gv_diff_rows(struct gv_diff *diff, sqlite3 *trace, const struct gv_diff_query *query,
                        size_t side)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, query->sql, -1, &rows, NULL), error = 0;

    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *what = (const char *)sqlite3_column_text(rows, 0);
        struct gv_diff_value value = {
            .area = query->area,
            .what = (char *)(what ? what : "?"),
            .unit = query->unit,
            .of_gpu = query->of_gpu,
            .side = side,
            .trace = diff->traces[side],
            .value = sqlite3_column_int64(rows, 1),
        };
        error = gv_diff_take(diff, &value);
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

static void gv_diff_verdict(struct gv_diff *diff, const struct gv_run_facts *facts, size_t side)
{
    struct gv_verdict *verdict = calloc(1, sizeof(*verdict));

    if (!verdict)
        return;
    gv_verdict_make(facts, verdict);
    for (size_t i = 0; i < verdict->count && i < GV_VERDICT_TOLD; i++)
        diff->classes[side][verdict->findings[i].class] = true;
    free(verdict);
}

int gv_diff_add(struct gv_diff *diff, sqlite3 *trace, size_t side)
{
    struct gv_totals_part all = GV_TOTALS_ALL;
    struct gv_run_facts *facts = calloc(1, sizeof(*facts));
    int error = facts ? gv_run_facts_read(trace, &all, facts) : -ENOMEM;

    if (!error)
        error = gv_diff_facts(diff, facts, side);
    for (size_t i = 0; i < sizeof(gv_diff_queries) / sizeof(gv_diff_queries[0]) && !error; i++)
        error = gv_diff_rows(diff, trace, &gv_diff_queries[i], side);
    if (!error) {
        diff->gpu_seen[side] = facts->gpu_seen && (diff->traces[side] == 0 || diff->gpu_seen[side]);
        if (facts->window_ns > diff->window_ns)
            diff->window_ns = facts->window_ns;
        gv_diff_verdict(diff, facts, side);
        diff->traces[side]++;
    }
    free(facts);
    return error;
}

static int gv_diff_order(const void *left, const void *right)
{
    const struct gv_diff_value *one = left, *other = right;
    int order = strcmp(one->area, other->area);

    if (order == 0)
        order = strcmp(one->what, other->what);
    if (order == 0)
        order = (int)one->unit - (int)other->unit;
    if (order == 0)
        order = one->side < other->side ? -1 : one->side > other->side;
    if (order == 0)
        order = one->value < other->value ? -1 : one->value > other->value;
    return order;
}

static bool gv_diff_is_same(const struct gv_diff_value *one, const struct gv_diff_value *other)
{
    return one->unit == other->unit && strcmp(one->area, other->area) == 0 &&
           strcmp(one->what, other->what) == 0;
}

/* Of one side's values, which are sorted. A trace that has none has nothing of it: 0. */
static void gv_diff_range(struct gv_diff_range *range, const struct gv_diff_value *values,
                          size_t count, size_t traces)
{
    size_t missing = traces > count ? traces - count : 0, middle = (traces - 1) / 2;

    range->count = traces;
    range->least = missing || count == 0 ? 0 : values[0].value;
    range->most = count == 0 ? 0 : values[count - 1].value;
    range->middle = middle < missing ? 0 : values[middle - missing].value;
}

static void gv_diff_judge(struct gv_diff_change *change)
{
    const struct gv_diff_range *before = &change->sides[0], *after = &change->sides[1];

    change->change = gv_time_difference(after->middle, before->middle);
    change->noise_known = before->count > 1 && after->count > 1;
    change->more_than_noise =
        change->noise_known && (before->most < after->least || after->most < before->least);
}

/* Values of one name, unit and area. */
static void gv_diff_group(struct gv_diff *diff, size_t from, size_t to)
{
    struct gv_diff_change *change = &diff->changes[diff->change_count];
    const struct gv_diff_value *value = &diff->values[from];
    size_t split = from;

    if (value->of_gpu && !(diff->gpu_seen[0] && diff->gpu_seen[1]))
        return;
    while (split < to && diff->values[split].side == 0)
        split++;
    *change =
        (struct gv_diff_change){.area = value->area, .what = value->what, .unit = value->unit};
    gv_diff_range(&change->sides[0], value, split - from, diff->traces[0]);
    gv_diff_range(&change->sides[1], &diff->values[split], to - split, diff->traces[1]);
    gv_diff_judge(change);
    diff->change_count++;
}

static int gv_diff_area(const char *area)
{
    static const char *const areas[] = {"run", "kernels", "copies", "calls", "loads", "stalls"};
    int i = 0;

    while (i < (int)(sizeof(areas) / sizeof(areas[0])) && strcmp(areas[i], area) != 0)
        i++;
    return i;
}

static uint64_t gv_diff_size(const struct gv_diff_change *change)
{
    return change->change < 0 ? (uint64_t)0 - (uint64_t)change->change : (uint64_t)change->change;
}

static int gv_diff_order_changes(const void *left, const void *right)
{
    const struct gv_diff_change *one = left, *other = right;
    int order = gv_diff_area(one->area) - gv_diff_area(other->area);
    uint64_t one_size = gv_diff_size(one), other_size = gv_diff_size(other);

    if (order == 0)
        order = (int)one->unit - (int)other->unit;
    if (order == 0)
        order = one_size > other_size ? -1 : one_size < other_size;
    return order ? order : strcmp(one->what, other->what);
}

int gv_diff_compare(struct gv_diff *diff)
{
    if (diff->count == 0 || diff->traces[0] == 0 || diff->traces[1] == 0)
        return 0;
    diff->changes = calloc(diff->count, sizeof(*diff->changes));
    if (!diff->changes)
        return -ENOMEM;
    qsort(diff->values, diff->count, sizeof(*diff->values), gv_diff_order);
    for (size_t from = 0, to; from < diff->count; from = to) {
        for (to = from + 1; to < diff->count; to++)
            if (!gv_diff_is_same(&diff->values[from], &diff->values[to]))
                break;
        gv_diff_group(diff, from, to);
    }
    if (diff->change_count > 0)
        qsort(diff->changes, diff->change_count, sizeof(*diff->changes), gv_diff_order_changes);
    return 0;
}

void gv_diff_free(struct gv_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        free(diff->values[i].what);
    free(diff->values);
    free(diff->changes);
    memset(diff, 0, sizeof(*diff));
}
