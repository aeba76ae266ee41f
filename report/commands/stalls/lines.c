#include "report/commands/stalls/lines.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/rows.h"
#include "report/analyse/stalls/rules.h"
#include "report/analyse/stalls/sums.h"
#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/text_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_STALL_LINES_WHERE_BYTES 4096
/* The longest stalls, by which the lines are found: one that has none of them lost little. */
#define GV_STALL_LINES_READ  5000
#define GV_STALL_LINES_MORE  8
#define GV_STALL_LINES_CAUSE 15
/* Number, loss and cause. */
#define GV_STALL_LINES_INDENT 34
/* In fewer columns than these, lines go on under the cause. */
#define GV_STALL_LINES_NARROW 90
#define GV_STALL_LINES_CAUSES 18

/* Calls of one name that lost time at one line for one cause. */
struct gv_stall_line {
    char *where;   /* empty: not known */
    int64_t stack; /* of the worst; it may have been reached over others too */
    const char *name;
    const char *cause;
    const char *kernel; /* that all of them launched; or else NULL */
    int64_t id;         /* of the worst */
    int64_t count;
    int64_t lost_ns;
};

struct gv_stall_line_list {
    struct gv_stall_line *lines;
    size_t count;
};

static bool gv_stall_lines_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static void gv_stall_lines_count(struct gv_stall_line *line, const struct gv_stall_row *row)
{
    line->count++;
    line->lost_ns = gv_time_sum(line->lost_ns, gv_stall_lost_ns(row));
    if (!gv_stall_lines_same(line->kernel, row->kernel))
        line->kernel = NULL;
}

/* Most calls have the stack of an earlier one, and looking lines up takes its time. */
static void gv_stall_lines_where(sqlite3 *trace, const struct gv_stall_line_list *list,
                                 int64_t stack, char where[GV_STALL_LINES_WHERE_BYTES])
{
    where[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (list->lines[i].stack == stack) {
            strcpy(where, list->lines[i].where);
            return;
        }
    if (gv_stack_text(trace, stack, 1, where, GV_STALL_LINES_WHERE_BYTES) != 0)
        where[0] = '\0';
}

/* The rows are sorted: the first of a line is its worst. */
static int gv_stall_lines_add(sqlite3 *trace, struct gv_stall_line_list *list,
                              const struct gv_stall_row *row)
{
    char where[GV_STALL_LINES_WHERE_BYTES];

    gv_stall_lines_where(trace, list, row->stack, where);
    for (size_t i = 0; i < list->count; i++) {
        struct gv_stall_line *line = &list->lines[i];
        /* Where the line is not known, the kernel says more than nothing. */
        if (strcmp(line->where, where) == 0 && gv_stall_lines_same(line->name, row->name) &&
            gv_stall_lines_same(line->cause, row->cause) &&
            (where[0] || gv_stall_lines_same(line->kernel, row->kernel))) {
            gv_stall_lines_count(line, row);
            return 0;
        }
    }
    struct gv_stall_line *line = &list->lines[list->count];
    *line = (struct gv_stall_line){.where = strdup(where),
                                   .stack = row->stack,
                                   .name = row->name,
                                   .cause = row->cause,
                                   .kernel = row->kernel,
                                   .id = row->id};
    if (!line->where)
        return -ENOMEM;
    list->count++;
    gv_stall_lines_count(line, row);
    return 0;
}

static int gv_stall_lines_compare(const void *one, const void *other)
{
    const struct gv_stall_line *a = one, *b = other;
    bool unknown = gv_cause_is_unknown(a->cause);

    /* What is not explained comes last. */
    if (unknown != gv_cause_is_unknown(b->cause))
        return unknown ? 1 : -1;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns < b->lost_ns ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int gv_stall_lines_group(sqlite3 *trace, const struct gv_stall_rows *rows,
                                struct gv_stall_line_list *list)
{
    int error = 0;

    list->lines = calloc(rows->count ? rows->count : 1, sizeof(*list->lines));
    if (!list->lines)
        return -ENOMEM;
    for (size_t i = 0; i < rows->count && !error; i++)
        error = gv_stall_lines_add(trace, list, &rows->rows[i]);
    qsort(list->lines, list->count, sizeof(*list->lines), gv_stall_lines_compare);
    return error;
}

static void gv_stall_lines_free(struct gv_stall_line_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->lines[i].where);
    free(list->lines);
}

static void gv_stall_lines_one(FILE *out, const struct gv_stall_line *line, int columns)
{
    char lost[GV_FORMAT_BYTES], first[128], calls[40] = "", text[GV_STALL_LINES_WHERE_BYTES];

    snprintf(first, sizeof(first), "  %-4" PRId64 " %9s  ", line->id,
             gv_format_duration(lost, line->lost_ns));
    fputs(first, out);
    gv_format_text(out, line->cause, GV_STALL_LINES_CAUSE, 1);
    fputc(' ', out);
    if (line->count > 1)
        snprintf(calls, sizeof(calls), " (%" PRId64 " calls)", line->count);
    snprintf(text, sizeof(text), "%.200s%s%.200s%s%.600s%s", line->name ? line->name : "",
             line->kernel ? " of " : "", line->kernel ? line->kernel : "",
             line->where[0] ? ", " : "", line->where, calls);
    gv_text_lines_on(
        out, columns < GV_STALL_LINES_NARROW ? GV_STALL_LINES_CAUSES : GV_STALL_LINES_INDENT,
        GV_STALL_LINES_INDENT, text, columns);
}

static void gv_stall_lines_head(FILE *out, const struct gv_stall_sums *sums)
{
    int64_t known = sums->count - sums->unknown_count;
    char lost[GV_FORMAT_BYTES];

    fputs("\nStalls: ", out);
    if (known)
        fprintf(out, "%s lost in %" PRId64 " call%s", gv_format_duration(lost, sums->known_ns),
                known, known == 1 ? "" : "s");
    /* The verdict's waits are without it; records of cached code say some nanoseconds. */
    if (sums->jit_ns > sums->lost_ns / 1000)
        fputs(", compiling included", out);
    if (sums->processes > 1 && sums->count > 1)
        fprintf(out, ", of all %" PRId64 " processes added up", sums->processes);
    if (sums->unknown_count)
        fprintf(out, "%s%s in %" PRId64 " unexplained call%s", known ? "; " : "",
                gv_format_duration(lost, sums->unknown_ns), sums->unknown_count,
                sums->unknown_count == 1 ? "" : "s");
    fputs(gv_stall_sums_are_small(sums) ? ", less than 1 % of the run\n" : "\n", out);
}

int gv_stall_lines_print(sqlite3 *trace, const char *path, FILE *out, int most, int columns)
{
    struct gv_stall_filter filter = {.limit = GV_STALL_LINES_READ, .people = true};
    struct gv_stall_line_list list = {0};
    struct gv_stall_rows rows = {0};
    struct gv_stall_sums sums;
    char more[3300], word[GV_SHELL_WORD_BYTES];
    int error = gv_stall_sums_read(trace, &sums);

    if (!error)
        error = gv_stall_rows_read(trace, &filter, &rows);
    if (!error)
        error = gv_stall_lines_group(trace, &rows, &list);
    if (!error && list.count > 0) {
        gv_stall_lines_head(out, &sums);
        for (size_t i = 0; i < list.count && i < (size_t)most; i++)
            gv_stall_lines_one(out, &list.lines[i], columns);
        path = gv_shown_word(word, path);
        snprintf(more, sizeof(more),
                 "gpuverify stalls %.1000s, gpuverify explain %.1000s [NUMBER]%s%.1000s%s", path,
                 path, list.count > (size_t)most ? ", gpuverify query " : "",
                 list.count > (size_t)most ? path : "",
                 list.count > (size_t)most ? " stall-lines" : "");
        gv_text_lines(out, GV_STALL_LINES_MORE, "  more:", more, columns);
    }
    gv_stall_lines_free(&list);
    gv_stall_rows_free(&rows);
    return error;
}
