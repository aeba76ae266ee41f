/* All views of a trace, as a CSV file for each. */
#include "report/commands/export/export.h"

#include "report/commands/statement_rows.h"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"
#include "report/store/schema_text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define GV_CSV_HEAD_BYTES  (64 * GV_STATEMENT_COLUMNS)
#define GV_CSV_NAME_BYTES  64
#define GV_CSV_VIEWS       128
#define GV_CSV_QUERY_BYTES 128

struct csv {
    sqlite3 *trace;
    const char *folder;
    char views[GV_CSV_VIEWS][GV_CSV_NAME_BYTES];
    size_t count;
    bool force;
};

/* What is done with a view: `statement` has its columns. */
typedef int csv_do(const struct csv *csv, const char *path, sqlite3_stmt *statement);

static void csv_view(const struct gv_schema_column *column, void *context)
{
    struct csv *csv = context;

    if (csv->count > 0 && strcmp(csv->views[csv->count - 1], column->object) == 0)
        return;
    if (csv->count < GV_CSV_VIEWS)
        snprintf(csv->views[csv->count++], GV_CSV_NAME_BYTES, "%s", column->object);
}

/* Whether there is no such file, or an earlier export: its first line has the view's columns. */
static int csv_check(const struct csv *csv, const char *path, sqlite3_stmt *statement)
{
    char head[GV_CSV_HEAD_BYTES], wanted[GV_CSV_HEAD_BYTES];
    struct stat status;
    size_t length = 0;

    if (csv->force || stat(path, &status) < 0 || (S_ISREG(status.st_mode) && status.st_size == 0))
        return 0;
    FILE *file = S_ISREG(status.st_mode) ? fopen(path, "re") : NULL;
    bool read = file && fgets(head, sizeof(head), file);
    if (file)
        (void)fclose(file);
    for (int i = 0; i < sqlite3_column_count(statement) && length < sizeof(wanted); i++)
        length += (size_t)snprintf(wanted + length, sizeof(wanted) - length, "%s%s",
                                   i > 0 ? "," : "", sqlite3_column_name(statement, i));
    if (length + 1 < sizeof(wanted))
        memcpy(wanted + length, "\n", 2);
    if (read && strcmp(head, wanted) == 0)
        return 0;
    gv_message("%s exists, and is not an earlier export as csv; --force overwrites it", path);
    return -EEXIST;
}

static int csv_write(const struct csv *csv, const char *path, sqlite3_stmt *statement)
{
    struct gv_output_file file;
    int error = gv_output_file_open(&file, path, 0600);

    if (!error) {
        int failed = gv_statement_rows_all(statement, file.out, GV_FORMAT_CSV, NULL);
        if (failed == -EINVAL) { /* SQL failed: the caller tells */
            gv_output_file_drop(&file);
            return gv_database_error(csv->trace, sqlite3_errcode(csv->trace));
        }
        error = gv_output_file_close(&file);
        error = error ? error : failed;
    }
    if (error)
        gv_message("cannot write %s: %s", path, strerror(-error));
    return error ? -EEXIST : 0;
}

static int csv_each(const struct csv *csv, csv_do *what)
{
    int error = 0;

    for (size_t i = 0; i < csv->count && !error; i++) {
        char path[PATH_MAX], sql[GV_CSV_QUERY_BYTES];
        sqlite3_stmt *statement = NULL;

        snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", csv->views[i]);
        if ((size_t)snprintf(path, sizeof(path), "%s/%s.csv", csv->folder, csv->views[i]) >=
            sizeof(path))
            return -ENAMETOOLONG;
        error = gv_database_compile(csv->trace, sql, &statement);
        if (!error)
            error = what(csv, path, statement);
        sqlite3_finalize(statement);
    }
    return error;
}

int gv_export_csv(sqlite3 *trace, const char *path, bool force)
{
    struct csv csv = {.trace = trace, .folder = path, .force = force};
    int error = gv_schema_describe(NULL, false, csv_view, &csv);

    if (!error)
        error = csv_each(&csv, csv_check);
    if (!error && mkdir(path, 0777) < 0 && errno != EEXIST) {
        gv_message("cannot make %s: %s", gv_shown_path(path), strerror(errno));
        return -EEXIST;
    }
    return error ? error : csv_each(&csv, csv_write);
}
