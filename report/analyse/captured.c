#include "report/analyse/captured.h"

#include "report/analyse_captured.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

int gv_captured_open(sqlite3 *trace, int64_t process)
{
    return gv_database_script(trace, sql_open, &process, 1);
}

int gv_captured_close(sqlite3 *trace)
{
    return gv_database_script(trace, "DROP TABLE IF EXISTS temp.capture", NULL, 0);
}

/* Sorted by start. */
static int captured_add(struct gv_captured_times *times, struct gv_captured_time time)
{
    struct gv_captured_time *last = times->count ? &times->list[times->count - 1] : NULL;

    if (last && time.start_ns <= last->end_ns) {
        if (time.end_ns > last->end_ns)
            last->end_ns = time.end_ns;
        return 0;
    }
    if ((times->count & (times->count - 1)) == 0) { /* doubles at each power of two */
        size_t room = times->count ? 2 * times->count : 1;
        void *larger = realloc(times->list, room * sizeof(*times->list));
        if (!larger)
            return -ENOMEM;
        times->list = larger;
    }
    times->list[times->count++] = time;
    return 0;
}

int gv_captured_times_read(struct gv_captured_times *times, sqlite3 *trace)
{
    sqlite3_stmt *rows = NULL;
    int error = 0;
    int result = sqlite3_prepare_v2(
        trace, "SELECT start_ns, end_ns FROM temp.capture ORDER BY start_ns", -1, &rows, NULL);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        if (step == SQLITE_ROW)
            error = captured_add(
                times, (struct gv_captured_time){.start_ns = sqlite3_column_int64(rows, 0),
                                                 .end_ns = sqlite3_column_int64(rows, 1)});
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

void gv_captured_times_free(struct gv_captured_times *times)
{
    free(times->list);
    *times = (struct gv_captured_times){0};
}

bool gv_captured_times_meet(const struct gv_captured_times *times, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = times->count; /* the first one that ends at start_ns or later */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (times->list[middle].end_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->count && times->list[low].start_ns <= end_ns;
}
