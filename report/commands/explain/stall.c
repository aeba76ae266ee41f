#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/causes.h"
#include "report/commands/explain/explain.h"
#include "report/show/format.h"
#include "report/store/database.h"
#include "trace/call_table.h"

#include <inttypes.h>
#include <string.h>

#define GV_EXPLAIN_WHERE_BYTES 8192
#define GV_EXPLAIN_BEHIND      5
#define GV_EXPLAIN_CHAIN       8

const char *gv_explain_why(const char *cause, bool *waits)
{
    enum gv_cause known = cause ? gv_cause_find(cause) : GV_CAUSE_COUNT;

    *waits = gv_cause_waits(known);
    return known == GV_CAUSE_COUNT ? "This version does not know the cause" : gv_cause_why(known);
}

static void explain_title(const struct gv_stall_row *row, FILE *out)
{
    char lost[GV_FORMAT_BYTES];

    fprintf(out, "stall s%" PRId64 "   ", row->id);
    gv_format_text(out, row->cause, 40, 0);
    fprintf(out, "   %s %s   ", gv_format_duration(lost, gv_stall_lost_ns(row)),
            row->expected ? "waited, as requested" : "lost");
    gv_format_text(out, row->confidence, 40, 0);
    fputc('\n', out);
}

static void explain_fields(const struct gv_stall_row *row, struct gv_json *json)
{
    gv_json_number(json, "id", row->id);
    gv_json_number(json, "start_ns", row->start_ns);
    gv_json_number(json, "duration_ns", row->duration_ns);
    gv_json_number(json, "wait_ns", row->wait_ns);
    gv_json_number(json, "work_ns", row->work_ns);
    gv_json_number(json, "jit_ns", row->jit_ns);
    gv_json_number(json, "process", row->process);
    gv_json_number(json, "thread", row->thread);
    gv_json_text(json, "name", row->name);
    gv_json_text(json, "kernel", row->kernel);
    gv_json_text(json, "cause", row->cause);
    gv_json_text(json, "confidence", row->confidence);
    gv_json_text(json, "waited_for_name", row->waited_name);
    gv_json_text(json, "blocked_by_name", row->blocked_name);
    gv_json_text(json, "other_name", row->other_name);
    gv_json_text(json, "other_did", row->other_did);
    gv_json_text(json, "host_function_name", row->host_name);
    gv_json_text(json, "profiler", row->profiler);
    gv_json_bool(json, "expected", row->expected);
    gv_json_known(json, "blocked_by_stall", row->blocked_stall, row->blocked_stall != 0);
    gv_json_known(json, "other_pid", row->other_pid, row->other_pid != 0);
}

static void explain_what(const struct gv_stall_row *row, FILE *text)
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
    fprintf(text, " took %s, %.3f s into the run", gv_format_duration(took, row->duration_ns),
            (double)row->start_ns / 1e9);
}

static void explain_drained(const struct gv_stall_row *row, FILE *text)
{
    char span[GV_FORMAT_BYTES];

    if (row->host_function) {
        fprintf(text, ". A host function was running or queued, and ended %.3f s into the run",
                (double)row->host_end_ns / 1e9);
        return;
    }
    if (row->waited_for == 0)
        return;
    if (row->drained_count > 1)
        fprintf(text,
                ". %" PRId64 " operations were running or queued (%s in all); the last"
                " one, " GV_EXPLAIN_NAME ", ended %.3f s into the run",
                row->drained_count, gv_format_duration(span, row->drained_ns),
                row->waited_name ? row->waited_name : "without a name",
                (double)row->waited_end_ns / 1e9);
    else
        fprintf(text, ". " GV_EXPLAIN_NAME " was running or queued, and ended %.3f s into the run",
                row->waited_name ? row->waited_name : "An operation without a name",
                (double)row->waited_end_ns / 1e9);
}

static void explain_other(const struct gv_stall_row *row, FILE *text)
{
    if (row->other_pid)
        fprintf(text, "process %" PRId64, row->other_pid);
    else
        fputs("one that cannot be named", text);
    if (row->other_name)
        fprintf(text, " (" GV_EXPLAIN_NAME ")", row->other_name);
    if (strcmp(row->other_did, "start") == 0)
        fputs(" started", text);
    else if (strcmp(row->other_did, "end") == 0)
        fputs(" ended", text);
    else if (strcmp(row->other_did, "use") == 0)
        fputs(" used the GPU", text);
}

/* Why the stall is inferred. */
static const char *explain_unseen(const struct gv_stall_row *row, char *out, size_t size)
{
    if (row->profiler)
        snprintf(out, size, "%.100s had the GPU side at that time", row->profiler);
    return row->profiler ? out : "GPU activity was not recorded";
}

static void explain_because(const struct gv_stall_row *row, FILE *text)
{
    char wait[GV_FORMAT_BYTES], jit[GV_FORMAT_BYTES], work[GV_FORMAT_BYTES], who[160];
    bool waits;

    fputs(gv_explain_why(row->cause, &waits), text);
    if (row->blocked_by) {
        fprintf(text, ": " GV_EXPLAIN_NAME " on thread %" PRId64,
                row->blocked_name ? row->blocked_name : "a call", row->blocked_thread);
        if (row->blocked_stall)
            fprintf(text, " (stall s%" PRId64 ")", row->blocked_stall);
    }
    if (row->other_did) {
        fputs(row->blocked_by ? " of " : ": ", text);
        explain_other(row, text);
    }
    if (waits || row->blocked_by)
        explain_drained(row, text);
    if (row->unsure)
        fputs("; and PTX that is new to the driver has to be compiled", text);
    if (gv_cause_is_unknown(row->cause)) {
        fputc('.', text);
        return;
    }
    if (row->cause && strcmp(row->cause, gv_cause_name(GV_CAUSE_DESCHEDULED)) == 0) {
        fprintf(text, ", for at least %s by the Linux kernel's count.",
                gv_format_duration(wait, row->wait_ns));
        return;
    }
    /* CUPTI's records of cached code say some nanoseconds. */
    bool compiled = row->jit_ns > row->duration_ns / 1000;
    fputs(". The call ", text);
    if (row->wait_ns > 0 || !compiled)
        fprintf(text, "waited %s%s%s", row->unsure ? "or compiled for " : "",
                gv_format_duration(wait, row->wait_ns), compiled ? ", " : "");
    if (compiled)
        fprintf(text, "compiled for %s", gv_format_duration(jit, row->jit_ns));
    if (row->work_ns > 0)
        fprintf(text, " and worked for %s", gv_format_duration(work, row->work_ns));
    fputc('.', text);
    if (row->other_did)
        fputs(" Inferred: they coincide, and nothing else explains the call.", text);
    else if (row->unsure)
        fprintf(text, " %s, so it may be either.", explain_unseen(row, who, sizeof(who)));
    else if (row->confidence && strcmp(row->confidence, "inferred") == 0)
        fprintf(text, " Inferred from the calls%s: %s.",
                row->cause && strcmp(row->cause, "pageable-copy") == 0
                    ? ", as is the kind of host memory"
                    : "",
                explain_unseen(row, who, sizeof(who)));
}

/* The host function that most of the wait was for. */
static void explain_host(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    char where[GV_EXPLAIN_WHERE_BYTES], ran[GV_FORMAT_BYTES];

    if (!to->error)
        to->error = gv_stack_text(to->trace, row->host_stack, 1, where, sizeof(where));
    if (to->error || !row->host_function)
        return;
    fprintf(to->text, GV_EXPLAIN_NAME " ran on the CPU for %s, in its turn in a stream%s%s",
            row->host_name ? row->host_name : "a function without a name",
            gv_format_duration(ran, row->host_ns), where[0] ? "; launched at " : "", where);
    gv_explain_end(to, "host");
}

/* Who else was delayed by this call. */
static void explain_behind(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    struct gv_stall_filter filter = {
        .blocked_by = row->call, .limit = GV_EXPLAIN_BEHIND + 1, .people = true};
    struct gv_stall_rows rows = {0};
    int64_t some = 0;

    if (!to->error) /* the rows cost far more than this, and most calls delayed nobody */
        to->error = gv_database_number(to->trace,
                                       "SELECT EXISTS (SELECT 1 FROM stalls WHERE blocked_by = ?1)",
                                       &row->call, 1, &some);
    if (!to->error && some)
        to->error = gv_stall_rows_read(to->trace, &filter, &rows);
    for (size_t i = 0; i < rows.count && !to->error; i++) {
        const struct gv_stall_row *behind = &rows.rows[i];
        char lost[GV_FORMAT_BYTES];
        if (i == GV_EXPLAIN_BEHIND)
            fputs("\nand more", to->text);
        else
            fprintf(to->text,
                    "%sthread %" PRId64 " lost %s waiting for it: " GV_EXPLAIN_NAME
                    " (stall s%" PRId64 ")",
                    i ? "\n" : "", behind->thread,
                    gv_format_duration(lost, gv_stall_lost_ns(behind)),
                    behind->name ? behind->name : "a call", behind->id);
    }
    gv_stall_rows_free(&rows);
    gv_explain_end(to, "also");
}

/* A native stack that does not reach the start of its thread. */
static void explain_end(int64_t stack, struct gv_explain_out *to)
{
    static const char sql[] = "SELECT iif(how = 'truncated', 1, 2) FROM stack_end WHERE stack = ?1"
                              " AND stack NOT IN (SELECT stack FROM frame WHERE kind = 'python')";
    int64_t how = 0;

    to->error = gv_database_number(to->trace, sql, &stack, 1, &how);
    if (how)
        gv_explain_lines(
            to, "stack",
            how == 1 ? "Its outermost frames are missing: it is deeper than what is copied."
                     : "Its outermost frames are missing: where it ends, a coroutine begins,"
                       " or code that has no unwind tables.");
}

/* Why the blocking call was itself blocked. */
static void explain_chain(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    int64_t next = row->blocked_stall, seen = 0;

    while (next && seen++ < GV_EXPLAIN_CHAIN && !to->error) {
        struct gv_stall_filter filter = {.id = next, .expected = true, .people = true};
        struct gv_stall_rows rows;
        char lost[GV_FORMAT_BYTES];

        next = 0;
        to->error = gv_stall_rows_read(to->trace, &filter, &rows);
        if (!to->error && rows.count) {
            const struct gv_stall_row *by = &rows.rows[0];
            fprintf(to->text,
                    "%sstall s%" PRId64 ", " GV_EXPLAIN_NAME " on thread %" PRId64
                    ", lost %s (" GV_EXPLAIN_NAME ")%s" GV_EXPLAIN_NAME "%s",
                    seen > 1 ? "\n" : "", by->id, by->name ? by->name : "a call", by->thread,
                    gv_format_duration(lost, gv_stall_lost_ns(by)), by->cause ? by->cause : "?",
                    by->waited_name ? ", until " : "", by->waited_name ? by->waited_name : "",
                    by->waited_name ? " ended" : "");
            next = by->blocked_stall != by->id ? by->blocked_stall : 0;
        }
        gv_stall_rows_free(&rows);
    }
    gv_explain_end(to, "chain");
}

void gv_explain_stall(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    struct gv_timeline_focus focus = {
        .process = row->process,
        .thread = row->thread,
        .other_thread = row->blocked_thread,
        .call = row->call,
        .start_ns = row->start_ns,
        .end_ns = gv_time_sum(row->start_ns, row->duration_ns),
    };

    if (to->json)
        explain_fields(row, to->json);
    else
        explain_title(row, to->out);
    explain_what(row, to->text);
    gv_explain_end(to, "what");
    explain_because(row, to->text);
    gv_explain_end(to, "why");
    explain_host(row, to);
    gv_timeline_print(&focus, to);
    if (gv_explain_stack(to, "where", row->stack, GV_EXPLAIN_FRAMES)) {
        if (row->stack_of_other)
            gv_explain_lines(to, "stack", "That of an earlier call of the same site.");
        explain_end(row->stack, to);
    }
    explain_chain(row, to);
    explain_behind(row, to);
    gv_explain_probe(row, to);
    gv_explain_gain(row, to);
    gv_explain_lines(to, gv_cause_is_unknown(row->cause) ? "note" : "fix", row->advice);
}
