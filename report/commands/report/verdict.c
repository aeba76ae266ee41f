/* The verdict and its facts, for programs. */
#include "report/commands/report/report.h"
#include "report/show/rows.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void gv_report_json_facts(struct gv_report *report)
{
    const struct gv_run_facts *facts = &report->facts;
    const struct {
        const char *key;
        int64_t value;
        bool known;
    } values[] = {
#define GV_REPORT_FACT(key, label, value, known) {key, value, known},
#include "report/commands/report/facts.def"
    };

    gv_json_open(&report->json, "facts", '{');
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        gv_json_known(&report->json, values[i].key, values[i].value, values[i].known);
    gv_json_close(&report->json, '}');
}

struct gv_summary gv_report_summary(const struct gv_report *report)
{
    return (struct gv_summary){
        .trace = report->trace,
        .path = report->path,
        .out = report->out,
        .columns = report->columns,
        .part = &report->part,
        .facts = &report->facts,
        .verdict = &report->verdict,
        .ended = &report->ended,
        .evidence = report->evidence,
    };
}

/* As in text, each on its own line. */
static int report_json_notes(struct gv_report *report)
{
    struct gv_summary summary = gv_report_summary(report);
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;
    FILE *lines = open_memstream(&text, &bytes);
    int error = lines ? 0 : -ENOMEM;

    summary.out = lines;
    summary.columns = INT_MAX;
    if (!error)
        error = gv_summary_print_broken(&summary, true);
    if (!error)
        error = gv_summary_print_notes(&summary, true);
    if (lines && fclose(lines) != 0 && !error)
        error = -ENOMEM;
    gv_json_open(&report->json, "notes", '[');
    for (char *line = error ? NULL : strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strlen(GV_SUMMARY_NOTE);
        gv_json_text(&report->json, NULL, line + strspn(line, " "));
    }
    gv_json_close(&report->json, ']');
    free(text);
    return error;
}

int gv_report_json_verdict(struct gv_report *report)
{
    int error;
    struct gv_json *json = &report->json;
    char next[GV_VERDICT_NEXT_BYTES];

    gv_json_open(json, "verdict", '{');
    gv_json_text(json, "headline", report->verdict.headline);
    gv_json_open(json, "findings", '[');
    for (size_t i = 0; i < report->verdict.count; i++) {
        const struct gv_finding *finding = &report->verdict.findings[i];
        gv_json_open(json, NULL, '{');
        gv_json_text(json, "class", gv_verdict_name(finding->class));
        gv_json_real(json, "weight", finding->weight);
        int64_t saves_ns = gv_summary_saves(&report->facts, finding->class);
        gv_json_known(json, "saves_ns", saves_ns, saves_ns >= 0);
        gv_json_text(json, "evidence", finding->evidence);
        gv_json_text(json, "next", gv_verdict_next_of(finding, report->path, next));
        gv_json_close(json, '}');
    }
    gv_json_close(json, ']');
    error = report_json_notes(report);
    gv_json_close(json, '}');
    return error;
}

int gv_report_csv_verdict(struct gv_report *report)
{
    static const struct gv_column columns[] = {
        {"class", GV_COLUMN_TEXT},
        {"weight", GV_COLUMN_NUMBER},
        {"evidence", GV_COLUMN_TEXT},
        {"next", GV_COLUMN_TEXT},
    };
    char next[GV_VERDICT_NEXT_BYTES];
    struct gv_rows rows;

    gv_rows_begin(&rows, report->out, GV_FORMAT_CSV, columns, sizeof(columns) / sizeof(columns[0]),
                  NULL);
    for (size_t i = 0; i < report->verdict.count; i++) {
        const struct gv_finding *finding = &report->verdict.findings[i];
        gv_rows_text(&rows, gv_verdict_name(finding->class));
        gv_rows_real(&rows, finding->weight);
        gv_rows_text(&rows, finding->evidence);
        gv_rows_text(&rows, gv_verdict_next_of(finding, report->path, next));
    }
    return gv_rows_end(&rows);
}
