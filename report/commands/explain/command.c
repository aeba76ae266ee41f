/* gpuverify explain [FILE] [NAME]: a finding, a stall or an idle time in plain words. */
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/capture_note.h"
#include "report/commands/commands.h"
#include "report/commands/explain/explain.h"
#include "report/commands/offer.h"
#include "report/commands/silence_note.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/show/value_text.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What to explain: the finding, stall or idle time `id`, or if that is 0 the first finding and the
 * calls that have not returned.
 */
struct gv_explain {
    const char *path;
    int64_t id;
    char kind; /* of `id`: f, s or i */
    bool json;
};

/* f1; s15, or 15; i3. 0: it is no such name. */
static int64_t explain_id(const char *word)
{
    int64_t id = 0;
    bool is_named = word[0] == 'f' || word[0] == 's' || word[0] == 'i';

    return gv_value_number(word + is_named, &id) == 0 ? id : 0;
}

static int explain_row(sqlite3 *trace, const struct gv_stall_row *row,
                       const struct gv_explain_out *to)
{
    int error;

    if (!to->json)
        return gv_explain_stall(trace, row, to);
    gv_json_open(to->json, "stall", '{');
    error = gv_explain_stall(trace, row, to);
    gv_json_close(to->json, '}');
    return error;
}

/* One stall: `id`, or if that is 0 the worst. */
static int explain_one(sqlite3 *trace, int64_t id, const struct gv_explain_out *to, int *told)
{
    struct gv_stall_filter filter = {.id = id, .expected = id != 0, .limit = 1, .people = true};
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums = {0};
    char offer[GV_OFFER_BYTES];
    int error = id ? 0 : gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error && rows.count) {
        if (*told && !to->json)
            putchar('\n');
        error = explain_row(trace, &rows.rows[0], to);
        bool unknown = gv_cause_is_unknown(rows.rows[0].cause);
        int64_t count = unknown ? sums.unknown_count : sums.count - sums.unknown_count;
        if (count > 1 && !to->json) {
            putchar('\n');
            gv_text_say(
                stdout, 0, "", to->columns, "The worst of %" PRId64 " %sstalls; %s lists them.",
                count, unknown ? "unexplained " : "",
                gv_offer_fill(offer, sizeof(offer), "gpuverify stalls FILE", to->path, false));
        }
        *told += 1;
    } else if (to->json) {
        gv_json_null(to->json, "stall");
    }
    gv_stall_rows_free(&rows);
    return error;
}

static int explain_idle(sqlite3 *trace, int64_t id, const struct gv_explain_out *to, int *told)
{
    struct gv_idle_filter filter = {.id = id, .device = -1};
    struct gv_idle_list rows;
    int error = gv_idle_listed_read(trace, &filter, &rows);

    if (!error && rows.count) {
        if (to->json)
            gv_json_open(to->json, "idle", '{');
        error = gv_explain_idle(trace, &rows.rows[0], to);
        if (to->json)
            gv_json_close(to->json, '}');
        *told += 1;
    } else if (to->json) {
        gv_json_null(to->json, "idle");
    }
    gv_idle_listed_free(&rows);
    return error;
}

/* A finding, and then the stall or the idle time that shows it best. */
static int explain_finding(sqlite3 *trace, int64_t id, const struct gv_explain_out *to, int *told)
{
    struct gv_finding_evidence evidence = {0};
    int64_t known = 0;
    int shown = 1,
        error = gv_database_number(trace, "SELECT id FROM findings WHERE id = ?", &id, 1, &known);

    if (error || !known) {
        if (to->json && !error)
            gv_json_null(to->json, "finding");
        return error;
    }
    if (*told && !to->json)
        putchar('\n');
    if (to->json)
        gv_json_open(to->json, "finding", '{');
    error = gv_explain_finding(trace, id, to, &evidence);
    if (to->json)
        gv_json_close(to->json, '}');
    *told += 1;
    if (!error && evidence.stall)
        error = explain_one(trace, evidence.stall, to, &shown);
    else if (!error && evidence.idle) {
        if (!to->json)
            putchar('\n');
        error = explain_idle(trace, evidence.idle, to, &shown);
    }
    return error;
}

/* The calls that have not returned, the first finding, or without one the worst stall of the calls
 * that have, and the first lost capture. */
static int explain_all(sqlite3 *trace, const struct gv_explain_out *to)
{
    /* Unexpected waits are shown by the worst of them. */
    static const char sql_first[] =
        "SELECT id FROM findings WHERE id = 1 AND what <> 'unexpected-waits'";
    bool silent = false, lost = false;
    int64_t first = 0;
    int told = 0, flights, error = gv_explain_flights(trace, to, &told);

    flights = told;
    if (to->json)
        gv_json_close(to->json, ']');
    if (!error)
        error = gv_database_number(trace, sql_first, NULL, 0, &first);
    if (!error)
        error = explain_finding(trace, first, to, &told);
    if (!error && told == flights)
        error = explain_one(trace, 0, to, &told);
    if (error || to->json)
        return error;
    error = gv_capture_note_print(stdout, trace, told ? "\n" : "", to->columns, &lost);
    told += lost;
    if (!error)
        error = gv_silence_note_print(stdout, trace, told ? "\n" : "", to->columns, &silent);
    if (!error && !told)
        puts(silent ? "No unexpected stalls in the calls that returned."
                    : "No findings, and no unexpected stalls.");
    return error;
}

static int explain_named(sqlite3 *trace, const struct gv_explain *explain,
                         const struct gv_explain_out *to, int *told)
{
    return explain->kind == 'f'   ? explain_finding(trace, explain->id, to, told)
           : explain->kind == 'i' ? explain_idle(trace, explain->id, to, told)
                                  : explain_one(trace, explain->id, to, told);
}

static int explain_json(sqlite3 *trace, const struct gv_explain *explain, struct gv_explain_out *to,
                        int *told)
{
    struct gv_json json;
    int error;

    gv_json_begin(&json, stdout, '{');
    to->json = &json;
    gv_json_text(&json, "trace", to->path);
    gv_json_open(&json, "in_flight", '[');
    if (explain->id) {
        gv_json_close(&json, ']');
        error = explain_named(trace, explain, to, told);
    } else {
        error = explain_all(trace, to);
    }
    gv_json_end(&json, '}');
    return error;
}

static int explain_trace(sqlite3 *trace, void *context)
{
    const struct gv_explain *explain = context;
    struct gv_explain_out to = {
        .path = explain->path, .out = stdout, .columns = gv_terminal_columns(stdout)};
    int told = 0, error;

    to.text = open_memstream(&to.written, &to.bytes);
    if (!to.text)
        return -ENOMEM;
    if (explain->json)
        error = explain_json(trace, explain, &to, &told);
    else
        error = explain->id ? explain_named(trace, explain, &to, &told) : explain_all(trace, &to);
    if (fclose(to.text) != 0 && !error)
        error = -ENOMEM;
    free(to.written);
    if (error || told || !explain->id)
        return error;
    gv_message("%s has no %s%" PRId64, explain->path,
               explain->kind == 'f'   ? "finding f"
               : explain->kind == 'i' ? "idle time i"
                                      : "stall s",
               explain->id);
    return GV_EXIT_FAILED;
}

int gv_command_explain(const struct gv_arguments *arguments)
{
    int count = arguments->operand_count;
    const char *path = arguments->operands[0],
               *stall = count > 1 ? arguments->operands[count - 1] : NULL;
    const char *format = gv_arguments_text(arguments, GV_OPTION_explain_format, "text");
    struct gv_explain explain = {.json = strcmp(format, "json") == 0};
    int code = GV_EXIT_FAILED;

    if (path && !stall && explain_id(path)) {
        stall = path;
        path = NULL;
    }
    if (stall && explain_id(path ? path : "") && !explain_id(stall))
        return gv_arguments_refuse(arguments->command, "'%s' comes after the trace, '%s'", path,
                                   stall);
    /* Several traces, without a stall. */
    if (stall && !explain_id(stall) && (count > 2 || access(stall, F_OK) == 0))
        stall = NULL;
    if (stall && (explain.id = explain_id(stall)) == 0)
        return gv_arguments_refuse(
            arguments->command,
            "'%s' is no finding such as f1, which 'gpuverify report' lists, no stall such as s15, "
            "which 'gpuverify stalls' lists, and no idle time such as i3, which 'gpuverify idle' "
            "lists",
            stall);
    explain.kind = stall ? stall[0] : 0;
    if (path)
        path = gv_offer_join(arguments, stall ? count - 1 : count);
    explain.path = gv_offer_choose(arguments->command, path, &code);
    return explain.path ? gv_trace_view_read(explain.path, explain_trace, &explain) : code;
}
