#include "report/stall_lines.h"

#include "report/format.h"
#include "report/stack_text.h"
#include "report/stall_rows.h"
#include "report/stall_sums.h"
#include "report/text_lines.h"

#include <inttypes.h>

#define GV_STALL_LINES_WHERE_BYTES 4096
#define GV_STALL_LINES_MORE        8
#define GV_STALL_LINES_CAUSE       15
/* Number, loss and cause. */
#define GV_STALL_LINES_INDENT 34
/* In fewer columns than these, lines go on under the cause. */
#define GV_STALL_LINES_NARROW 90
#define GV_STALL_LINES_CAUSES 18

static void gv_stall_lines_one(sqlite3 *trace, FILE *out, const struct gv_stall_row *row,
                               int columns)
{
    char lost[GV_FORMAT_BYTES], where[GV_STALL_LINES_WHERE_BYTES];
    char first[128], text[GV_STALL_LINES_WHERE_BYTES];

    if (gv_stack_text(trace, row->stack, 1, where, sizeof(where)) != 0)
        where[0] = '\0';
    snprintf(first, sizeof(first), "  %-4" PRId64 " %9s  ", row->id,
             gv_format_duration(lost, gv_stall_lost_ns(row)));
    fputs(first, out);
    gv_format_text(out, row->cause, GV_STALL_LINES_CAUSE, 1);
    fputc(' ', out);
    snprintf(text, sizeof(text), "%.200s%s%.200s%s%.600s", row->name ? row->name : "",
             row->kernel ? " of " : "", row->kernel ? row->kernel : "", where[0] ? ", " : "",
             where);
    gv_text_lines_on(
        out, columns < GV_STALL_LINES_NARROW ? GV_STALL_LINES_CAUSES : GV_STALL_LINES_INDENT,
        GV_STALL_LINES_INDENT, text, columns);
}

int gv_stall_lines_print(sqlite3 *trace, const char *path, FILE *out, int most, int columns)
{
    struct gv_stall_filter filter = {.limit = most, .people = true};
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums;
    char lost[GV_FORMAT_BYTES], more[2200];
    int error = gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error && rows.count > 0) {
        fprintf(out, "\nStalls: %s lost in %" PRId64 " call%s",
                gv_format_duration(lost, sums.lost_ns), sums.count, sums.count == 1 ? "" : "s");
        /* The verdict's waits are without it; records of cached code say some nanoseconds. */
        if (sums.jit_ns > sums.lost_ns / 1000)
            fputs(", compiling included", out);
        if (sums.processes > 1 && sums.count > 1)
            fprintf(out, ", of all %" PRId64 " processes added up", sums.processes);
        fputs(gv_stall_sums_are_small(&sums) ? ", less than 1 % of the run\n" : "\n", out);
        for (size_t i = 0; i < rows.count; i++)
            gv_stall_lines_one(trace, out, &rows.rows[i], columns);
        snprintf(more, sizeof(more), "gpuverify stalls %.1000s, gpuverify explain %.1000s [NUMBER]",
                 path, path);
        gv_text_lines(out, GV_STALL_LINES_MORE, "  more:", more, columns);
    }
    gv_stall_rows_free(&rows);
    return error;
}
