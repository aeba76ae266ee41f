#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/rules.h"
#include "report/commands/explain/explain.h"
#include "report/commands/explain/gain.h"
#include "report/commands/explain/lines.h"
#include "report/commands/explain/probe.h"
#include "report/commands/explain/timeline.h"
#include "report/show/format.h"
#include "trace/call_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_EXPLAIN_FRAMES      6
#define GV_EXPLAIN_WHERE_BYTES 8192
#define GV_EXPLAIN_BEHIND      5
#define GV_EXPLAIN_CHAIN       8

const char *gv_explain_why(const char *cause, bool *waits)
{
    enum gv_cause known = cause ? gv_cause_find(cause) : GV_CAUSE_COUNT;

    *waits = gv_cause_waits(known);
    return known == GV_CAUSE_COUNT ? "This version does not know the cause" : gv_cause_why(known);
}

static void gv_explain_title(const struct gv_stall_row *row, FILE *out)
{
    char lost[GV_FORMAT_BYTES];

    fprintf(out, "stall %" PRId64 "   ", row->id);
    gv_format_text(out, row->cause, 40, 0);
    fprintf(out, "   %s %s   ", gv_format_duration(lost, gv_stall_lost_ns(row)),
            row->expected ? "waited, as asked" : "lost");
    gv_format_text(out, row->confidence, 40, 0);
    fputc('\n', out);
}

static void gv_explain_what(const struct gv_stall_row *row, FILE *text)
{
    char took[GV_FORMAT_BYTES];

    fprintf(text, GV_EXPLAIN_NAME, row->name ? row->name : "a call");
    if (row->kernel)
        fprintf(text, " of " GV_EXPLAIN_NAME, row->kernel);
    if (row->kernel && row->cause && strcmp(row->cause, "lazy-load") == 0)
        fputs(gv_call_kind_find(row->name ? row->name : "", "") == GV_KIND_LAUNCH
                  ? " (its first launch)"
                  : " (its first use)",
              text);
    fprintf(text, ", %.3f s into the run, returned after %s", (double)row->start_ns / 1e9,
            gv_format_duration(took, row->duration_ns));
}

static void gv_explain_drained(const struct gv_stall_row *row, FILE *text)
{
    char span[GV_FORMAT_BYTES];

    if (row->waited_for == 0)
        return;
    if (row->drained_count > 1)
        fprintf(text,
                ". %" PRId64 " operations were running or queued, for %s together; the last of "
                "them, " GV_EXPLAIN_NAME ", ended %.3f s into the run",
                row->drained_count, gv_format_duration(span, row->drained_ns),
                row->waited_name ? row->waited_name : "one without a name",
                (double)row->waited_end_ns / 1e9);
    else
        fprintf(text, ". " GV_EXPLAIN_NAME " was running or queued, and ended %.3f s into the run",
                row->waited_name ? row->waited_name : "An operation without a name",
                (double)row->waited_end_ns / 1e9);
}

static void gv_explain_because(const struct gv_stall_row *row, FILE *text)
{
    char wait[GV_FORMAT_BYTES], jit[GV_FORMAT_BYTES], work[GV_FORMAT_BYTES];
    bool waits;

    fputs(gv_explain_why(row->cause, &waits), text);
    if (row->blocked_by) {
        fprintf(text, ": " GV_EXPLAIN_NAME " on thread %" PRId64,
                row->blocked_name ? row->blocked_name : "a call", row->blocked_thread);
        if (row->blocked_stall)
            fprintf(text, " (stall %" PRId64 ")", row->blocked_stall);
    }
    if (waits || row->blocked_by)
        gv_explain_drained(row, text);
    if (row->unsure)
        fputs("; and PTX that is new to the driver has to be compiled", text);
    if (gv_cause_is_unknown(row->cause)) {
        fputc('.', text);
        return;
    }
    if (row->cause && strcmp(row->cause, gv_cause_name(GV_CAUSE_DESCHEDULED)) == 0) {
        fprintf(text, ": for at least %s, as measured by the Linux kernel.",
                gv_format_duration(wait, row->wait_ns));
        return;
    }
    fprintf(text, ". Of its time, it waited %s%s", row->unsure ? "or compiled for " : "",
            gv_format_duration(wait, row->wait_ns));
    /* CUPTI's records of cached code say some nanoseconds. */
    if (row->jit_ns > row->duration_ns / 1000)
        fprintf(text, ", compiled for %s", gv_format_duration(jit, row->jit_ns));
    fprintf(text, " and did %s of work of its own.", gv_format_duration(work, row->work_ns));
    if (row->unsure)
        fputs(" The GPU's side was not seen, so which of the two it was is not known.", text);
    else if (row->confidence && strcmp(row->confidence, "inferred") == 0)
        fputs(row->cause && strcmp(row->cause, "pageable-copy") == 0
                  ? " The GPU's side was not seen: that the call waited follows from the calls "
                    "alone, and that its host memory is pageable only from that."
                  : " The GPU's side was not seen: this follows from the calls alone.",
              text);
}

/* A paragraph that a function writes. */
static int gv_explain_section(FILE *out, const char *title, int columns,
                              void (*write)(const struct gv_stall_row *, FILE *),
                              const struct gv_stall_row *row)
{
    struct gv_explain_paragraph paragraph;
    FILE *text = gv_explain_paragraph_begin(&paragraph);

    if (!text)
        return -ENOMEM;
    write(row, text);
    return gv_explain_paragraph_end(&paragraph, out, title, columns);
}

static void gv_explain_behind_one(const struct gv_stall_row *row, FILE *text)
{
    char lost[GV_FORMAT_BYTES];

    fprintf(text, "thread %" PRId64 " lost %s behind it: " GV_EXPLAIN_NAME " (stall %" PRId64 ")",
            row->thread, gv_format_duration(lost, gv_stall_lost_ns(row)),
            row->name ? row->name : "a call", row->id);
}

/* Who else was held up by this call. */
static int gv_explain_behind(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns)
{
    struct gv_stall_filter filter = {
        .blocked_by = row->call, .limit = GV_EXPLAIN_BEHIND + 1, .people = true};
    struct gv_stall_rows rows;
    int error = gv_stall_rows_read(trace, &filter, &rows);

    for (size_t i = 0; i < rows.count && i < GV_EXPLAIN_BEHIND && !error; i++)
        error =
            gv_explain_section(out, i ? "" : "also", columns, gv_explain_behind_one, &rows.rows[i]);
    if (!error && rows.count > GV_EXPLAIN_BEHIND)
        gv_explain_lines(out, "", "and more", columns);
    gv_stall_rows_free(&rows);
    return error;
}

/* What the call that stood in the way was itself held up by. */
static int gv_explain_chain(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns)
{
    int64_t next = row->blocked_stall, seen = 0;
    int error = 0;

    while (next && seen++ < GV_EXPLAIN_CHAIN && !error) {
        struct gv_stall_filter filter = {.id = next, .expected = true, .people = true};
        struct gv_stall_rows rows;
        char line[1024], lost[GV_FORMAT_BYTES];

        next = 0;
        error = gv_stall_rows_read(trace, &filter, &rows);
        if (!error && rows.count) {
            const struct gv_stall_row *by = &rows.rows[0];
            snprintf(line, sizeof(line),
                     "stall %" PRId64 ", " GV_EXPLAIN_NAME " of thread %" PRId64
                     ", is a " GV_EXPLAIN_NAME ": %s lost%s" GV_EXPLAIN_NAME,
                     by->id, by->name ? by->name : "a call", by->thread, by->cause,
                     gv_format_duration(lost, gv_stall_lost_ns(by)),
                     by->waited_name ? ", until the end of " : "",
                     by->waited_name ? by->waited_name : "");
            gv_explain_lines(out, seen == 1 ? "chain" : "", line, columns);
            next = by->blocked_stall != by->id ? by->blocked_stall : 0;
        }
        gv_stall_rows_free(&rows);
    }
    return error;
}

int gv_explain_stall(sqlite3 *trace, const struct gv_stall_row *row, FILE *out, int columns)
{
    char where[GV_EXPLAIN_WHERE_BYTES];
    struct gv_timeline_focus focus = {
        .process = row->process,
        .thread = row->thread,
        .other_thread = row->blocked_thread,
        .call = row->call,
        .start_ns = row->start_ns,
        .end_ns = gv_time_sum(row->start_ns, row->duration_ns),
    };
    int error;

    gv_explain_title(row, out);
    error = gv_explain_section(out, "what", columns, gv_explain_what, row);
    if (!error)
        error = gv_explain_section(out, "why", columns, gv_explain_because, row);
    if (!error)
        error = gv_timeline_print(trace, &focus, out, columns);
    if (!error)
        error = gv_stack_text(trace, row->stack, GV_EXPLAIN_FRAMES, where, sizeof(where));
    if (!error && where[0])
        gv_explain_lines(out, "where", where, columns);
    if (!error)
        error = gv_explain_chain(trace, row, out, columns);
    if (!error)
        error = gv_explain_behind(trace, row, out, columns);
    if (!error)
        error = gv_explain_probe(trace, row, out, columns);
    if (!error)
        error = gv_explain_gain(trace, row, out, columns);
    if (!error && row->advice)
        gv_explain_lines(out, gv_cause_is_unknown(row->cause) ? "note" : "fix", row->advice,
                         columns);
    return error;
}
