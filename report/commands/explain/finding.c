/* One finding: what of the ledger it is made of, and where in the code. */
#include "report/analyse/names/stack_text.h"
#include "report/commands/explain/explain.h"
#include "report/commands_explain_finding.inc"
#include "report/commands/statement_rows.h"
#include "report/show/format.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <inttypes.h>
#include <string.h>

struct telling {
    struct gv_explain_out *to;
    int64_t steps;
    int64_t stack, told;
    char line[400];
    struct gv_finding_evidence evidence;
};

/* The columns are those of the query `finding`. */
static int tell_finding(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    struct gv_explain_out *to = telling->to;
    int64_t lost_ns = gv_time_column_duration(row, 3), steps;
    int64_t saves_ns = gv_time_column_duration(row, 4), count = sqlite3_column_int64(row, 7);
    bool seldom = sqlite3_column_type(row, 17) != SQLITE_NULL,
         saves = sqlite3_column_type(row, 4) != SQLITE_NULL;
    char lost[GV_FORMAT_BYTES], each[GV_FORMAT_BYTES], error[GV_FORMAT_BYTES];

    telling->steps = steps = seldom ? 0 : sqlite3_column_int64(row, 6);
    snprintf(telling->line, sizeof(telling->line), "%s", gv_database_text(row, 10));
    telling->stack = sqlite3_column_int64(row, 13);
    telling->evidence =
        (struct gv_finding_evidence){sqlite3_column_int64(row, 14), sqlite3_column_int64(row, 15)};
    if (!to->json) {
        fprintf(to->out, "finding f%" PRId64 "   ", (int64_t)sqlite3_column_int64(row, 0));
        gv_format_text(to->out, gv_database_text(row, 1), 40, 0);
        if (lost_ns > 0)
            fprintf(to->out, "   %s   %.*f %% of", gv_format_duration(lost, lost_ns),
                    sqlite3_column_double(row, 5) < 0.0095 ? 1 : 0,
                    100 * sqlite3_column_double(row, 5));
        else
            fputs("   loses nothing in", to->out);
        fprintf(to->out, " %s   ", gv_database_text(row, 2));
        gv_format_text(to->out, gv_database_text(row, 9), 40, 0);
        fputc('\n', to->out);
    }
    fprintf(to->text, GV_EXPLAIN_NAME "%s%.900s.", gv_database_text(row, 10),
            gv_database_text(row, 10)[0] && gv_database_text(row, 11)[0] ? ": " : "",
            gv_database_text(row, 11));
    if (steps > 0 && lost_ns > 0)
        fprintf(to->text, " %s a step, in %" PRId64 " steps.",
                gv_format_duration(each, lost_ns / steps), steps);
    fprintf(to->text, " %" PRId64 " piece%s of time", count, gv_format_plural(count));
    if (sqlite3_column_int64(row, 8) > 0)
        fprintf(to->text, ", with an error of %s",
                gv_format_duration(error, gv_time_column_duration(row, 8)));
    fputc('.', to->text);
    if (saves)
        fprintf(to->text, " With%s the run is up to %s shorter%s%s.",
                strcmp(gv_database_text(row, 1), "no-cpu") == 0 ? " enough CPUs" : "out it",
                gv_format_duration(lost, saves_ns), gv_database_text(row, 16)[0] ? "; " : "",
                gv_database_text(row, 16));
    gv_explain_end(to, to->json ? "told" : "what");
    return to->error;
}

/* What the time was, by account and line. Whose wait it follows is said where that is not the
 * finding's own line. */
static int tell_row(void *context, sqlite3_stmt *row)
{
    struct telling *telling = context;
    const struct gv_explain_out *to = telling->to;
    char took[GV_FORMAT_BYTES], line[900];
    int64_t ns = gv_time_column_duration(row, 1);
    bool is_of_other =
        gv_database_text(row, 3)[0] && strcmp(gv_database_text(row, 3), telling->line) != 0;

    fprintf(to->out, "  %-8s%8s  %-15.15s",
            telling->told++      ? ""
            : telling->steps > 0 ? "a step"
                                 : "of it",
            gv_format_duration(took, telling->steps > 0 ? ns / telling->steps : ns),
            gv_database_text(row, 0));
    snprintf(line, sizeof(line), "%s%s%.400s",
             gv_database_text(row, 2)[0] ? gv_database_text(row, 2) : "a line that is not known",
             is_of_other ? ", after the wait at " : "",
             is_of_other ? gv_database_text(row, 3) : "");
    gv_text_lines_on(to->out, 37, 36, line, to->columns);
    return 0;
}

static int tell_json(int64_t id, const struct gv_explain_out *to)
{
    int error = gv_database_each(to->trace, "SELECT * FROM findings WHERE id = ?", &id, 1,
                                 gv_statement_rows_object, to->json);

    gv_json_open(to->json, "ledger", '[');
    if (!error)
        error =
            gv_statement_rows_ask(to->trace, sql_rows, &id, 1, to->out, GV_FORMAT_JSON, to->json);
    gv_json_close(to->json, ']');
    return error;
}

struct gv_finding_evidence gv_explain_finding(int64_t id, struct gv_explain_out *to)
{
    struct telling telling = {.to = to};

    if (!to->error)
        to->error = gv_stack_text_install(to->trace);
    if (!to->error && to->json)
        to->error = tell_json(id, to);
    if (!to->error)
        to->error = gv_database_each(to->trace, sql_finding, &id, 1, tell_finding, &telling);
    if (!to->error && !to->json)
        to->error = gv_database_each(to->trace, sql_rows, &id, 1, tell_row, &telling);
    gv_explain_stack(to, "where", telling.stack, GV_EXPLAIN_FRAMES);
    if (!to->error && !to->json)
        to->error = gv_database_each(to->trace, sql_fix, &id, 1, gv_explain_take_fix, to);
    return telling.evidence;
}
