#include "report/analyse/stopped.h"

#include "report/analyse_stopped.inc"
#include "report/store/array.h"
#include "report/store/database.h"

static int stopped_take(void *context, sqlite3_stmt *row)
{
    struct gv_stopped *list = context;
    int error = gv_array_room(&list->times, list->count, &list->room, sizeof(*list->times));

    if (!error)
        list->times[list->count++] = (struct gv_stopped_time){
            .process = sqlite3_column_int64(row, 0),
            .start_ns = sqlite3_column_int64(row, 1),
            .end_ns = sqlite3_column_int64(row, 2),
        };
    return error;
}

int gv_stopped_read(sqlite3 *trace, struct gv_stopped *list)
{
    *list = (struct gv_stopped){0};
    return gv_database_each(trace, sql_times, NULL, 0, stopped_take, list);
}

int64_t gv_stopped_ns(const struct gv_stopped *list, int64_t process, int64_t start_ns,
                      int64_t end_ns)
{
    size_t low = 0, high = list->count;
    int64_t ns = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gv_stopped_time *time = &list->times[middle];
        if (time->process < process || (time->process == process && time->end_ns <= start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < list->count && list->times[low].process == process &&
           list->times[low].start_ns < end_ns;
         low++) {
        const struct gv_stopped_time *time = &list->times[low];
        ns += (time->end_ns < end_ns ? time->end_ns : end_ns) -
              (time->start_ns > start_ns ? time->start_ns : start_ns);
    }
    return ns;
}

static int recorded_take(void *context, sqlite3_stmt *row)
{
    *(struct gv_recorded *)context = (struct gv_recorded){
        .all_ns = sqlite3_column_int64(row, 0),
        .recorded_ns = sqlite3_column_int64(row, 1),
        .periods = sqlite3_column_int64(row, 2),
    };
    return 0;
}

int gv_recorded_read(sqlite3 *trace, int64_t process, int64_t from_ns, int64_t to_ns,
                     int64_t last_ns, struct gv_recorded *recorded)
{
    const int64_t values[] = {process, from_ns, to_ns, last_ns};

    *recorded = (struct gv_recorded){0};
    return gv_database_each(trace, sql_recorded, values, 4, recorded_take, recorded);
}
