#include "report/commands/explain/explain.h"
#include "report/commands_explain_probe.inc"
#include "report/probe/probe.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A result has some 50 KB; a much larger file is not one. */
#define GV_EXPLAIN_PROBE_BYTES (1u << 20)

/* The whole file, which the caller frees; NULL: unreadable, or not a result. */
static char *explain_probe_read(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(GV_EXPLAIN_PROBE_BYTES) : NULL;
    size_t size = text ? fread(text, 1, GV_EXPLAIN_PROBE_BYTES, file) : 0;

    if (file)
        fclose(file);
    if (size == 0 || size == GV_EXPLAIN_PROBE_BYTES) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

/* A statement about one result; NULL: this SQLite cannot read JSON. */
static sqlite3_stmt *explain_probe_ask(sqlite3 *trace, const char *sql, const char *result)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(trace, sql, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    if (sqlite3_bind_text(statement, 1, result, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(statement);
        return NULL;
    }
    return statement;
}

/* When it was measured; 0: it is about something else. */
static int64_t explain_probe_age(sqlite3 *trace, const char *result, int64_t process)
{
    sqlite3_stmt *statement = explain_probe_ask(trace, sql_probe_fits, result);
    int64_t unix_s = 0;

    if (statement && sqlite3_bind_int64(statement, 2, process) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        unix_s = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return unix_s;
}

/* The newest result about the process's driver, which the caller frees, or NULL. */
static char *explain_probe_choose(sqlite3 *trace, int64_t process, int64_t *unix_s)
{
    char pattern[PATH_MAX], *chosen = NULL;
    glob_t found = {0};

    *unix_s = 0;
    if (gv_probe_store_folder(pattern, sizeof(pattern) - sizeof("/probe-*.json")))
        return NULL;
    strcat(pattern, "/probe-*.json");
    if (glob(pattern, GLOB_NOSORT, NULL, &found))
        return NULL;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *result = explain_probe_read(found.gl_pathv[i]);
        int64_t measured_s = result ? explain_probe_age(trace, result, process) : 0;
        if (measured_s > *unix_s) {
            free(chosen);
            chosen = result;
            *unix_s = measured_s;
        } else {
            free(result);
        }
    }
    globfree(&found);
    return chosen;
}

static void explain_probe_say(sqlite3_stmt *found, const char *cause, time_t when, FILE *text)
{
    char idle[GV_FORMAT_BYTES], busy[GV_FORMAT_BYTES], kernel[GV_FORMAT_BYTES], date[16] = "";
    const char *driver = gv_database_text(found, 1), *what = gv_database_text(found, 4);
    bool lock = strcmp(cause, "lock") == 0, load = !strcmp(gv_database_text(found, 9), "load");
    struct tm day;

    if (gmtime_r(&when, &day))
        strftime(date, sizeof(date), "%Y-%m-%d", &day);
    fprintf(text, "gpuverify probe measured on %s, on " GV_EXPLAIN_NAME "%s" GV_EXPLAIN_NAME ": ",
            date, gv_database_text(found, 0), driver[0] ? " with driver " : "", driver);
    fprintf(text, GV_EXPLAIN_NAME "%s" GV_EXPLAIN_NAME "%s takes %s %s and %s ",
            gv_database_text(found, 3), what[0] ? " (" : "", what, what[0] ? ")" : "",
            gv_format_duration(idle, sqlite3_column_int64(found, 6)),
            lock ? "alone" : "on an idle GPU",
            gv_format_duration(busy, sqlite3_column_int64(found, 7)));
    fprintf(text, "beside a %s of %s: it %s.",
            !lock  ? "kernel"
            : load ? "load that waits for a kernel"
                   : "call of another thread that pins or frees memory,",
            gv_format_duration(kernel, sqlite3_column_int64(found, 8)),
            sqlite3_column_int(found, 5) ? "waits" : "does not wait");
}

void gv_explain_probe(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    sqlite3_stmt *found;
    int64_t unix_s;
    char *result;

    if (to->error || !row->cause || !row->name)
        return;
    result = explain_probe_choose(to->trace, row->process, &unix_s);
    if (!result)
        return;
    found = explain_probe_ask(to->trace, sql_probe_finds, result);
    if (found && sqlite3_bind_text(found, 2, row->cause, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_text(found, 3, row->name, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int64(found, 4, row->blocked_by) == SQLITE_OK &&
        sqlite3_step(found) == SQLITE_ROW) {
        explain_probe_say(found, row->cause, (time_t)unix_s, to->text);
        gv_explain_end(to, "probe");
    }
    sqlite3_finalize(found);
    free(result);
}
