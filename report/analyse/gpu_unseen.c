#include "report/analyse/gpu_unseen.h"

#include "report/analyse_gpu_unseen.inc"
#include "report/store/database.h"

/* Makes temp.capture and temp.captured of a process, until close_captured(). */
static int open_captured(sqlite3 *trace, int64_t process)
{
    return gv_database_script(trace, sql_open_captured, &process, 1);
}

static int close_captured(sqlite3 *trace)
{
    return gv_database_script(trace, sql_close_captured, NULL, 0);
}

static int gpu_unseen_take(void *context, sqlite3_stmt *row)
{
    struct gv_gpu_unseen *unseen = context;

    unseen->launched_ns = sqlite3_column_int64(row, 0);
    unseen->known_ns = sqlite3_column_int64(row, 1);
    return sqlite3_column_type(row, 0) != SQLITE_NULL;
}

/* 1: it has missing operations; 0; or -errno. */
static int gpu_unseen_find(sqlite3 *trace, struct gv_gpu_unseen *unseen)
{
    int any = 0, error = open_captured(trace, unseen->process);

    if (!error)
        any = gv_database_each(trace, sql_unseen, &unseen->process, 1, gpu_unseen_take, unseen);
    if (!error)
        error = close_captured(trace);
    return error ? error : any;
}

int gv_gpu_unseen_each(sqlite3 *trace, gv_gpu_unseen_take *take, void *context)
{
    struct gv_gpu_unseen unseen = {.process = INT64_MIN};
    int any = 0;

    /* A query of all processes at once would keep the temporary tables locked. */
    while (any >= 0) {
        int64_t before = unseen.process;
        int error = gv_database_number(trace, sql_next, &before, 1, &unseen.process);

        if (error || unseen.process == before)
            return error;
        any = gpu_unseen_find(trace, &unseen);
        if (any > 0)
            take(context, &unseen);
    }
    return any;
}

int gv_gpu_unseen_count(sqlite3 *trace, const struct gv_gpu_seen *seen)
{
    const int64_t values[] = {seen->process, seen->started_ns, seen->flushed_ns, seen->finished,
                              seen->whole_graphs};
    int error = open_captured(trace, seen->process);

    if (!error)
        error = gv_database_script(trace, sql_count, values, 5);
    return error ? error : close_captured(trace);
}
