/* Makes the estimates, and writes them by stack and by line. */
#include "report/analyse/lines/run.h"

#include "report/analyse/names/places.h"
#include "report/store/time_sum.h"
#include "report/analyse_lines_lines.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct line {
    int64_t place, capture;
    int64_t amounts[GV_STRATA_AMOUNTS];
    int64_t samples;
    bool host_only, sampled;
};

struct storing {
    struct gv_lines *lines;
    struct line *all;
    size_t count, room;
    size_t *of_row;
    struct gv_key_map numbers;
    struct gv_places places;
    double gpu_ns, error_ns; /* of all lines */
};

static int find_line(struct storing *storing, int64_t place, int64_t capture, bool host_only,
                     size_t *line)
{
    const struct gv_key key = {{(uint64_t)place, (uint64_t)capture, 0}};
    int64_t number = gv_key_map_find(&storing->numbers, &key);
    int error;

    *line = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_array_room(&storing->all, storing->count, &storing->room, sizeof(*storing->all));
    if (error)
        return error;
    *line = storing->count++;
    storing->all[*line] = (struct line){.place = place, .capture = capture, .host_only = host_only};
    return gv_key_map_add(&storing->numbers, &key, (int64_t)*line + 1);
}

static int take_row(struct storing *storing, size_t number)
{
    sqlite3 *trace = storing->lines->trace;
    const struct gv_strata_row *row = &storing->lines->strata.rows[number];
    const struct gv_lines_class *class = &storing->lines->classes[row->class];
    int64_t place, capture;
    size_t line;
    int error = gv_place_of_stack(trace, &storing->places, row->stack, &place);

    if (!error)
        error = gv_place_of_stack(trace, &storing->places, class->capture, &capture);
    if (!error)
        error = find_line(storing, place, capture, class->host_only, &line);
    if (error)
        return error;
    struct line *of = &storing->all[line];
    for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
        of->amounts[i] = gv_time_sum(of->amounts[i], row->amounts[i]);
    storing->gpu_ns += (double)row->amounts[GV_STRATA_GPU];
    storing->error_ns += (double)row->amounts[GV_STRATA_ERROR];
    of->samples += row->samples;
    of->host_only &= class->host_only;
    of->sampled |= class->sampled;
    storing->of_row[number] = line;
    return 0;
}

/* The backward pass is estimated from the same chosen calls as the forward pass: its errors are
 * apart, because they add up. */
static size_t line_of_row(const void *context, const struct gv_strata_row *row)
{
    const struct storing *storing = context;
    bool of_forward = storing->lines->classes[row->class].of_forward;

    return storing->of_row[row - storing->lines->strata.rows] + (of_forward ? storing->count : 0);
}

static int add_stacks(struct storing *storing)
{
    const struct gv_lines *lines = storing->lines;
    sqlite3_stmt *add = NULL;
    int error = gv_database_error(lines->trace,
                                  sqlite3_prepare_v2(lines->trace, sql_add_stack, -1, &add, NULL));

    for (size_t i = 0; i < lines->strata.row_count && !error; i++) {
        const struct gv_strata_row *row = &lines->strata.rows[i];
        const struct gv_lines_class *class = &lines->classes[row->class];
        const int64_t values[] = {
            class->process,
            row->stack,
            class->capture,
            class->kind,
            class->name,
            class->copy_kind,
            row->amounts[GV_STRATA_CALLS],
            row->samples,
            class->host_only ? -1 : row->amounts[GV_STRATA_GPU],
            class->host_only || class->sampled ? -1 : row->amounts[GV_STRATA_QUEUED],
            class->host_only || class->sampled ? -1 : row->amounts[GV_STRATA_IDLE],
        };
        error = gv_database_add(add, values, 11);
    }
    sqlite3_finalize(add);
    return error;
}

/* Of its share, times all time: a line that has nearly all surely has. */
static double sampling_error(const struct storing *storing, const struct line *of)
{
    double error_ns = (double)of->amounts[GV_STRATA_ERROR];
    double share = storing->gpu_ns > 0 ? (double)of->amounts[GV_STRATA_GPU] / storing->gpu_ns : 0;

    return (1 - share) * error_ns + share * (storing->error_ns - error_ns);
}

static int add_lines(struct storing *storing, const double *squares)
{
    sqlite3 *trace = storing->lines->trace;
    sqlite3_stmt *add = NULL;
    int error = gv_database_error(trace, sqlite3_prepare_v2(trace, sql_add_line, -1, &add, NULL));

    for (size_t i = 0; i < storing->count && !error; i++) {
        const struct line *line = &storing->all[i];
        double error_ns = sqrt(fmin(fmax(squares[i], 0), 2e37)) +
                          sqrt(fmin(fmax(squares[storing->count + i], 0), 2e37)) +
                          sampling_error(storing, line);
        const int64_t values[] = {
            line->place,
            line->capture,
            line->amounts[GV_STRATA_CALLS],
            line->samples,
            line->host_only ? -1 : line->amounts[GV_STRATA_GPU],
            line->host_only ? -1 : llround(error_ns),
            line->host_only || line->sampled ? -1 : line->amounts[GV_STRATA_QUEUED],
            line->host_only || line->sampled ? -1 : line->amounts[GV_STRATA_IDLE],
        };
        error = gv_database_add(add, values, 8);
    }
    sqlite3_finalize(add);
    return error;
}

static int place_of_stack(void *context, int64_t stack, int64_t *place)
{
    struct storing *storing = context;

    return gv_place_of_stack(storing->lines->trace, &storing->places, stack, place);
}

int gv_lines_write(struct gv_lines *lines)
{
    struct storing storing = {.lines = lines};
    double *squares = NULL;
    int error = gv_strata_solve(&lines->strata, place_of_stack, &storing);

    if (!error)
        storing.of_row = calloc(lines->strata.row_count + 1, sizeof(*storing.of_row));
    if (!error && !storing.of_row)
        error = -ENOMEM;
    for (size_t i = 0; i < lines->strata.row_count && !error; i++)
        error = take_row(&storing, i);
    if (!error && !(squares = calloc(2 * storing.count + 1, sizeof(*squares))))
        error = -ENOMEM;
    if (!error)
        error = gv_strata_errors(&lines->strata, line_of_row, &storing, squares);
    if (!error)
        error = add_stacks(&storing);
    if (!error)
        error = add_lines(&storing, squares);
    gv_key_map_free(&storing.numbers);
    gv_places_free(&storing.places);
    free(storing.all);
    free(storing.of_row);
    free(squares);
    return error;
}
