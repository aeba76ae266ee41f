#include "report/analyse/ended.h"
#include "report/analyse/names/kernel_name.h"
#include "report/store/time_sum.h"
#include "report/commands/explain/explain.h"
#include "report/commands/statement_rows.h"
#include "report/commands_explain_flights.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <string.h>

/* How much to draw of a call with an unknown duration. */
#define GV_FLIGHT_UNKNOWN_NS 1000000

enum gv_flight_column {
    GV_FLIGHT_PID,
    GV_FLIGHT_THREAD,
    GV_FLIGHT_NAME,
    GV_FLIGHT_KERNEL,
    GV_FLIGHT_START,
    GV_FLIGHT_ELAPSED,
    GV_FLIGHT_CAUSE,
    GV_FLIGHT_CONFIDENCE,
    GV_FLIGHT_BLOCKED_BY,
    GV_FLIGHT_ENDED,
    GV_FLIGHT_FIELDS, /* of JSON: those before */
    GV_FLIGHT_PROCESS = GV_FLIGHT_FIELDS,
    GV_FLIGHT_STATE,
    GV_FLIGHT_ADVICE,
    GV_FLIGHT_SIGNAL,
};

static const char *flight_text(sqlite3_stmt *row, enum gv_flight_column column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static void explain_flight_what(sqlite3_stmt *row, FILE *text)
{
    const char *name = flight_text(row, GV_FLIGHT_NAME);
    char kernel[GV_KERNEL_NAME_BYTES];
    bool ended = sqlite3_column_type(row, GV_FLIGHT_ENDED) != SQLITE_NULL;
    char elapsed[GV_FORMAT_BYTES];

    gv_kernel_name_short(flight_text(row, GV_FLIGHT_KERNEL), kernel, sizeof(kernel));
    fprintf(text,
            "thread %lld of process %lld called " GV_EXPLAIN_NAME "%s" GV_EXPLAIN_NAME
            " %.3f s into the run;",
            sqlite3_column_int64(row, GV_FLIGHT_THREAD), sqlite3_column_int64(row, GV_FLIGHT_PID),
            name ? name : "a call", kernel[0] ? " of " : "", kernel,
            (double)sqlite3_column_int64(row, GV_FLIGHT_START) / 1e9);
    fputs(ended ? " the process ended in that call" : " it has not returned", text);
    if (sqlite3_column_type(row, GV_FLIGHT_ELAPSED) != SQLITE_NULL)
        fprintf(text, " after %s",
                gv_format_duration(elapsed, sqlite3_column_int64(row, GV_FLIGHT_ELAPSED)));
}

/* If nothing explains the call, the end of its process may. */
static void explain_flight_unknown(sqlite3_stmt *row, FILE *text)
{
    const char *ended = flight_text(row, GV_FLIGHT_ENDED);
    int64_t signal = sqlite3_column_int64(row, GV_FLIGHT_SIGNAL);
    char how[64];

    fputs("Nothing recorded explains it: the process ", text);
    if (ended && strcmp(ended, "exec") == 0)
        fputs("called exec", text);
    else if (ended && strcmp(ended, "exit") == 0)
        fputs("exited", text);
    else if (signal > 0)
        fputs(gv_ended_say(signal, how, sizeof(how)), text);
    else
        fputs("was killed or crashed", text);
    fputs(" before the call returned.", text);
}

static void explain_flight_why(sqlite3_stmt *row, FILE *text)
{
    const char *cause = flight_text(row, GV_FLIGHT_CAUSE);
    bool waits;

    if (cause && strcmp(cause, "unknown") == 0 &&
        sqlite3_column_type(row, GV_FLIGHT_ENDED) != SQLITE_NULL) {
        explain_flight_unknown(row, text);
        return;
    }
    fputs(gv_explain_why(flight_text(row, GV_FLIGHT_CAUSE), &waits), text);
    if (sqlite3_column_type(row, GV_FLIGHT_BLOCKED_BY) != SQLITE_NULL)
        fprintf(text, ": thread %lld", sqlite3_column_int64(row, GV_FLIGHT_BLOCKED_BY));
    fputc('.', text);
}

static void explain_flight_title(sqlite3_stmt *row, FILE *out)
{
    const char *cause = flight_text(row, GV_FLIGHT_CAUSE);

    fputs("not returned   ", out);
    gv_format_text(out, cause ? cause : "unknown", 40, 0);
    fputs("   ", out);
    gv_format_text(out, flight_text(row, GV_FLIGHT_CONFIDENCE), 40, 0);
    fputc('\n', out);
}

static int explain_flight(void *context, sqlite3_stmt *row)
{
    struct gv_explain_out *to = context;
    const char *cause = flight_text(row, GV_FLIGHT_CAUSE);
    int64_t start_ns = sqlite3_column_int64(row, GV_FLIGHT_START);
    struct gv_timeline_focus focus = {
        .process = sqlite3_column_int64(row, GV_FLIGHT_PROCESS),
        .thread = sqlite3_column_int64(row, GV_FLIGHT_THREAD),
        .other_thread = sqlite3_column_int64(row, GV_FLIGHT_BLOCKED_BY),
        .start_ns = start_ns,
        .end_ns = gv_time_sum(start_ns, sqlite3_column_int64(row, GV_FLIGHT_ELAPSED)),
    };
    struct gv_explain_hang hang = {
        .process = focus.process,
        .pid = sqlite3_column_int64(row, GV_FLIGHT_PID),
        .seen_ns = focus.end_ns,
        .ended = sqlite3_column_type(row, GV_FLIGHT_ENDED) != SQLITE_NULL,
    };

    if (sqlite3_column_type(row, GV_FLIGHT_ELAPSED) == SQLITE_NULL)
        focus.end_ns = gv_time_sum(start_ns, GV_FLIGHT_UNKNOWN_NS);
    gv_explain_open(to, NULL);
    if (to->json)
        gv_statement_rows_fields(row, GV_FLIGHT_FIELDS, to->json);
    else
        explain_flight_title(row, to->out);
    explain_flight_what(row, to->text);
    gv_explain_end(to, "what");
    if (cause) {
        explain_flight_why(row, to->text);
        gv_explain_end(to, "why");
    }
    gv_timeline_print(&focus, to);
    gv_explain_lines(to, "state", flight_text(row, GV_FLIGHT_STATE));
    if (cause && strcmp(cause, "unknown") != 0 && focus.end_ns > start_ns)
        gv_explain_hang(&hang, to);
    gv_explain_lines(to, "fix", flight_text(row, GV_FLIGHT_ADVICE));
    gv_explain_close(to);
    return to->error;
}

void gv_explain_flights(struct gv_explain_out *to)
{
    if (!to->error)
        to->error = gv_database_each(to->trace, sql_flights, NULL, 0, explain_flight, to);
}
