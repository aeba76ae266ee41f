/* A comparison for programs: JSON and CSV. */
#include "report/commands/diff/diff.h"

#include "report/commands/statement_rows.h"
#include "report/commands_diff_keys.inc"

#include <errno.h>
#include <math.h>

#define GV_DIFF_FINDING_COLUMNS 40u

static const char *const diff_units[] = {
    [GV_DIFF_NS] = "ns",
    [GV_DIFF_BYTES] = "bytes",
    [GV_DIFF_COUNT] = "count",
};

static const char *const diff_tests[] = {
    [GV_DIFF_TEST_NONE] = "none",
    [GV_DIFF_TEST_RANGES] = "ranges",
    [GV_DIFF_TEST_RANK] = "rank",
};

static const struct gv_column diff_columns[] = {
    {"area", GV_COLUMN_TEXT},         {"what", GV_COLUMN_TEXT},
    {"unit", GV_COLUMN_TEXT},         {"before", GV_COLUMN_NUMBER},
    {"after", GV_COLUMN_NUMBER},      {"change", GV_COLUMN_NUMBER},
    {"ratio", GV_COLUMN_NUMBER},      {"before_min", GV_COLUMN_NUMBER},
    {"before_max", GV_COLUMN_NUMBER}, {"after_min", GV_COLUMN_NUMBER},
    {"after_max", GV_COLUMN_NUMBER},  {"more_than_noise", GV_COLUMN_NUMBER},
    {"p", GV_COLUMN_NUMBER},          {"different", GV_COLUMN_NUMBER}};

static void diff_write_value(struct gv_rows *rows, const struct gv_diff_change *change,
                             double value)
{
    if (change->times > 0)
        gv_rows_real(rows, value);
    else
        gv_rows_number(rows, gv_diff_whole(value));
}

static void diff_write_change(const struct gv_diff *diff, const struct gv_diff_change *change,
                              struct gv_rows *rows)
{
    char unit[32];

    snprintf(unit, sizeof(unit), "%s%s", diff_units[change->unit],
             change->times > 0 ? "_each" : "");
    gv_rows_text(rows, gv_diff_areas[change->area].name);
    gv_rows_text(rows, change->what);
    gv_rows_text(rows, unit);
    diff_write_value(rows, change, change->sides[0].middle);
    diff_write_value(rows, change, change->sides[1].middle);
    diff_write_value(rows, change, change->change);
    if (change->sides[0].middle > 0)
        gv_rows_real(rows, change->sides[1].middle / change->sides[0].middle);
    else
        gv_rows_null(rows);
    for (size_t side = 0; side < GV_DIFF_SIDES; side++) {
        diff_write_value(rows, change, change->sides[side].least);
        diff_write_value(rows, change, change->sides[side].most);
    }
    /* Ranges that do not overlap prove nothing. */
    if (diff->test == GV_DIFF_TEST_RANK || (diff->test == GV_DIFF_TEST_RANGES && !change->more))
        gv_rows_number(rows, change->more);
    else
        gv_rows_null(rows);
    if (change->p >= 0)
        gv_rows_real(rows, change->p);
    else
        gv_rows_null(rows);
    gv_rows_number(rows, change->different);
}

static int diff_write_changes(const struct gv_diff *diff, const struct gv_diff_style *style,
                              struct gv_json *json)
{
    size_t thing = SIZE_MAX;
    int64_t shown = 0;
    struct gv_rows rows;

    gv_rows_begin(&rows, style->out, style->format, diff_columns,
                  sizeof(diff_columns) / sizeof(diff_columns[0]), json);
    for (size_t i = 0; i < diff->count; i++) {
        if (i > 0 && diff->changes[i].area != diff->changes[i - 1].area) {
            thing = SIZE_MAX;
            shown = 0;
        }
        if (gv_diff_shows(&diff->changes[i], style, &shown, &thing))
            diff_write_change(diff, &diff->changes[i], &rows);
    }
    return gv_rows_end(&rows);
}

/* The rows of the view findings: the run's number, their last column, is left out. */
static int diff_write_findings(const struct gv_diff *diff, size_t run,
                               const struct gv_diff_style *style, struct gv_json *json)
{
    struct gv_column columns[GV_DIFF_FINDING_COLUMNS];
    sqlite3_stmt *rows = NULL;
    int error = gv_database_compile(diff->values, sql_of_run, &rows);
    int count = error ? 0 : sqlite3_column_count(rows) - 1;

    if (!error && count > (int)GV_DIFF_FINDING_COLUMNS)
        error = -E2BIG;
    for (int i = 0; i < count && !error; i++)
        columns[i] = (struct gv_column){sqlite3_column_name(rows, i), GV_COLUMN_TEXT};
    gv_json_open(json, "findings", '[');
    if (!error)
        error = gv_database_error(diff->values, sqlite3_bind_int64(rows, 1, (int64_t)run));
    if (!error)
        error = gv_statement_rows_write(rows, style->out, GV_FORMAT_JSON, columns, count,
                                        sqlite3_step(rows), json);
    gv_json_close(json, ']');
    sqlite3_finalize(rows);
    return error;
}

static int diff_write_run(const struct gv_diff *diff, size_t number,
                          const struct gv_diff_style *style, struct gv_json *json)
{
    const struct gv_diff_run *run = &diff->runs[number];

    gv_json_open(json, NULL, '{');
    gv_json_text(json, "trace", run->path);
    gv_json_text(json, "headline", run->headline);
    gv_json_text(json, "device", run->device[0] ? run->device : NULL);
    gv_json_bool(json, "gpu_seen", run->gpu_seen);
    gv_json_bool(json, "complete", run->complete);
    gv_json_number(json, "lost_records", run->lost);
    int error = diff_write_findings(diff, number, style, json);
    gv_json_close(json, '}');
    return error;
}

static int diff_write_key(void *context, sqlite3_stmt *row)
{
    gv_json_text(context, NULL, (const char *)sqlite3_column_text(row, 0));
    return 0;
}

static int diff_write_side(const struct gv_diff *diff, size_t side,
                           const struct gv_diff_style *style, struct gv_json *json)
{
    const size_t first = side ? diff->counts[0] : 0;
    bool seen = true;
    int error;

    gv_json_open(json, side == 0 ? "before" : "after", '{');
    gv_json_open(json, "traces", '[');
    for (size_t i = 0; i < diff->counts[side]; i++)
        gv_json_text(json, NULL, diff->runs[first + i].path);
    gv_json_close(json, ']');
    gv_json_open(json, "findings", '[');
    error = gv_diff_each(diff, side, GV_DIFF_KEYS, -1, diff_write_key, json);
    gv_json_close(json, ']');
    gv_json_open(json, "facts", '[');
    if (!error)
        error = gv_diff_each(diff, side, GV_DIFF_FACTS, -1, diff_write_key, json);
    gv_json_close(json, ']');
    for (size_t i = 0; i < diff->counts[side]; i++)
        seen &= diff->runs[first + i].gpu_seen;
    gv_json_bool(json, "gpu_seen", seen);
    gv_json_open(json, "runs", '[');
    for (size_t i = 0; i < diff->counts[side] && !error; i++)
        error = diff_write_run(diff, first + i, style, json);
    gv_json_close(json, ']');
    gv_json_close(json, '}');
    return error;
}

int gv_diff_print_data(const struct gv_diff *diff, const struct gv_diff_style *style)
{
    struct gv_json json;
    int error = 0;

    if (style->format == GV_FORMAT_CSV)
        return diff_write_changes(diff, style, NULL);
    gv_json_begin(&json, style->out, '{');
    for (size_t side = 0; side < GV_DIFF_SIDES && !error; side++)
        error = diff_write_side(diff, side, style, &json);
    gv_json_text(&json, "test", diff_tests[diff->test]);
    gv_json_real(&json, "chance", diff->test == GV_DIFF_TEST_NONE ? NAN : diff->chance);
    gv_json_bool(&json, "different", gv_diff_any(diff));
    gv_json_open(&json, "changes", '[');
    if (!error)
        error = diff_write_changes(diff, style, &json);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return error;
}
