#include "report/analyse/idle/listed.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/commands/explain/explain.h"
#include "report/commands/statement_rows.h"
#include "report/commands_explain_idle.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <string.h>

static bool idle_is(const struct gv_idle_listed *row, const char *confidence)
{
    return row->confidence && strcmp(row->confidence, confidence) == 0;
}

/* Of several, that of one on average. */
static int64_t idle_one_ns(const struct gv_idle_listed *row)
{
    return !row->gap && row->gaps > 1 ? row->duration_ns / row->gaps : row->duration_ns;
}

static void idle_title(const struct gv_idle_listed *row, FILE *out)
{
    char took[GV_FORMAT_BYTES];

    fprintf(out, "idle i%" PRId64 "   ", row->id);
    gv_format_text(out, row->reason, 40, 0);
    fprintf(out, "   %s   ", gv_format_duration(took, row->duration_ns));
    gv_format_text(out, row->confidence, 40, 0);
    fputc('\n', out);
}

static void idle_what(const struct gv_idle_listed *row, FILE *text)
{
    char took[GV_FORMAT_BYTES], one[GV_FORMAT_BYTES];

    if (row->device >= 0)
        fprintf(text, "Device %" PRId64, row->device);
    else
        fputs("The GPU", text);
    fprintf(text, " had no work for %s%s, ", row->device < 0 ? "at least " : "",
            gv_format_duration(took, row->duration_ns));
    if (!row->gap && row->gaps > 1)
        fprintf(text,
                "in %" PRId64
                " parts of shorter idle times, %s each on average, the longest %.3f s into the run",
                row->gaps, gv_format_duration(one, idle_one_ns(row)), (double)row->start_ns / 1e9);
    else
        fprintf(text, "%.3f s into the run", (double)row->start_ns / 1e9);
    if (row->next_name)
        fprintf(text, ", until " GV_EXPLAIN_NAME, row->next_name);
    if (row->next_name && row->next_kernel)
        fprintf(text, " of " GV_EXPLAIN_NAME, row->next_kernel);
    if (!row->next_call && row->gap)
        fputs(" and until its process's end", text);
    if (row->thread)
        fprintf(text, "%s thread %" PRId64, row->next_call ? " on" : "; it was the time of",
                row->thread);
    if (row->thread && row->thread_name)
        fprintf(text, " (" GV_EXPLAIN_NAME ")", row->thread_name);
    fputc('.', text);
    if (row->previous_name)
        fprintf(text, "\nThe call that gave it work before was " GV_EXPLAIN_NAME ".",
                row->previous_name);
}

static void idle_why(const struct gv_idle_listed *row, FILE *text)
{
    unsigned what = gv_account_find(row->reason);

    /* A stall's cause has a sentence. */
    fprintf(text, "%s%s", what < GV_ACCOUNTS ? "What it was: " : "", gv_account_say(what).meaning);
    if (row->detail)
        fprintf(text, " (" GV_EXPLAIN_NAME ")", row->detail);
    fputc('.', text);
    if (idle_is(row, "inferred"))
        fputs(" Inferred from the calls.", text);
    else if (row->samples > 0)
        fprintf(text, " Seen %" PRId64 " time%s%s.", row->samples, gv_format_plural(row->samples),
                idle_is(row, "grouped") ? ", between the same two calls" : "");
}

struct idle_all {
    int64_t ns, gaps;
};

static int idle_take_all(void *context, sqlite3_stmt *row)
{
    *(struct idle_all *)context =
        (struct idle_all){gv_time_column(row, 0), sqlite3_column_int64(row, 1)};
    return 0;
}

/* All idle time for this reason at this line, where a finding is of one phase. */
static void idle_all(const struct gv_idle_listed *row, struct gv_explain_out *to)
{
    struct idle_all all = {0};
    char total[GV_FORMAT_BYTES], line[64] = "";

    if (!to->error)
        to->error = gv_stack_text(to->trace, row->stack, 1, line, sizeof(line));
    if (!to->error)
        to->error = gv_database_each(to->trace, sql_idle_all, &row->id, 1, idle_take_all, &all);
    if (all.gaps > 0)
        fprintf(to->text,
                "In the whole run, the GPU was idle for this reason%s for %s, in %" PRId64
                " part%s of idle times.",
                line[0] ? " at this line" : "", gv_format_duration(total, all.ns), all.gaps,
                gv_format_plural(all.gaps));
    gv_explain_end(to, "all");
}

void gv_explain_idle(const struct gv_idle_listed *row, struct gv_explain_out *to)
{
    const unsigned what = gv_account_find(row->reason);
    const char *advice = gv_account_say(what).advice;
    struct gv_timeline_focus focus = {
        .process = row->process,
        .thread = row->thread,
        .idle = true,
        .start_ns = row->start_ns,
        .end_ns = gv_time_sum(row->start_ns, idle_one_ns(row)),
    };

    if (!to->json)
        idle_title(row, to->out);
    else if (!to->error)
        to->error = gv_database_each(to->trace, sql_idle_fields, &row->id, 1,
                                     gv_statement_rows_object, to->json);
    idle_what(row, to->text);
    gv_explain_end(to, "what");
    idle_why(row, to->text);
    gv_explain_end(to, "why");
    gv_timeline_print(&focus, to);
    gv_explain_stack(to, "where", row->stack, GV_EXPLAIN_FRAMES);
    idle_all(row, to);
    if (!to->has_fix && !to->error)
        to->error = gv_database_each(to->trace, sql_idle_fix, &row->id, 1, gv_explain_take_fix, to);
    if (!to->has_fix)
        gv_explain_lines(to, "fix",
                         advice[0] || what < GV_ACCOUNTS
                             ? advice
                             : "What to do depends on the call: gpuverify stalls lists them.");
}
