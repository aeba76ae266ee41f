#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/causes.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/summary/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WHERE_BYTES 4096
/* The longest stalls, from which the lines are found: other lines lost little. */
#define ROWS_READ 5000

static bool are_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Most calls share a stack with an earlier one, and looking up lines takes time. */
static void find_where(sqlite3 *trace, const struct gv_stall_lines *list, int64_t stack,
                       char where[WHERE_BYTES])
{
    where[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (list->lines[i].stack == stack) {
            strcpy(where, list->lines[i].where);
            return;
        }
    if (gv_stack_text(trace, stack, 1, where, WHERE_BYTES) != 0)
        where[0] = '\0';
}

/* The rows are sorted, so the first of a line is its worst. */
static int add_row(sqlite3 *trace, struct gv_stall_lines *list, const struct gv_stall_row *row)
{
    const char *holder = row->blocked_by && !row->blocked_stall ? row->blocked_name : NULL;
    int64_t stack = holder ? row->blocked_stack : row->stack;
    char where[WHERE_BYTES];
    struct gv_stall_line *line = NULL;

    find_where(trace, list, stack, where);
    for (size_t i = 0; i < list->count && !line; i++) {
        struct gv_stall_line *known = &list->lines[i];
        /* Without a line, the kernel says more than nothing. */
        if (strcmp(known->where, where) == 0 && are_same(known->holder, holder) &&
            are_same(known->worst->cause, row->cause) &&
            (holder || (are_same(known->worst->name, row->name) &&
                        (where[0] || are_same(known->kernel, row->kernel)))))
            line = known;
    }
    if (!line) {
        line = &list->lines[list->count];
        *line = (struct gv_stall_line){.where = strdup(where),
                                       .stack = stack,
                                       .holder = holder,
                                       .worst = row,
                                       .kernel = row->kernel};
        if (!line->where)
            return -ENOMEM;
        list->count++;
    }
    line->count++;
    line->lost_ns = gv_time_sum(line->lost_ns, gv_stall_lost_ns(row));
    if (!are_same(line->kernel, row->kernel))
        line->kernel = NULL;
    return 0;
}

/* The line whose worst stall another line's worst one waited for: most of both losses is the
 * same time. */
static void chain(struct gv_stall_lines *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct gv_stall_line *line = &list->lines[i];
        for (size_t j = 0; j < list->count && line->worst->blocked_stall; j++) {
            struct gv_stall_line *before = &list->lines[j];
            if (i == j || before->waits_behind || before->worst->id != line->worst->blocked_stall)
                continue;
            before->behind_count += line->count;
            before->behind_ns = gv_time_sum(before->behind_ns, line->lost_ns);
            line->waits_behind = true;
            break;
        }
    }
}

static int compare_lines(const void *one, const void *other)
{
    const struct gv_stall_line *a = one, *b = other;
    bool unknown = gv_cause_is_unknown(a->worst->cause);

    if (unknown != gv_cause_is_unknown(b->worst->cause))
        return unknown ? 1 : -1;
    if (a->lost_ns != b->lost_ns)
        return a->lost_ns < b->lost_ns ? 1 : -1;
    return a->worst->id < b->worst->id ? -1 : a->worst->id > b->worst->id;
}

static bool has_row(const struct gv_totals_part *part, const struct gv_stall_row *row)
{
    return (!part->process || row->process == part->process) &&
           (!part->thread || row->thread == part->thread) && row->start_ns >= part->from_ns &&
           row->start_ns < part->to_ns;
}

int gv_stall_lines_read(sqlite3 *trace, const struct gv_totals_part *part,
                        struct gv_stall_lines *lines)
{
    struct gv_stall_filter filter = {.limit = gv_totals_is_all(part) ? ROWS_READ : 0,
                                     .people = true};
    int error;

    *lines = (struct gv_stall_lines){0};
    error = gv_stall_rows_read(trace, &filter, &lines->rows);
    if (error)
        return error;
    lines->lines = calloc(lines->rows.count ? lines->rows.count : 1, sizeof(*lines->lines));
    if (!lines->lines)
        return -ENOMEM;
    for (size_t i = 0; i < lines->rows.count && !error; i++)
        if (has_row(part, &lines->rows.rows[i]))
            error = add_row(trace, lines, &lines->rows.rows[i]);
    chain(lines);
    qsort(lines->lines, lines->count, sizeof(*lines->lines), compare_lines);
    return error;
}

void gv_stall_lines_free(struct gv_stall_lines *lines)
{
    for (size_t i = 0; lines->lines && i < lines->count; i++)
        free(lines->lines[i].where);
    free(lines->lines);
    gv_stall_rows_free(&lines->rows);
}
