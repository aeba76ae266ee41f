/* What a page tells of single stalls, idle times and unfinished calls. */
#include "report/commands/export/export.h"

#include "report/analyse/idle/listed.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/rows.h"
#include "report/commands/explain/explain.h"
#include "report/commands_export_stories.inc"
#include "report/store/database.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* Of each kind. */
#define GV_STORIES_MOST        200
#define GV_STORIES_FRAMES      64
#define GV_STORIES_WHERE_BYTES 16384

/* The line that can be changed, as `gpuverify stalls` and `idle` have it, and the whole stack. */
static int story_stack(sqlite3 *trace, int64_t stack, struct gv_json *json)
{
    char where[GV_STORIES_WHERE_BYTES];
    int error = gv_stack_text(trace, stack, 1, where, sizeof(where));

    if (!error && where[0])
        gv_json_text(json, "line", where);
    if (!error)
        error = gv_stack_text(trace, stack, GV_STORIES_FRAMES, where, sizeof(where));
    if (!error && where[0])
        gv_json_text(json, "frames", where);
    return error;
}

/* ---- calls nearby ---- */

static int story_near(void *context, sqlite3_stmt *row)
{
    struct gv_json *json = context;

    gv_json_open(json, NULL, '[');
    gv_json_text(json, NULL, (const char *)sqlite3_column_text(row, 0));
    gv_json_text(json, NULL, (const char *)sqlite3_column_text(row, 1));
    for (int i = 2; i < 5; i++)
        gv_json_number(json, NULL, sqlite3_column_int64(row, i));
    gv_json_close(json, ']');
    return 0;
}

static int story_near_all(sqlite3 *trace, const char *sql, int64_t call, const char *key,
                          struct gv_json *json)
{
    int error;

    gv_json_open(json, key, '[');
    error = gv_database_each(trace, sql, &call, 1, story_near, json);
    gv_json_close(json, ']');
    return error;
}

/* ---- of each kind ---- */

static int stories_stalls(sqlite3 *trace, const struct gv_explain_out *to)
{
    struct gv_stall_filter filter = {.limit = GV_STORIES_MOST, .people = true};
    struct gv_stall_rows rows;
    int error = gv_stall_rows_read(trace, &filter, &rows);

    for (size_t i = 0; !error && i < rows.count; i++) {
        const struct gv_stall_row *row = &rows.rows[i];
        gv_json_open(to->json, NULL, '{');
        gv_json_text(to->json, "kind", "stall");
        gv_json_number(to->json, "lost_ns", gv_stall_lost_ns(row));
        gv_json_known(to->json, "call", row->call, row->call != 0);
        error = gv_explain_stall(trace, row, to);
        if (!error)
            error = story_stack(trace, row->stack, to->json);
        if (!error)
            error = story_near_all(trace, sql_before, row->call, "before", to->json);
        if (!error)
            error = story_near_all(trace, sql_after, row->call, "after", to->json);
        gv_json_close(to->json, '}');
    }
    gv_stall_rows_free(&rows);
    return error;
}

static int stories_idle(sqlite3 *trace, const struct gv_explain_out *to)
{
    struct gv_idle_filter filter = {.device = -1};
    struct gv_idle_list rows;
    int error = gv_idle_listed_read(trace, &filter, &rows);

    for (size_t i = 0; !error && i < rows.count && i < GV_STORIES_MOST; i++) {
        const struct gv_idle_listed *row = &rows.rows[i];
        gv_json_open(to->json, NULL, '{');
        gv_json_text(to->json, "kind", "idle");
        error = gv_explain_idle(trace, row, to);
        if (!error)
            error = story_stack(trace, row->stack, to->json);
        if (!error)
            error = story_near_all(trace, sql_itself, row->previous_call, "before", to->json);
        if (!error)
            error = story_near_all(trace, sql_itself, row->next_call, "after", to->json);
        gv_json_close(to->json, '}');
    }
    gv_idle_listed_free(&rows);
    return error;
}

int gv_stories_write(sqlite3 *trace, const char *path, struct gv_json *json)
{
    struct gv_explain_out to = {.path = path, .json = json, .columns = INT_MAX};
    int told = 0, error = 0;

    to.text = open_memstream(&to.written, &to.bytes);
    if (!to.text && !error)
        error = -ENOMEM;
    if (!error)
        error = gv_explain_flights(trace, &to, &told);
    if (!error)
        error = stories_stalls(trace, &to);
    if (!error)
        error = stories_idle(trace, &to);
    if (to.text && fclose(to.text) != 0 && !error)
        error = -ENOMEM;
    free(to.written);
    return error;
}
