/* gpuverify explain FILE [ID]: one stall in plain words. */
#include "report/commands.h"
#include "report/explain.h"
#include "report/trace_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_EXPLAIN_COLUMNS 100

static int gv_explain_worst(sqlite3 *trace, int *told)
{
    struct gv_stall_filter filter = {.limit = 1};
    struct gv_stall_sums sums;
    struct gv_stall_rows rows = {0};
    int error = gv_stall_rows_sum(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error && rows.count) {
        if (*told)
            putchar('\n');
        error = gv_explain_stall(trace, &rows.rows[0], stdout, GV_EXPLAIN_COLUMNS);
        if (sums.count > 1)
            printf("\nThis is the worst of %" PRId64 " stalls; gpuverify stalls lists them.\n",
                   sums.count);
        *told += 1;
    }
    gv_stall_rows_free(&rows);
    return error;
}

static int gv_explain_one(sqlite3 *trace, int64_t id, int *told)
{
    struct gv_stall_filter filter = {.id = id, .expected = true};
    struct gv_stall_rows rows;
    int error = gv_stall_rows_read(trace, &filter, &rows);

    if (!error && rows.count)
        error = gv_explain_stall(trace, &rows.rows[0], stdout, GV_EXPLAIN_COLUMNS);
    *told = rows.count > 0;
    gv_stall_rows_free(&rows);
    return error;
}

int gv_command_explain(int argc, char **argv)
{
    sqlite3 *trace = NULL;
    char *end = NULL;
    int64_t id = 0;
    int told = 0, error;

    if (argc < 2 || argc > 3 || argv[1][0] == '-')
        return gv_command_usage(argv[0]);
    if (argc == 3) {
        errno = 0;
        id = strtoll(argv[2], &end, 10);
        if (errno || *end || id <= 0) {
            gv_message("%s is no number of a stall; 'gpuverify stalls' lists them", argv[2]);
            return GV_EXIT_USAGE;
        }
    }
    if (gv_trace_view_open(argv[1], &trace))
        return GV_EXIT_FAILED;
    if (id) {
        error = gv_explain_one(trace, id, &told);
    } else {
        error = gv_explain_flights(trace, stdout, GV_EXPLAIN_COLUMNS, &told);
        if (!error)
            error = gv_explain_worst(trace, &told);
    }
    if (error)
        gv_message("cannot read %s: %s", argv[1], sqlite3_errmsg(trace));
    else if (!told && id)
        gv_message("there is no stall %" PRId64 " in %s", id, argv[1]);
    else if (!told)
        puts("No call was held up: nothing to explain.");
    sqlite3_close(trace);
    return error || (!told && id) ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
