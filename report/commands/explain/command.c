/* gpuverify explain FILE [ID]: one stall in plain words. */
#include "report/analyse/stalls/rules.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/commands.h"
#include "report/commands/explain/explain.h"
#include "report/commands/silence_note.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/terminal.h"
#include "report/show/value_text.h"

#include <inttypes.h>

static int gv_explain_worst(sqlite3 *trace, int *told)
{
    struct gv_stall_filter filter = {.limit = 1, .people = true};
    struct gv_stall_sums sums;
    struct gv_stall_rows rows = {0};
    int error = gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error && rows.count) {
        if (*told)
            putchar('\n');
        error = gv_explain_stall(trace, &rows.rows[0], stdout, gv_terminal_columns(stdout));
        bool unknown = gv_cause_is_unknown(rows.rows[0].cause);
        int64_t count = unknown ? sums.unknown_count : sums.count - sums.unknown_count;
        if (count > 1)
            printf("\nThis is the worst of %" PRId64 " %sstalls; gpuverify stalls lists them.\n",
                   count, unknown ? "unexplained " : "");
        *told += 1;
    }
    gv_stall_rows_free(&rows);
    return error;
}

static int gv_explain_one(sqlite3 *trace, int64_t id, int *told)
{
    struct gv_stall_filter filter = {.id = id, .expected = true, .people = true};
    struct gv_stall_rows rows;
    int error = gv_stall_rows_read(trace, &filter, &rows);

    if (!error && rows.count)
        error = gv_explain_stall(trace, &rows.rows[0], stdout, gv_terminal_columns(stdout));
    *told = rows.count > 0;
    gv_stall_rows_free(&rows);
    return error;
}

/* That nothing is known to be held up is no proof while the program runs. */
static int gv_explain_nothing(sqlite3 *trace)
{
    bool silent = false;
    int error = gv_silence_note_print(stdout, trace, "", gv_terminal_columns(stdout), &silent);

    if (!error)
        puts(silent ? "No call that returned was held up."
                    : "No call was held up: nothing to explain.");
    return error;
}

/* The calls that have not returned, and the worst of those that have. */
static int gv_explain_all(sqlite3 *trace, int *told)
{
    bool silent = false;
    int columns = gv_terminal_columns(stdout);
    int error = gv_explain_flights(trace, stdout, columns, told);

    if (!error)
        error = gv_explain_worst(trace, told);
    if (!error && !*told)
        return gv_explain_nothing(trace);
    return error ? error : gv_silence_note_print(stdout, trace, "\n", columns, &silent);
}

int gv_command_explain(const struct gv_arguments *arguments)
{
    const char *path = arguments->operands[0], *stall = arguments->operands[1];
    sqlite3 *trace = NULL;
    int64_t id = 0;
    int told = 0, error;

    if (stall && (gv_value_number(stall, &id) < 0 || id == 0))
        return gv_arguments_refuse(arguments->command,
                                   "'%s' is no number of a stall; 'gpuverify stalls' lists them",
                                   stall);
    if (gv_trace_view_open(path, &trace))
        return GV_EXIT_FAILED;
    error = id ? gv_explain_one(trace, id, &told) : gv_explain_all(trace, &told);
    if (error)
        gv_message("cannot read %s: %s", path, gv_trace_view_why(trace, error));
    else if (!told && id)
        gv_message("there is no stall %" PRId64 " in %s", id, path);
    sqlite3_close(trace);
    return error || (!told && id) ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
