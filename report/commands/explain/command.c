/* gpuverify explain [FILE] [STALL]: one stall in plain words. */
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/commands.h"
#include "report/commands/explain/explain.h"
#include "report/commands/offer.h"
#include "report/commands/silence_note.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/show/value_text.h"

#include <inttypes.h>
#include <string.h>

/* s15, or 15. 0: it is no stall's number. */
static int64_t explain_id(const char *word)
{
    int64_t id = 0;

    return gv_value_number(word + (word[0] == 's'), &id) == 0 ? id : 0;
}

static int explain_row(sqlite3 *trace, const struct gv_stall_row *row,
                       const struct gv_explain_out *to)
{
    int error;

    if (!to->json)
        return gv_explain_stall(trace, row, to);
    gv_json_open(to->json, '{');
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
    char offer[GV_OFFER_BYTES], text[GV_OFFER_BYTES + 64];
    int error = id ? 0 : gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (to->json)
        gv_json_key(to->json, "stall");
    if (!error && rows.count) {
        if (*told && !to->json)
            putchar('\n');
        error = explain_row(trace, &rows.rows[0], to);
        bool unknown = gv_cause_is_unknown(rows.rows[0].cause);
        int64_t count = unknown ? sums.unknown_count : sums.count - sums.unknown_count;
        if (count > 1 && !to->json) {
            snprintf(text, sizeof(text), "The worst of %" PRId64 " %sstalls; %s lists them.", count,
                     unknown ? "unexplained " : "",
                     gv_offer_fill(offer, sizeof(offer), "gpuverify stalls FILE", to->path, false));
            putchar('\n');
            gv_text_lines(stdout, 0, "", text, to->columns);
        }
        *told += 1;
    } else if (to->json) {
        gv_json_null(to->json);
    }
    gv_stall_rows_free(&rows);
    return error;
}

/* The calls that have not returned, and the worst stall of those that have. */
static int explain_all(sqlite3 *trace, const struct gv_explain_out *to)
{
    bool silent = false;
    int told = 0, error = gv_explain_flights(trace, to, &told);

    if (to->json)
        gv_json_close(to->json, ']');
    if (!error)
        error = explain_one(trace, 0, to, &told);
    if (error || to->json)
        return error;
    error = gv_silence_note_print(stdout, trace, told ? "\n" : "", to->columns, &silent);
    if (!error && !told)
        puts(silent ? "No unexpected stalls in the calls that returned." : "No unexpected stalls.");
    return error;
}

static int explain_json(sqlite3 *trace, int64_t id, struct gv_explain_out *to, int *told)
{
    struct gv_json json;
    int error;

    gv_json_begin(&json, stdout);
    to->json = &json;
    gv_json_open(&json, '{');
    gv_json_key(&json, "trace");
    gv_json_text(&json, to->path);
    gv_json_key(&json, "in_flight");
    gv_json_open(&json, '[');
    if (id) {
        gv_json_close(&json, ']');
        error = explain_one(trace, id, to, told);
    } else {
        error = explain_all(trace, to);
    }
    gv_json_close(&json, '}');
    gv_json_end(&json);
    return error;
}

int gv_command_explain(const struct gv_arguments *arguments)
{
    const char *path = arguments->operands[0], *stall = path ? arguments->operands[1] : NULL;
    const char *format = gv_arguments_text(arguments, GV_OPTION_explain_format, "text");
    struct gv_explain_out to = {.out = stdout, .columns = gv_terminal_columns(stdout)};
    sqlite3 *trace = NULL;
    int64_t id = 0;
    int told = 0, code = GV_EXIT_FAILED, error;

    if (path && !stall && explain_id(path)) {
        stall = path;
        path = NULL;
    }
    if (stall && (id = explain_id(stall)) == 0)
        return gv_arguments_refuse(arguments->command,
                                   "'%s' is not a stall such as s15; 'gpuverify stalls' lists them",
                                   stall);
    path = gv_offer_choose(arguments->command, path, &code);
    if (!path || gv_trace_view_open(path, &trace))
        return code;
    to.path = path;
    if (strcmp(format, "json") == 0)
        error = explain_json(trace, id, &to, &told);
    else
        error = id ? explain_one(trace, id, &to, &told) : explain_all(trace, &to);
    if (error)
        gv_message("cannot read %s: %s", path, gv_trace_view_why(trace, error));
    else if (!told && id)
        gv_message("%s has no stall s%" PRId64, path, id);
    sqlite3_close(trace);
    return error || (!told && id) ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
