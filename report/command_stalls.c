/* gpuverify stalls FILE: the calls that were held up, longest first. */
#include "report/commands.h"
#include "report/format.h"
#include "report/stack_text.h"
#include "report/stall_rows.h"
#include "report/trace_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_STALLS_WHERE_BYTES 4096
#define GV_STALLS_SMALL       0.01

struct gv_stalls_request {
    struct gv_stall_filter filter;
    const char *path;
};

static void gv_stalls_print_row(sqlite3 *trace, const struct gv_stall_row *row)
{
    char lost[GV_FORMAT_BYTES], where[GV_STALLS_WHERE_BYTES];

    if (gv_stack_text(trace, row->stack, 1, where, sizeof(where)))
        where[0] = '\0';
    printf("%5" PRId64 " %9.3f s %9s  ", row->id, (double)row->start_ns / 1e9,
           gv_format_duration(lost, gv_stall_lost_ns(row)));
    gv_format_text(stdout, row->cause, 15, 1);
    putchar(' ');
    gv_format_text(stdout, row->name, 24, 1);
    putchar(' ');
    gv_format_text(stdout, row->blocked_name ? row->blocked_name : row->waited_name, 28, 1);
    putchar(' ');
    gv_format_text(stdout, where[0] ? where : NULL, 40, 0);
    putchar('\n');
}

static void gv_stalls_print_sums(const struct gv_stall_sums *sums)
{
    char lost[GV_FORMAT_BYTES], run[GV_FORMAT_BYTES], asked[GV_FORMAT_BYTES];
    double share = sums->run_ns > 0 ? (double)sums->lost_ns / (double)sums->run_ns : 0;

    if (sums->count == 0)
        puts("No call was held up that had not asked for it.");
    else
        printf("%" PRId64 " call%s lost %s of the %s from the first call to the last%s.\n",
               sums->count, sums->count == 1 ? "" : "s", gv_format_duration(lost, sums->lost_ns),
               gv_format_duration(run, sums->run_ns),
               share < GV_STALLS_SMALL ? ": less than 1 %, not worth changing the program for"
                                       : "");
    if (sums->expected_count)
        printf("%" PRId64 " call%s waited for the GPU as asked, %s together (--all).\n",
               sums->expected_count, sums->expected_count == 1 ? "" : "s",
               gv_format_duration(asked, sums->expected_ns));
}

static int gv_stalls_print(sqlite3 *trace, const struct gv_stalls_request *request)
{
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums;
    int error = gv_stall_rows_sum(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &request->filter, &rows);
    if (!error && rows.count)
        puts("stall      when        lost  cause           call                     waited for   "
             "                where");
    for (size_t i = 0; i < rows.count && !error; i++)
        gv_stalls_print_row(trace, &rows.rows[i]);
    if (!error && rows.count)
        putchar('\n');
    if (!error)
        gv_stalls_print_sums(&sums);
    if (!error && rows.count)
        puts("Why, call by call: gpuverify explain FILE STALL");
    gv_stall_rows_free(&rows);
    return error;
}

int gv_command_stalls(const struct gv_arguments *arguments)
{
    struct gv_stalls_request request = {0};
    sqlite3 *trace = NULL;
    int error;

    request.path = arguments->operands[0];
    if (gv_trace_view_open(request.path, &trace))
        return GV_EXIT_FAILED;
    error = gv_stalls_print(trace, &request);
    if (error)
        gv_message("cannot read %s: %s", request.path, sqlite3_errmsg(trace));
    sqlite3_close(trace);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
