#include "report/commands/capture_note.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <inttypes.h>

#define GV_CAPTURE_CALL 320
#define GV_CAPTURE_TEXT 2048

enum gv_capture_column {
    GV_CAPTURE_BEGIN,
    GV_CAPTURE_BEGIN_STACK,
    GV_CAPTURE_NAME,
    GV_CAPTURE_NAME_STACK,
    GV_CAPTURE_END,
    GV_CAPTURE_END_STACK,
    GV_CAPTURE_RESULT,
    GV_CAPTURE_END_RESULT,
    GV_CAPTURE_ADVICE,
    GV_CAPTURE_COUNT,
};

static const char capture_sql[] =
    "SELECT begin_name, begin_stack, name, stack, end_name, end_stack, result, end_result, advice,"
    " (SELECT count(*) FROM lost_captures) FROM lost_captures ORDER BY start_ns LIMIT 1";

/* "cuMemAlloc_v2 (main.c:31 main)". The stack's column follows the name's. */
static int capture_call(sqlite3 *trace, sqlite3_stmt *row, enum gv_capture_column column,
                        char out[GV_CAPTURE_CALL])
{
    const char *name = (const char *)sqlite3_column_text(row, (int)column);
    char place[GV_KERNEL_NAME_BYTES];
    int error =
        gv_stack_text(trace, sqlite3_column_int64(row, (int)column + 1), 1, place, sizeof(place));

    snprintf(out, GV_CAPTURE_CALL, "%.100s%s%.200s%s", name ? name : "a call", place[0] ? " (" : "",
             place, place[0] ? ")" : "");
    return error;
}

static int capture_say(sqlite3 *trace, sqlite3_stmt *row, char text[GV_CAPTURE_TEXT])
{
    const char *advice = (const char *)sqlite3_column_text(row, GV_CAPTURE_ADVICE);
    int64_t count = sqlite3_column_int64(row, GV_CAPTURE_COUNT);
    char begin[GV_CAPTURE_CALL], call[GV_CAPTURE_CALL], end[GV_CAPTURE_CALL], more[64] = "";
    char failed[GV_CAPTURE_CALL + 64] = "", ended[GV_CAPTURE_CALL + 64] = "";
    int error = capture_call(trace, row, GV_CAPTURE_BEGIN, begin);

    if (!error)
        error = capture_call(trace, row, GV_CAPTURE_NAME, call);
    if (!error)
        error = capture_call(trace, row, GV_CAPTURE_END, end);
    if (sqlite3_column_type(row, GV_CAPTURE_RESULT) != SQLITE_NULL)
        snprintf(failed, sizeof(failed), ": %s failed in it (%" PRId64 ")", call,
                 (int64_t)sqlite3_column_int64(row, GV_CAPTURE_RESULT));
    if (sqlite3_column_type(row, GV_CAPTURE_END_RESULT) != SQLITE_NULL)
        snprintf(ended, sizeof(ended), ", and %s returned %" PRId64, end,
                 (int64_t)sqlite3_column_int64(row, GV_CAPTURE_END_RESULT));
    if (count > 1)
        snprintf(more, sizeof(more), " %" PRId64 " captures were lost in all.", count);
    snprintf(text, GV_CAPTURE_TEXT, "A graph capture was lost%s. It began with %s%s. Fix: %.400s%s",
             failed, begin, ended, advice ? advice : "", more);
    return error;
}

int gv_capture_note_print(FILE *out, sqlite3 *trace, const char *first, int columns, bool *told)
{
    sqlite3_stmt *row = NULL;
    char text[GV_CAPTURE_TEXT];
    int error = 0, result = sqlite3_prepare_v2(trace, capture_sql, -1, &row, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(row);
    *told = result == SQLITE_ROW;
    if (*told && (error = capture_say(trace, row, text)) == 0)
        gv_text_lines(out, *first == ' ' ? 5 : 0, first, text, columns);
    sqlite3_finalize(row);
    return error ? error : gv_database_error(trace, result);
}
