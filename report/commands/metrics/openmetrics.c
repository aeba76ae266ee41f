#include "report/commands/metrics/openmetrics.h"

#include "report/commands/export/export.h"
#include "report/commands/sql_values.h"
#include "report/commands_metrics_sums.inc"
#include "report/store/database.h"
#include "trace/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#define GV_METRIC_LABEL_BYTES 201

enum metric_type { METRIC_info, METRIC_gauge, METRIC_counter };
enum metric_value { METRIC_count = 3, METRIC_ns = 4 }; /* columns of sql_read */

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

static void metric_label(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[0]);
    char label[GV_METRIC_LABEL_BYTES];

    (void)count;
    gv_text_escape(label, sizeof(label), text ? text : "?");
    sqlite3_result_text(context, label, -1, SQLITE_TRANSIENT);
}

int gv_openmetrics_register(sqlite3 *database)
{
    int error = gv_sql_values_register(database, false);

    return error ? error
                 : gv_database_error(database,
                                     sqlite3_create_function(database, "gv_label", 1,
                                                             SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                                             metric_label, NULL, NULL));
}

/* What is written at the moment. */
struct metric_output {
    FILE *out;
    const struct metric *metric;
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

static int metric_row(void *context, sqlite3_stmt *row)
{
    const struct metric_output *output = context;
    const struct metric *metric = output->metric;
    const char *one = (const char *)sqlite3_column_text(row, 1);
    const char *two = (const char *)sqlite3_column_text(row, 2);
    int64_t value = sqlite3_column_int64(row, metric->value);

    if (strcmp((const char *)sqlite3_column_text(row, 0), metric->kind) != 0)
        return 0;
    fprintf(output->out, "%s%s", metric->name, metric_types[metric->type].suffix);
    if (*metric->one) {
        fputc('{', output->out);
        metric_write_label(output->out, metric->one, one ? one : "");
        if (*metric->two) {
            fputc(',', output->out);
            metric_write_label(output->out, metric->two, two ? two : "");
        }
        fputc('}', output->out);
    }
    value = value > 0 ? value : 0;
    if (metric->value == METRIC_ns)
        fprintf(output->out, " %" PRId64 ".%09" PRId64 "\n", value / 1000000000,
                value % 1000000000);
    else
        fprintf(output->out, " %" PRId64 "\n", value);
    return 0;
}

int gv_openmetrics_write(sqlite3 *database, FILE *out)
{
    int error = 0;

    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && !error; i++) {
        struct metric_output output = {out, &metrics[i]};
        fprintf(out, "# TYPE %s %s\n", metrics[i].name, metric_types[metrics[i].type].name);
        if (*metrics[i].unit)
            fprintf(out, "# UNIT %s %s\n", metrics[i].name, metrics[i].unit);
        fprintf(out, "# HELP %s %s.\n", metrics[i].name, metrics[i].help);
        error = gv_database_each(database, sql_read, NULL, 0, metric_row, &output);
    }
    if (!error)
        fputs("# EOF\n", out);
    return error;
}

/* Once, of a whole trace. */
int gv_export_openmetrics(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    int error = gv_openmetrics_register(trace);

    (void)what;
    if (!error)
        error = gv_database_script(trace, sql_once, NULL, 0);
    return error ? error : gv_openmetrics_write(trace, out);
}

bool gv_export_is_openmetrics(const char *head)
{
    static const char begins[] = "# TYPE gpuverify_";

    return strncmp(head, begins, sizeof(begins) - 1) == 0;
}
