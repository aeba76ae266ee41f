#include "report/commands/check/check.h"

#include "report/analyse/ranges/membership.h"
#include "report/analyse/totals/totals.h"
#include "report/commands_check_check_run.inc"
#include "report/commands/range_view.h"
#include "report/commands/sql_values.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gv_check_prepare(sqlite3 *trace)
{
    int error = gv_sql_values_register(trace, false);

    return error ? error : gv_totals_ensure(trace, &GV_TOTALS_ALL);
}

/* ---- ranges ---- */

struct check_calls {
    struct gv_membership *membership;
    sqlite3_stmt *insert;
};

static int check_place_call(void *context, sqlite3_stmt *row)
{
    const struct check_calls *calls = context;
    int64_t call = sqlite3_column_int64(row, 0), thread = sqlite3_column_int64(row, 1);
    int64_t start_ns = sqlite3_column_int64(row, 2);
    struct gv_member_of of;
    int error = gv_membership_of(calls->membership, thread, call, start_ns, &of);

    for (size_t i = 0; i < of.count && !error; i++) {
        const int64_t values[] = {call, thread, start_ns, of.ids[i]};
        error = gv_database_add(calls->insert, values, 4);
    }
    return error;
}

/* Fills long_call with the calls that took longer than the rule allows, and those that have not
 * returned. */
static int check_place_calls(sqlite3 *trace, const struct gv_check_rule *rule)
{
    struct check_calls calls = {0};
    int error = gv_database_script(trace, sql_long_call, NULL, 0);

    if (!error)
        error = gv_database_compile(trace, "INSERT INTO temp.long_call VALUES (?, ?, ?, ?)",
                                    &calls.insert);
    if (!error)
        error = gv_membership_open(&calls.membership, trace);
    if (!error)
        error = gv_database_each(trace, sql_long_calls, &rule->number, 1, check_place_call, &calls);
    gv_membership_close(calls.membership);
    sqlite3_finalize(calls.insert);
    return error;
}

/* ---- a rule ---- */

/* The parameters have the names of members of the rule. */
static int check_bind(sqlite3_stmt *statement, const struct gv_check_rule *rule)
{
    const struct {
        const char *name, *text;
    } texts[] = {{":text", rule->text}, {":range", rule->range}, {":of", rule->of}};
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{":number", rule->number}, {":launches", rule->launches}, {":line", rule->line}};
    int result = SQLITE_OK, at = sqlite3_bind_parameter_index(statement, ":fraction");

    if (at > 0)
        result = sqlite3_bind_double(statement, at, rule->fraction);
    for (size_t i = 0; i < 3 && result == SQLITE_OK; i++)
        if ((at = sqlite3_bind_parameter_index(statement, texts[i].name)) > 0)
            result = sqlite3_bind_text(statement, at, texts[i].text, -1, SQLITE_STATIC);
    for (size_t i = 0; i < 3 && result == SQLITE_OK; i++)
        if ((at = sqlite3_bind_parameter_index(statement, numbers[i].name)) > 0)
            result = sqlite3_bind_int64(statement, at, numbers[i].number);
    return result;
}

static int check_say(struct gv_check_result *result, enum gv_check_outcome outcome,
                     const char *words)
{
    free(result->found);
    result->outcome = outcome;
    result->is_said = outcome != GV_CHECK_KEPT;
    result->found = strdup(words);
    return result->found ? 0 : -ENOMEM;
}

static int check_run_sql(sqlite3 *trace, const char *sql, const struct gv_check_rule *rule,
                         struct gv_check_result *result)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(trace, sql, -1, &statement, NULL), error = 0;

    if (code == SQLITE_OK)
        code = check_bind(statement, rule);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 1);
        enum gv_check_outcome outcome = sqlite3_column_type(statement, 0) == SQLITE_NULL
                                            ? GV_CHECK_UNKNOWN
                                        : sqlite3_column_int(statement, 0) ? GV_CHECK_BROKEN
                                                                           : GV_CHECK_KEPT;
        error = check_say(result, outcome, found ? found : "");
    } else if (code != SQLITE_DONE) {
        error = check_say(result, GV_CHECK_UNKNOWN, sqlite3_errmsg(trace));
    }
    sqlite3_finalize(statement);
    return error;
}

static bool check_is_of_calls(enum gv_check_needs needs)
{
    return needs == GV_CHECK_NEEDS_CALLS_LEAST || needs == GV_CHECK_NEEDS_CALLS_MOST;
}

/* The outcome that nothing unseen could change. */
static enum gv_check_outcome check_sure(enum gv_check_needs needs)
{
    if (needs == GV_CHECK_NEEDS_GPU_LEAST || needs == GV_CHECK_NEEDS_GPU_SHARE ||
        needs == GV_CHECK_NEEDS_CALLS_LEAST)
        return GV_CHECK_KEPT;
    if (needs == GV_CHECK_NEEDS_GPU_MOST || needs == GV_CHECK_NEEDS_CALLS_MOST)
        return GV_CHECK_BROKEN;
    return GV_CHECK_UNKNOWN;
}

/* If a part of the GPU side is missing, the outcome is unknown. */
static int check_doubt(sqlite3 *trace, const struct gv_check_rule *rule,
                       struct gv_check_result *result)
{
    int error = check_run_sql(trace, sql_missing, rule, result);

    return error || result->outcome == GV_CHECK_UNKNOWN
               ? error
               : check_run_sql(trace, sql_between, rule, result);
}

static const char check_lost[] =
    "SELECT NULL, printf('%%d record%%s lost, and could change it', n, CASE n WHEN 1 THEN ' was'"
    " ELSE 's were' END) FROM (SELECT sum(count) AS n FROM losses WHERE (%s)) WHERE n > 0";

/* The calls that a rule needs may change while the program runs, or were lost. */
static int check_doubt_calls(sqlite3 *trace, const struct gv_check_rule *rule,
                             struct gv_check_result *result)
{
    int error = check_run_sql(trace, sql_running, rule, result);
    char *sql = NULL;

    if (error || result->outcome == GV_CHECK_UNKNOWN)
        return error;
    sql = sqlite3_mprintf(check_lost, rule->check->lost);
    if (!sql)
        return -ENOMEM;
    error = check_run_sql(trace, sql, rule, result);
    sqlite3_free(sql);
    return error;
}

/* A rule about ranges that the trace does not have has no answer. */
static int check_ranges(sqlite3 *trace, const struct gv_check_rule *rule,
                        struct gv_check_result *result)
{
    bool marks = rule->check->option == GV_OPTION_check_no_load_after;
    char why[GV_RANGE_MISSING_BYTES];
    int error = check_run_sql(trace, marks ? sql_any_mark : sql_any_range, rule, result);

    if (!error && !result->found) {
        error = gv_range_missing_say(trace, rule->range, marks, why, sizeof(why));
        return error ? error : check_say(result, GV_CHECK_UNKNOWN, why);
    }
    free(result->found);
    memset(result, 0, sizeof(*result));
    return !error && rule->check->option == GV_OPTION_check_max_stall_in
               ? check_place_calls(trace, rule)
               : error;
}

/* Runs a rule about the ledger of ranges. */
static int check_run_in_ranges(sqlite3 *trace, const struct gv_check_rule *rule,
                               struct gv_check_result *result)
{
    struct gv_totals_part part = GV_TOTALS_ALL;
    struct gv_range_choice *choice = NULL;
    int error = gv_range_choice_open(&choice, trace, rule->range);

    part.ranges = choice;
    if (!error)
        error = gv_totals_ensure(trace, &part);
    if (!error)
        error = check_run_sql(trace, rule->check->sql, rule, result);
    if (!error)
        error = gv_totals_ensure(trace, &GV_TOTALS_ALL);
    gv_range_choice_close(choice);
    return error;
}

int gv_check_rule_run(sqlite3 *trace, const struct gv_check_rule *rule,
                      struct gv_check_result *result)
{
    enum gv_check_needs needs = rule->check->needs;
    int error = 0;

    memset(result, 0, sizeof(*result));
    if (!check_is_of_calls(needs))
        error = check_run_sql(trace, sql_unseen, rule, result);
    if (!error && !result->found && rule->range)
        error = check_ranges(trace, rule, result);
    if (error || result->found)
        return error;
    error = rule->check->option == GV_OPTION_check_max_idle_in
                ? check_run_in_ranges(trace, rule, result)
                : check_run_sql(trace, rule->check->sql, rule, result);
    bool sure = result->outcome == check_sure(needs);
    if (error || (sure && needs != GV_CHECK_NEEDS_GPU_SHARE))
        return error;
    if (!sure && !check_is_of_calls(needs))
        error = check_doubt(trace, rule, result);
    if (!error && result->outcome != GV_CHECK_UNKNOWN) /* which says more */
        error = check_doubt_calls(trace, rule, result);
    return error;
}

void gv_check_rule_print(FILE *out, const struct gv_check_rule *rule)
{
    char name[GV_OPTION_NAME_BYTES];

    fputs(gv_option_name(&gv_options[rule->check->option], name), out);
    if (rule->text) {
        fputc(' ', out);
        gv_format_text(out, rule->text, 200, 0);
    }
}

size_t gv_check_count(const struct gv_check_rules *rules, const struct gv_check_result *results,
                      enum gv_check_outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < rules->count; i++)
        count += results[i].outcome == outcome;
    return count;
}
