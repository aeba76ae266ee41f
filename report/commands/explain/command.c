/* gpuverify explain [FILE] [NAME]: a finding, a stall or an idle time in plain words. */
#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/capture_note.h"
#include "report/commands/commands.h"
#include "report/commands/explain/explain.h"
#include "report/commands/merge/merge.h"
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

/* One stall: `id`, or if that is 0 the worst. */
static void explain_stall(int64_t id, struct gv_explain_out *to)
{
    struct gv_stall_filter filter = {.id = id, .expected = id != 0, .limit = 1, .people = true};
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums = {0};
    char offer[GV_OFFER_BYTES];

    if (!to->error && !id)
        to->error = gv_stall_sums_read(to->trace, &sums);
    if (!to->error)
        to->error = gv_stall_rows_read(to->trace, &filter, &rows);
    if (!to->error && rows.count) {
        bool unknown = gv_cause_is_unknown(rows.rows[0].cause);
        int64_t count = unknown ? sums.unknown_count : sums.count - sums.unknown_count;
        gv_explain_open(to, "stall");
        gv_explain_stall(&rows.rows[0], to);
        gv_explain_close(to);
        if (count > 1 && !to->json) {
            putchar('\n');
            gv_text_say(
                stdout, 0, "", to->columns, "The worst of %" PRId64 " %sstalls; %s lists them.",
                count, unknown ? "unexplained " : "",
                gv_offer_fill(offer, sizeof(offer), "gpuverify stalls FILE", to->path, false));
        }
    } else if (to->json) {
        gv_json_null(to->json, "stall");
    }
    gv_stall_rows_free(&rows);
}

static void explain_idle(int64_t id, struct gv_explain_out *to)
{
    struct gv_idle_filter filter = {.id = id, .device = -1};
    struct gv_idle_list rows = {0};

    if (!to->error)
        to->error = gv_idle_listed_read(to->trace, &filter, &rows);
    if (!to->error && rows.count) {
        gv_explain_open(to, "idle");
        gv_explain_idle(&rows.rows[0], to);
        gv_explain_close(to);
    } else if (to->json) {
        gv_json_null(to->json, "idle");
    }
    gv_idle_listed_free(&rows);
}

/* A finding, and then the stall or the idle time that shows it best. */
static void explain_finding(int64_t id, struct gv_explain_out *to)
{
    struct gv_finding_evidence evidence;
    int64_t known = 0;

    if (!to->error)
        to->error =
            gv_database_number(to->trace, "SELECT id FROM findings WHERE id = ?", &id, 1, &known);
    if (to->error || !known) {
        if (to->json)
            gv_json_null(to->json, "finding");
        return;
    }
    gv_explain_open(to, "finding");
    evidence = gv_explain_finding(id, to);
    gv_explain_close(to);
    if (evidence.stall)
        explain_stall(evidence.stall, to);
    else if (evidence.idle)
        explain_idle(evidence.idle, to);
}

/* The calls that have not returned, the first finding, or without one the worst stall of the calls
 * that have, and the first lost capture. */
static void explain_all(struct gv_explain_out *to)
{
    /* Unexpected waits are shown by the worst of them. */
    static const char sql_first[] =
        "SELECT id FROM findings WHERE id = 1 AND what <> 'unexpected-waits'";
    bool silent = false, lost = false;
    int64_t first = 0;

    gv_explain_flights(to);
    const int flights = to->told;
    if (to->json)
        gv_json_close(to->json, ']');
    if (!to->error)
        to->error = gv_database_number(to->trace, sql_first, NULL, 0, &first);
    explain_finding(first, to);
    if (to->told == flights)
        explain_stall(0, to);
    if (to->error || to->json)
        return;
    to->error = gv_capture_note_print(stdout, to->trace, to->told ? "\n" : "", to->columns, &lost);
    to->told += lost;
    if (!to->error)
        to->error =
            gv_silence_note_print(stdout, to->trace, to->told ? "\n" : "", to->columns, &silent);
    if (!to->error && !to->told)
        puts(silent ? "No unexpected stalls in the calls that returned."
                    : "No findings, and no unexpected stalls.");
}

static void explain_chosen(const struct gv_explain *explain, struct gv_explain_out *to)
{
    if (explain->id && to->json)
        gv_json_close(to->json, ']');
    if (!explain->id)
        explain_all(to);
    else if (explain->kind == 'f')
        explain_finding(explain->id, to);
    else if (explain->kind == 'i')
        explain_idle(explain->id, to);
    else
        explain_stall(explain->id, to);
}

static int explain_trace(sqlite3 *trace, void *context)
{
    const struct gv_explain *explain = context;
    struct gv_json json;
    struct gv_explain_out to = {.trace = trace,
                                .path = explain->path,
                                .out = stdout,
                                .columns = gv_terminal_columns(stdout),
                                .json = explain->json ? &json : NULL};
    int error;

    gv_explain_begin(&to);
    if (to.json) {
        gv_json_begin(&json, stdout, '{');
        gv_json_text(&json, "trace", to.path);
        gv_json_open(&json, "in_flight", '[');
    }
    explain_chosen(explain, &to);
    if (to.json)
        gv_json_end(&json, '}');
    error = gv_explain_finish(&to);
    if (error || to.told || !explain->id)
        return error;
    gv_message("%s has no %s%" PRId64, explain->path,
               explain->kind == 'f'   ? "finding f"
               : explain->kind == 'i' ? "idle time i"
                                      : "stall s",
               explain->id);
    return GV_EXIT_FAILED;
}

/* The word that names what to explain, before or after the traces; it is put last. NULL: there is
 * none. A file is a trace, whatever it is called. */
static const char *explain_name(const struct gv_arguments *arguments)
{
    char **words = arguments->operands;
    const int count = arguments->operand_count;

    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (!explain_id(word) || (count > 1 && access(word, F_OK) == 0))
            continue;
        memmove(words + i, words + i + 1, (size_t)(count - i - 1) * sizeof(*words));
        return words[count - 1] = word;
    }
    /* One that does not exist may be meant as a name. */
    return count == 2 && access(words[1], F_OK) < 0 && !gv_merge_is_several(words[1]) ? words[1]
                                                                                      : NULL;
}

int gv_command_explain(const struct gv_arguments *arguments)
{
    const char *name = explain_name(arguments), *path;
    const char *format = gv_arguments_text(arguments, GV_OPTION_explain_format, "text");
    struct gv_explain explain = {.json = strcmp(format, "json") == 0};
    int code = GV_EXIT_FAILED;

    if (name && (explain.id = explain_id(name)) == 0)
        return gv_arguments_refuse(
            arguments->command,
            "'%s' is no finding such as f1, which 'gpuverify report' lists, no stall such as s15, "
            "which 'gpuverify stalls' lists, and no idle time such as i3, which 'gpuverify idle' "
            "lists",
            name);
    for (int i = 0; name && i < arguments->operand_count - 1; i++)
        if (explain_id(arguments->operands[i]) && access(arguments->operands[i], F_OK) < 0)
            return gv_arguments_refuse(arguments->command, "one at a time: %s or %s", name,
                                       arguments->operands[i]);
    explain.kind = name ? name[0] : 0;
    path = gv_offer_join(arguments, arguments->operand_count - (name ? 1 : 0));
    explain.path = gv_offer_choose(arguments->command, path, &code);
    return explain.path ? gv_trace_view_read(explain.path, explain_trace, &explain) : code;
}
