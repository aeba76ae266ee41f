#include "report/stall_lines.h"

#include "report/format.h"
#include "report/stack_text.h"
#include "report/stall_rows.h"
#include "report/stall_sums.h"

#include <inttypes.h>

#define GV_STALL_LINES_WHERE_BYTES 4096

static void gv_stall_lines_one(sqlite3 *trace, FILE *out, const struct gv_stall_row *row)
{
    char lost[GV_FORMAT_BYTES], where[GV_STALL_LINES_WHERE_BYTES];

    gv_format_duration(lost, gv_stall_lost_ns(row));
    fprintf(out, "  %-4" PRId64 " %9s  ", row->id, lost);
    gv_format_text(out, row->cause, 15, 1);
    fputc(' ', out);
    gv_format_text(out, row->name, 40, 0);
    if (row->kernel) {
        fputs(" of ", out);
        gv_format_text(out, row->kernel, 40, 0);
    }
    if (gv_stack_text(trace, row->stack, 1, where, sizeof(where)) == 0 && where[0]) {
        fputs(", ", out);
        gv_format_text(out, where, 60, 0);
    }
    fputc('\n', out);
}

int gv_stall_lines_print(sqlite3 *trace, const char *path, FILE *out, int most)
{
    struct gv_stall_filter filter = {.limit = most, .people = true};
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums;
    char lost[GV_FORMAT_BYTES];
    int error = gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error && rows.count > 0) {
        fprintf(out, "\nStalls: %s lost in %" PRId64 " call%s",
                gv_format_duration(lost, sums.lost_ns), sums.count, sums.count == 1 ? "" : "s");
        fputs(gv_stall_sums_are_small(&sums) ? ", less than 1 % of the run\n" : "\n", out);
        for (size_t i = 0; i < rows.count; i++)
            gv_stall_lines_one(trace, out, &rows.rows[i]);
        fputs("  more: gpuverify stalls ", out);
        gv_format_text(out, path, 1000, 0);
        fputs(", gpuverify explain ", out);
        gv_format_text(out, path, 1000, 0);
        fputs(" [NUMBER]\n", out);
    }
    gv_stall_rows_free(&rows);
    return error;
}
