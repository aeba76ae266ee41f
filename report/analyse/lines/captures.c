/* Where the graphs that are launched were captured. */
#include "report/analyse/lines/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_lines_lines.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stdlib.h>

enum capture_column {
    CAPTURE_PROCESS,
    CAPTURE_START,
    CAPTURE_BEGINS,
    CAPTURE_ENDS,
    CAPTURE_STREAM,
    CAPTURE_OBJECT,
    CAPTURE_OF, /* the graph that the object is made of */
    CAPTURE_STACK,
};

struct capture_reading {
    struct gv_lines *lines;
    struct gv_key_map stacks; /* of a stream that captures, or of a graph; plus 1 */
};

/* Sets what a stream or a graph stands for now. */
static int set_stack(struct capture_reading *reading, const struct gv_key *key, int64_t stack)
{
    gv_key_map_remove(&reading->stacks, key);
    return gv_key_map_add(&reading->stacks, key, stack < INT64_MAX ? stack + 1 : 0);
}

static int64_t get_stack(const struct capture_reading *reading, const struct gv_key *key)
{
    int64_t stack = gv_key_map_find(&reading->stacks, key);

    return stack ? stack - 1 : 0;
}

static int take_capture(void *context, sqlite3_stmt *row)
{
    struct capture_reading *reading = context;
    struct gv_lines *lines = reading->lines;
    uint64_t process = (uint64_t)sqlite3_column_int64(row, CAPTURE_PROCESS);
    int64_t graph = sqlite3_column_int64(row, CAPTURE_OBJECT);
    const struct gv_key stream = {
        {process, (uint64_t)sqlite3_column_int64(row, CAPTURE_STREAM), 1}};
    const struct gv_key of = {{process, (uint64_t)sqlite3_column_int64(row, CAPTURE_OF), 2}};
    const struct gv_key made = {{process, (uint64_t)graph, 2}};
    bool ends = sqlite3_column_int(row, CAPTURE_ENDS) != 0;
    int64_t stack;
    int error;

    if (reading->stacks.used >= GV_LINES_CAPTURES)
        return 0;
    if (sqlite3_column_int(row, CAPTURE_BEGINS))
        return set_stack(reading, &stream, sqlite3_column_int64(row, CAPTURE_STACK));
    stack = get_stack(reading, ends ? &stream : &of);
    error = set_stack(reading, &made, stack);
    if (error || ends || lines->capture_count >= GV_LINES_CAPTURES)
        return error;
    error = gv_array_room(&lines->captures, lines->capture_count, &lines->capture_room,
                          sizeof(*lines->captures));
    if (!error)
        lines->captures[lines->capture_count++] = (struct gv_lines_capture){
            (int64_t)process, graph, gv_time_column(row, CAPTURE_START), stack};
    return error;
}

static int compare_graphs(const struct gv_lines_capture *one, const struct gv_lines_capture *other)
{
    if (one->process != other->process)
        return one->process < other->process ? -1 : 1;
    return one->graph < other->graph ? -1 : one->graph > other->graph;
}

static int compare(const void *left, const void *right)
{
    const struct gv_lines_capture *one = left, *other = right;
    int order = compare_graphs(one, other);

    return order ? order : one->from_ns < other->from_ns ? -1 : one->from_ns > other->from_ns;
}

int gv_lines_captures_read(struct gv_lines *lines)
{
    struct capture_reading reading = {.lines = lines};
    int error = gv_database_each(lines->trace, sql_captures, NULL, 0, take_capture, &reading);

    if (lines->capture_count > 0)
        qsort(lines->captures, lines->capture_count, sizeof(*lines->captures), compare);
    gv_key_map_free(&reading.stacks);
    return error;
}

int64_t gv_lines_capture_of(const struct gv_lines *lines, int64_t process, int64_t graph,
                            int64_t at_ns)
{
    const struct gv_lines_capture wanted = {process, graph, at_ns, 0};
    size_t low = 0, high = lines->capture_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&lines->captures[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && compare_graphs(&lines->captures[low - 1], &wanted) == 0
               ? lines->captures[low - 1].stack
               : 0;
}
