#include "report/commands/summary/error_notes.h"

#include "report/commands/offer.h"
#include "report/commands_summary_summary.inc"
#include "report/show/error_words.h"
#include "report/show/format.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <inttypes.h>

enum gv_error_note_column {
    GV_ERROR_RESULT,
    GV_ERROR_NAME,
    GV_ERROR_CLASS,
    GV_ERROR_COUNT,
    GV_ERROR_CALLS,
    GV_ERROR_FORKED,
    GV_ERROR_MOST,
};

static void error_note_say(FILE *out, const struct gv_error_notes *notes, sqlite3_stmt *row,
                           const struct gv_error_words *words, int columns)
{
    const char *name = (const char *)sqlite3_column_text(row, GV_ERROR_NAME);
    int64_t result = sqlite3_column_int64(row, GV_ERROR_RESULT);
    int64_t count = sqlite3_column_int64(row, GV_ERROR_COUNT);
    const char *meaning = gv_format_result(name ? name : "", result);
    char remedy[GV_OFFER_BYTES], times[64] = "";

    if (count > 1)
        snprintf(times, sizeof(times), ", %" PRId64 " times", count);
    gv_offer_fill(remedy, sizeof(remedy), words->remedy, notes->path, notes->named);
    gv_text_say(out, 5, notes->first, columns, "%.100s%s: %s (%" PRId64 ")%s: %s. Fix: %s.",
                name ? name : "?",
                sqlite3_column_int64(row, GV_ERROR_CALLS) > 1 ? " and others" : "",
                meaning ? meaning : "error", result, times, words->meaning, remedy);
}

int gv_error_notes_print(FILE *out, sqlite3 *trace, const struct gv_error_notes *notes, int columns)
{
    sqlite3_stmt *rows = NULL;
    int told = 0, result = sqlite3_prepare_v2(trace, sql_errors, -1, &rows, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(rows, 1, notes->told);
    while ((result == SQLITE_OK || result == SQLITE_ROW) && told < notes->most &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *class = (const char *)sqlite3_column_text(rows, GV_ERROR_CLASS);
        int64_t number = sqlite3_column_int64(rows, GV_ERROR_RESULT);
        bool forked = sqlite3_column_int(rows, GV_ERROR_FORKED) != 0;
        const struct gv_error_words *words = gv_error_words_of(forked  ? "forked"
                                                               : class ? class
                                                                       : "",
                                                               number);
        if (!words || !(gv_error_words_is_fatal(number) ? notes->fatal : notes->other) ||
            (notes->captures && number >= 900 && number <= 907))
            continue;
        error_note_say(out, notes, rows, words, columns);
        told++;
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}
