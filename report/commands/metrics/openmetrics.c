#include "report/commands/metrics/metrics.h"

#include "report/store/time_sum.h"
#include "report/collect/live.h"
#include "report/commands/export/export.h"
#include "report/commands/sql_values.h"
#include "report/commands_metrics_once.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum metric_type { METRIC_info, METRIC_gauge, METRIC_counter };
enum metric_value { METRIC_count, METRIC_ns };

static const struct metric {
    const char *kind;
    enum metric_value value;
    enum metric_type type;
    const char *name, *unit, *one, *two, *help;
} metrics[] = {
#define GV_METRIC(kind, value, type, name, unit, one, two, help)                                   \
    {#kind, METRIC_##value, METRIC_##type, name, unit, one, two, help},
#include "report/commands/metrics/metrics.def"
};

static const struct {
    const char *name, *suffix; /* what a sample's name ends in */
} metric_types[] = {
    [METRIC_info] = {"info", "_info"},
    [METRIC_gauge] = {"gauge", ""},
    [METRIC_counter] = {"counter", "_total"},
};

static void metric_write_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        fputc(*value, out);
    }
    fputc('"', out);
}

static void metric_write(FILE *out, const struct metric *metric, const struct gv_live_row *row)
{
    int64_t value = metric->value == METRIC_ns ? row->ns : row->count;

    fprintf(out, "%s%s", metric->name, metric_types[metric->type].suffix);
    if (*metric->one) {
        fputc('{', out);
        metric_write_label(out, metric->one, row->one);
        if (*metric->two) {
            fputc(',', out);
            metric_write_label(out, metric->two, row->two);
        }
        fputc('}', out);
    }
    value = value > 0 ? value : 0;
    if (metric->value == METRIC_ns)
        fprintf(out, " %" PRId64 ".%09" PRId64 "\n", value / 1000000000, value % 1000000000);
    else
        fprintf(out, " %" PRId64 "\n", value);
}

static int metric_compare(const void *one, const void *other)
{
    const struct gv_live_row *a = one, *b = other;
    int order = strcmp(a->kind, b->kind);

    if (!order)
        order = strcmp(a->one, b->one);
    return order ? order : strcmp(a->two, b->two);
}

static void metric_escape(char label[GV_LIVE_TEXT_BYTES])
{
    char escaped[GV_LIVE_TEXT_BYTES];

    gv_text_escape(escaped, sizeof(escaped), label);
    gv_live_text(label, escaped);
}

/* Labels that are the same when they are escaped and cut are one series. Returns how many. */
static size_t metric_join(struct gv_live_row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        metric_escape(rows[i].one);
        metric_escape(rows[i].two);
    }
    if (count > 0)
        qsort(rows, count, sizeof(rows[0]), metric_compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && metric_compare(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].count = gv_time_sum(rows[kept - 1].count, rows[i].count);
            rows[kept - 1].ns = gv_time_sum(rows[kept - 1].ns, rows[i].ns);
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

void gv_openmetrics_write(struct gv_live_row *rows, size_t count, FILE *out)
{
    count = metric_join(rows, count);
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        fprintf(out, "# TYPE %s %s\n", metrics[i].name, metric_types[metrics[i].type].name);
        if (*metrics[i].unit)
            fprintf(out, "# UNIT %s %s\n", metrics[i].name, metrics[i].unit);
        fprintf(out, "# HELP %s %s.\n", metrics[i].name, metrics[i].help);
        for (size_t k = 0; k < count; k++)
            if (strcmp(rows[k].kind, metrics[i].kind) == 0)
                metric_write(out, &metrics[i], &rows[k]);
    }
    fputs("# EOF\n", out);
}

/* ---- once, of a whole trace ---- */

struct metric_rows {
    struct gv_live_row *list;
    size_t count, room;
};

static int metric_take(void *context, sqlite3_stmt *row)
{
    struct metric_rows *rows = context;
    int error = gv_array_room(&rows->list, rows->count, &rows->room, sizeof(*rows->list));
    struct gv_live_row *one = error ? NULL : &rows->list[rows->count++];

    if (error)
        return error;
    *one = (struct gv_live_row){.count = sqlite3_column_int64(row, 3),
                                .ns = sqlite3_column_int64(row, 4)};
    snprintf(one->kind, sizeof(one->kind), "%s", gv_database_text(row, 0));
    gv_live_text(one->one, (const char *)sqlite3_column_text(row, 1));
    gv_live_text(one->two, (const char *)sqlite3_column_text(row, 2));
    return 0;
}

int gv_export_openmetrics(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct metric_rows rows = {0};
    int64_t until_ns = 0;
    int error = gv_sql_values_register(trace, false);

    (void)what;
    if (!error)
        error = gv_database_number(trace, sql_until, NULL, 0, &until_ns);
    if (!error)
        error = gv_live_facts(trace, until_ns, metric_take, &rows);
    if (!error)
        error = gv_database_each(trace, sql_once, NULL, 0, metric_take, &rows);
    if (!error)
        gv_openmetrics_write(rows.list, rows.count, out);
    free(rows.list);
    return error;
}

bool gv_export_is_openmetrics(const char *head)
{
    static const char begins[] = "# TYPE gpuverify_";

    return strncmp(head, begins, sizeof(begins) - 1) == 0;
}
