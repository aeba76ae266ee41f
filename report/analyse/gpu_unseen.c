#include "report/analyse/gpu_unseen.h"

#include "report/store/time_sum.h"
#include "report/analyse_gpu_unseen.inc"
#include "report/store/array.h"
#include "report/store/database.h"

int gv_gpu_captured_open(sqlite3 *trace, int64_t process)
{
    return gv_database_script(trace, sql_open_captured, &process, 1);
}

int gv_gpu_captured_close(sqlite3 *trace)
{
    return gv_database_script(trace, sql_close_captured, NULL, 0);
}

/* What a process lacks is appended. */
struct gpu_unseen_reading {
    struct gv_gpu_unseen_list *list;
    int64_t process;
};

static int gpu_unseen_take(void *context, sqlite3_stmt *row)
{
    const struct gpu_unseen_reading *reading = context;
    struct gv_gpu_unseen_list *list = reading->list;
    int error = gv_array_room(&list->times, list->count, &list->room, sizeof(*list->times));

    if (!error)
        list->times[list->count++] = (struct gv_gpu_unseen){
            .process = reading->process,
            .launched_ns = gv_time_column(row, 0),
            .known_ns = sqlite3_column_int64(row, 1),
            .until_ns = sqlite3_column_int64(row, 2),
            .seen_ns = sqlite3_column_type(row, 3) == SQLITE_NULL ? INT64_MAX
                                                                  : sqlite3_column_int64(row, 3),
            .stopped = sqlite3_column_int(row, 4) != 0,
        };
    return error;
}

static int gpu_unseen_find(sqlite3 *trace, struct gpu_unseen_reading *reading)
{
    int closed, error = gv_gpu_captured_open(trace, reading->process);

    if (!error)
        error = gv_database_each(trace, sql_unseen, &reading->process, 1, gpu_unseen_take, reading);
    closed = gv_gpu_captured_close(trace);
    return error ? error : closed;
}

int gv_gpu_unseen_read(sqlite3 *trace, struct gv_gpu_unseen_list *list)
{
    struct gpu_unseen_reading reading = {.list = list, .process = INT64_MIN};
    int error = 0;

    *list = (struct gv_gpu_unseen_list){0};
    /* A query of all processes at once would keep the temporary tables locked. */
    while (!error) {
        int64_t before = reading.process;

        error = gv_database_number(trace, sql_next, &before, 1, &reading.process);
        if (!error && reading.process == before)
            break;
        if (!error)
            error = gpu_unseen_find(trace, &reading);
    }
    return error;
}

bool gv_gpu_unseen_overlaps(const struct gv_gpu_unseen_list *list, int64_t process,
                            int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gv_gpu_unseen *time = &list->times[middle];
        if (time->process < process || (time->process == process && time->until_ns <= start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->times[low].process == process &&
           list->times[low].launched_ns <= end_ns;
}

int gv_gpu_unseen_count(sqlite3 *trace, const struct gv_gpu_seen *seen)
{
    const int64_t values[] = {seen->process, seen->started_ns, seen->flushed_ns, seen->finished,
                              seen->whole_graphs};
    int64_t changes = 0;
    int error = gv_gpu_captured_open(trace, seen->process);

    if (!error)
        error = gv_database_number(trace, sql_changes, values, 1, &changes);
    if (!error && changes > 0)
        error = gv_database_script(trace, sql_capture_changes, values, 1);
    if (!error)
        error = gv_database_script(trace, sql_count, values, 5);
    return error ? error : gv_gpu_captured_close(trace);
}
