/* What a page tells of findings, and of single stalls, idle times and unfinished calls. */
#include "report/commands/export/export.h"

#include "report/analyse/idle/listed.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/rows.h"
#include "report/commands/explain/explain.h"
#include "report/commands/statement_rows.h"
#include "report/commands_export_stories.inc"
#include "report/store/database.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Of each kind. */
#define GV_STORIES_MOST   200
#define GV_STORIES_FRAMES 64

/* The line that can be changed, as `gpuverify stalls` and `idle` have it, and the whole stack. */
static void story_stack(int64_t stack, struct gv_explain_out *to)
{
    gv_explain_stack(to, "line", stack, 1);
    gv_explain_stack(to, "frames", stack, GV_STORIES_FRAMES);
}

/* ---- calls nearby ---- */

static void story_near(const char *sql, int64_t call, const char *key, struct gv_explain_out *to)
{
    gv_json_open(to->json, key, '[');
    if (!to->error)
        to->error = gv_database_each(to->trace, sql, &call, 1, gv_statement_rows_array, to->json);
    gv_json_close(to->json, ']');
}

/* ---- of each kind ---- */

static void stories_stalls(struct gv_explain_out *to)
{
    struct gv_stall_filter filter = {.limit = GV_STORIES_MOST, .people = true};
    struct gv_stall_rows rows = {0};

    if (!to->error)
        to->error = gv_stall_rows_read(to->trace, &filter, &rows);
    for (size_t i = 0; !to->error && i < rows.count; i++) {
        const struct gv_stall_row *row = &rows.rows[i];
        gv_explain_open(to, NULL);
        gv_json_text(to->json, "kind", "stall");
        gv_json_number(to->json, "lost_ns", gv_stall_lost_ns(row));
        gv_json_known(to->json, "call", row->call, row->call != 0);
        gv_explain_stall(row, to);
        story_stack(row->stack, to);
        story_near(sql_before, row->call, "before", to);
        story_near(sql_after, row->call, "after", to);
        gv_explain_close(to);
    }
    gv_stall_rows_free(&rows);
}

static void stories_idle(struct gv_explain_out *to)
{
    struct gv_idle_filter filter = {.device = -1};
    struct gv_idle_list rows = {0};

    if (!to->error)
        to->error = gv_idle_listed_read(to->trace, &filter, &rows);
    for (size_t i = 0; !to->error && i < rows.count && i < GV_STORIES_MOST; i++) {
        const struct gv_idle_listed *row = &rows.rows[i];
        gv_explain_open(to, NULL);
        gv_json_text(to->json, "kind", "idle");
        gv_explain_idle(row, to);
        story_stack(row->stack, to);
        story_near(sql_itself, row->previous_call, "before", to);
        story_near(sql_itself, row->next_call, "after", to);
        gv_explain_close(to);
    }
    gv_idle_listed_free(&rows);
}

struct stories_findings {
    int64_t ids[GV_STORIES_MOST];
    char places[GV_STORIES_MOST][400];
    size_t count;
};

static int take_finding(void *context, sqlite3_stmt *row)
{
    struct stories_findings *findings = context;

    findings->ids[findings->count] = sqlite3_column_int64(row, 0);
    snprintf(findings->places[findings->count++], sizeof(findings->places[0]), "%s",
             gv_database_text(row, 1));
    return 0;
}

static void stories_findings(struct gv_explain_out *to)
{
    struct stories_findings *findings = calloc(1, sizeof(*findings));
    struct gv_finding_evidence evidence;

    to->error = findings ? gv_stack_text_install(to->trace) : -ENOMEM;
    if (!to->error)
        to->error = gv_database_each(to->trace, sql_findings, NULL, 0, take_finding, findings);
    for (size_t i = 0; !to->error && i < findings->count; i++) {
        gv_explain_open(to, NULL);
        gv_json_text(to->json, "kind", "finding");
        gv_json_text(to->json, "place", findings->places[i]);
        evidence = gv_explain_finding(findings->ids[i], to);
        gv_json_number(to->json, "stall_story", evidence.stall);
        gv_json_number(to->json, "idle_story", evidence.idle);
        gv_explain_close(to);
    }
    free(findings);
}

int gv_stories_write(sqlite3 *trace, const char *path, struct gv_json *json)
{
    struct gv_explain_out to = {
        .trace = trace, .path = path, .out = json->out, .json = json, .columns = INT_MAX};

    gv_explain_begin(&to);
    stories_findings(&to);
    gv_explain_flights(&to);
    stories_stalls(&to);
    stories_idle(&to);
    return gv_explain_finish(&to);
}
