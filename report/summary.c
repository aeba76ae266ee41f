#include "report/summary.h"

#include "report/commands.h"
#include "report/format.h"
#include "report/stall_lines.h"
#include "report/terminal.h"
#include "report/verdict_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GV_SUMMARY_STALLS 3
/* How wide text is where nothing says it, and at least and most. */
#define GV_SUMMARY_COLUMNS 100
#define GV_SUMMARY_LEAST   40
#define GV_SUMMARY_MOST    160

/* One part of the summary: a query, and how its rows are printed. */
struct gv_summary_part {
    const char *title; /* printed before the first row; NULL: none */
    const char *sql;
    void (*row)(FILE *out, sqlite3_stmt *row);
};

static const char *gv_summary_text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static bool gv_summary_is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static const char *gv_summary_time(sqlite3_stmt *row, int column, char out[GV_FORMAT_BYTES])
{
    if (gv_summary_is_null(row, column))
        return strcpy(out, "-");
    return gv_format_duration(out, sqlite3_column_int64(row, column));
}

static void gv_summary_label(FILE *out, const char *label)
{
    fprintf(out, "%-10s ", label);
}

static void gv_summary_start(FILE *out, sqlite3_stmt *row, int column)
{
    time_t seconds = (time_t)(sqlite3_column_int64(row, column) / 1000000000);
    struct tm local;
    char text[64];

    if (localtime_r(&seconds, &local) &&
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local) > 0)
        fprintf(out, "%s", text);
    else
        fputs("unknown", out);
}

static void gv_summary_count(FILE *out, sqlite3_stmt *row, int column, const char *one,
                             const char *more)
{
    int64_t count = sqlite3_column_int64(row, column);

    fprintf(out, "%" PRId64 " %s", count, count == 1 ? one : more);
}

static void gv_summary_head_row(FILE *out, sqlite3_stmt *row)
{
    int64_t driver = sqlite3_column_int64(row, 4);

    gv_summary_label(out, "arguments");
    gv_format_text(out, gv_summary_text(row, 1), 400, 0);
    fputc('\n', out);
    gv_summary_label(out, "started");
    gv_summary_start(out, row, 2);
    fputs(" on ", out);
    gv_format_text(out, gv_summary_text(row, 3), 100, 0);
    fputc('\n', out);
    gv_summary_label(out, "driver");
    if (driver > 0)
        fprintf(out, "CUDA %" PRId64 ".%" PRId64 "%s\n", driver / 1000, driver % 1000 / 10,
                sqlite3_column_int(row, 9) ? ", simulated" : "");
    else
        fputs("unknown\n", out);
    gv_summary_label(out, "recorded");
    gv_summary_count(out, row, 5, "call", "calls");
    fputs(" of ", out);
    gv_summary_count(out, row, 6, "thread", "threads");
    fputs(" in ", out);
    gv_summary_count(out, row, 7, "process", "processes");
    fputs(", ", out);
    gv_summary_count(out, row, 8, "load of code", "loads of code");
    fputc('\n', out);
}

static void gv_summary_process_row(FILE *out, sqlite3_stmt *row)
{
    const char *ended = gv_summary_text(row, 3);

    fprintf(out, "  %-8" PRId64 " ", (int64_t)sqlite3_column_int64(row, 0));
    gv_format_text(out, gv_summary_text(row, 1), 24, 1);
    fprintf(out, " %9" PRId64 " calls  ", (int64_t)sqlite3_column_int64(row, 2));
    if (!ended)
        fputs("still runs", out);
    else if (!gv_summary_is_null(row, 4))
        fprintf(out, "exit code %" PRId64, (int64_t)sqlite3_column_int64(row, 4));
    else if (strcmp(ended, "killed") == 0)
        fputs("ended without a word (killed, crashed)", out);
    else
        gv_format_text(out, ended, 20, 0);
    fputc('\n', out);
}

static void gv_summary_call_row(FILE *out, sqlite3_stmt *row)
{
    char total[GV_FORMAT_BYTES], least[GV_FORMAT_BYTES], median[GV_FORMAT_BYTES],
        most[GV_FORMAT_BYTES];

    fputs("  ", out);
    gv_format_text(out, gv_summary_text(row, 0), 34, 1);
    fprintf(out, "%10" PRId64 " %9s %9s %9s %9s %6.1f %%\n", (int64_t)sqlite3_column_int64(row, 1),
            gv_summary_time(row, 2, total), gv_summary_time(row, 3, least),
            gv_summary_time(row, 4, median), gv_summary_time(row, 5, most),
            sqlite3_column_double(row, 6) * 100);
}

static void gv_summary_gpu_row(FILE *out, sqlite3_stmt *row)
{
    const char *mode = gv_summary_text(row, 0);
    int64_t version = sqlite3_column_int64(row, 2);

    gv_summary_label(out, "GPU side");
    if (mode && strcmp(mode, "cupti") == 0 && version >= 10000)
        fprintf(out, "seen through %sCUPTI %" PRId64 ".%" PRId64,
                sqlite3_column_int(row, 5) ? "a simulated " : "", version / 10000,
                version % 10000 / 100);
    else if (mode && strcmp(mode, "cupti") == 0)
        fprintf(out, "seen through CUPTI (API version %" PRId64 ")", version);
    else
        fputs("host-only, calls alone are known", out);
    if (!gv_summary_is_null(row, 1)) {
        fputs(": ", out);
        gv_format_text(out, gv_summary_text(row, 1), 300, 0);
    }
    if (sqlite3_column_int64(row, 4) > 1)
        fprintf(out, " (%" PRId64 " processes)", (int64_t)sqlite3_column_int64(row, 3));
    fputc('\n', out);
}

static void gv_summary_found_row(FILE *out, sqlite3_stmt *row)
{
    int64_t count = sqlite3_column_int64(row, 0), found = sqlite3_column_int64(row, 1);

    gv_summary_label(out, "");
    fprintf(out, "%" PRId64 " GPU operation%s, %.1f %% of them found their call\n", count,
            count == 1 ? "" : "s", 100.0 * (double)found / (double)count);
}

static void gv_summary_error_row(FILE *out, sqlite3_stmt *row)
{
    int64_t result = sqlite3_column_int64(row, 1);
    const char *name = gv_format_result(gv_summary_text(row, 0), result);

    fputs("  ", out);
    gv_format_text(out, gv_summary_text(row, 0), 34, 1);
    fprintf(out, "%10" PRId64 "  %" PRId64 " %s\n", (int64_t)sqlite3_column_int64(row, 2), result,
            name ? name : "(unknown)");
}

static void gv_summary_load_row(FILE *out, sqlite3_stmt *row)
{
    char duration[GV_FORMAT_BYTES], size[GV_FORMAT_BYTES];

    fprintf(out, "  %9s ", gv_summary_time(row, 0, duration));
    gv_format_text(out, gv_summary_text(row, 1), 8, 1);
    fprintf(out, "%10s  ",
            gv_summary_is_null(row, 2) ? "-" : gv_format_size(size, sqlite3_column_int64(row, 2)));
    gv_format_text(out, gv_summary_text(row, 3), 30, 0);
    if (!gv_summary_is_null(row, 4)) {
        fputs("  ", out);
        gv_format_text(out, gv_summary_text(row, 4), 100, 0);
    }
    if (sqlite3_column_int64(row, 5) != 0)
        fprintf(out, "  failed: %" PRId64, (int64_t)sqlite3_column_int64(row, 5));
    fputc('\n', out);
}

static void gv_summary_kernel_row(FILE *out, sqlite3_stmt *row)
{
    char total[GV_FORMAT_BYTES];

    fprintf(out, "  %10" PRId64 " %9s  ", (int64_t)sqlite3_column_int64(row, 1),
            gv_summary_time(row, 2, total));
    gv_format_text(out, gv_summary_is_null(row, 0) ? "(unknown)" : gv_summary_text(row, 0), 100, 0);
    fputc('\n', out);
}

static void gv_summary_flight_row(FILE *out, sqlite3_stmt *row)
{
    char start[GV_FORMAT_BYTES];

    fputs("  ", out);
    gv_format_text(out, gv_summary_text(row, 0), 34, 1);
    fprintf(out, " thread %" PRId64 " (", (int64_t)sqlite3_column_int64(row, 1));
    gv_format_text(out, gv_summary_text(row, 2), 16, 0);
    fprintf(out, "), since %s", gv_summary_time(row, 3, start));
    if (!gv_summary_is_null(row, 4)) {
        fputs(", kernel ", out);
        gv_format_text(out, gv_summary_text(row, 4), 80, 0);
    }
    fputc('\n', out);
}

static void gv_summary_loss_row(FILE *out, sqlite3_stmt *row)
{
    fprintf(out, "  %10" PRId64 " ", (int64_t)sqlite3_column_int64(row, 2));
    gv_format_text(out, gv_summary_is_null(row, 0) ? "record" : gv_summary_text(row, 0), 32, 0);
    fputc('s', out);
    if (!gv_summary_is_null(row, 1)) {
        fputs(" of class ", out);
        gv_format_text(out, gv_summary_text(row, 1), 16, 0);
    }
    fputc('\n', out);
}

static const struct gv_summary_part gv_summary_parts[] = {
    {NULL,
     "SELECT (SELECT value FROM meta WHERE key = 'program'), (SELECT value FROM meta WHERE key ="
     " 'arguments'), (SELECT value FROM meta WHERE key = 'start_unix_ns'), (SELECT value FROM meta"
     " WHERE key = 'host'), (SELECT value FROM meta WHERE key = 'driver_version'), (SELECT value "
     "FROM"
     " fact WHERE key = 'calls'), (SELECT count(*) FROM threads), (SELECT count(*) FROM processes),"
     " (SELECT count(*) FROM load WHERE result = 0), EXISTS (SELECT 1 FROM device WHERE name GLOB"
     " 'GV_SIM *')",
     gv_summary_head_row},
    {NULL,
     "SELECT gpu, gpu_why, cupti_version, count(*), (SELECT count(*) FROM processes WHERE gpu IS"
     " NOT NULL), EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *') FROM processes WHERE "
     "gpu IS NOT NULL GROUP BY 1, 2, 3 ORDER BY min(id) LIMIT 10",
     gv_summary_gpu_row},
    {NULL,
     "SELECT o.value, f.value FROM fact o, fact f WHERE o.key = 'operations' AND o.value > 0 AND"
     " f.key = 'found_operations'",
     gv_summary_found_row},
    {"Processes (number, program)",
     "SELECT p.pid, p.program, (SELECT count(*) FROM calls c WHERE c.process = p.id), p.ended,"
     " p.exit_code FROM processes p WHERE p.ended = 'killed' OR coalesce(p.exit_code, 0) <> 0"
     " OR (SELECT count(*) FROM processes) BETWEEN 2 AND 20 ORDER BY p.id LIMIT 20",
     gv_summary_process_row},
    {"Calls                                  count     total       min    median       max    "
     "share",
     "SELECT a.name, t.count, t.total_ns, t.min_ns, t.median_ns, t.max_ns, t.total_ns * 1.0 /"
     " nullif((SELECT total(total_ns) FROM api_total), 0) FROM api_total t JOIN api a ON a.id ="
     " t.api ORDER BY t.total_ns DESC, a.name LIMIT 40",
     gv_summary_call_row},
    {"Kernels by GPU time                      count     total       min    median       max    "
     "share",
     "SELECT name, count, total_ns, min_ns, median_ns, max_ns, total_ns * 1.0 / nullif((SELECT"
     " total(total_ns) FROM kernel_total), 0) FROM kernel_total ORDER BY total_ns DESC, name LIMIT "
     "25",
     gv_summary_call_row},
    {"Copies and sets on the GPU               count     total       min    median       max    "
     "share",
     "SELECT CASE t.copy_kind WHEN -1 THEN 'memset' ELSE coalesce(k.name, 'copy') END, t.count,"
     " t.total_ns, t.min_ns, t.median_ns, t.max_ns, t.total_ns * 1.0 / nullif((SELECT "
     "total(total_ns)"
     " FROM copy_total), 0) FROM copy_total t LEFT JOIN copy_kind k ON k.id = t.copy_kind ORDER BY"
     " t.total_ns DESC LIMIT 25",
     gv_summary_call_row},
    {"Results other than success              times  result",
     "SELECT name, result, count(*) FROM calls WHERE result NOT IN (0, 600)"
     " GROUP BY name, result ORDER BY count(*) DESC LIMIT 20",
     gv_summary_error_row},
    {"Slowest loads of code",
     "SELECT duration_ns, kind, bytes, function, name, result FROM loads"
     " ORDER BY duration_ns DESC LIMIT 10",
     gv_summary_load_row},
    {"Launches by kernel (times, host time)",
     "SELECT k.name, sum(g.times), sum(g.total) FROM (SELECT kernel_id, count(*) AS times,"
     " sum(duration_ns) AS total FROM calls WHERE class = 'launch' AND kernel_id IS NOT NULL"
     " GROUP BY kernel_id) g LEFT JOIN kernels k ON k.id = g.kernel_id GROUP BY k.name"
     " ORDER BY 2 DESC LIMIT 15",
     gv_summary_kernel_row},
    {"Calls that had not returned at the end",
     "SELECT name, tid, thread_name, start_ns, kernel FROM in_flight ORDER BY start_ns LIMIT 20",
     gv_summary_flight_row},
    {"Lost, because shared memory was full",
     "SELECT what, class, sum(count) FROM losses GROUP BY what, class HAVING sum(count) > 0"
     " ORDER BY 3 DESC LIMIT 20",
     gv_summary_loss_row},
};

static int gv_summary_print_part(FILE *out, sqlite3 *trace, const struct gv_summary_part *part)
{
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, part->sql, -1, &rows, NULL);
    bool first = true;

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        if (result != SQLITE_ROW)
            break;
        if (first && part->title)
            fprintf(out, "\n%s\n", part->title);
        first = false;
        part->row(out, rows);
    }
    sqlite3_finalize(rows);
    return result == SQLITE_DONE ? 0 : -EIO;
}

int gv_summary_columns(FILE *out)
{
    unsigned int width = gv_terminal_width(out);

    if (width == 0)
        return GV_SUMMARY_COLUMNS;
    return width < GV_SUMMARY_LEAST ? GV_SUMMARY_LEAST
                                    : (int)(width > GV_SUMMARY_MOST ? GV_SUMMARY_MOST : width);
}

/* The verdict, and the worst stalls. */
static int gv_summary_head(FILE *out, sqlite3 *trace, const char *path)
{
    struct gv_totals_part all = GV_TOTALS_ALL;
    struct gv_verdict *verdict = malloc(sizeof(*verdict));
    struct gv_run_facts *facts = malloc(sizeof(*facts));
    int error = verdict && facts ? gv_run_facts_read(trace, &all, facts) : -ENOMEM;

    if (!error) {
        gv_verdict_make(facts, verdict);
        error = gv_verdict_print(out, trace, facts, verdict, gv_summary_columns(out));
    }
    if (!error)
        error = gv_stall_lines_print(trace, path, out, GV_SUMMARY_STALLS);
    free(verdict);
    free(facts);
    return error;
}

static int gv_summary_failed(sqlite3 *trace, const char *path)
{
    gv_message("cannot read %s: %s", path, sqlite3_errmsg(trace));
    return -EIO;
}

int gv_summary_print_short(FILE *out, sqlite3 *trace, const char *path)
{
    if (gv_summary_head(out, trace, path))
        return gv_summary_failed(trace, path);
    gv_verdict_print_more(out, path);
    return 0;
}

int gv_summary_print(FILE *out, sqlite3 *trace, const char *path)
{
    if (gv_summary_head(out, trace, path))
        return gv_summary_failed(trace, path);
    fputc('\n', out);
    gv_summary_label(out, "trace");
    gv_format_text(out, path, 1000, 0);
    fputc('\n', out);
    for (size_t i = 0; i < sizeof(gv_summary_parts) / sizeof(gv_summary_parts[0]); i++)
        if (gv_summary_print_part(out, trace, &gv_summary_parts[i]) < 0)
            return gv_summary_failed(trace, path);
    return 0;
}
