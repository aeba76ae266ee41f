#include "report/commands/explain/explain.h"

#include "report/analyse/time_union.h"
#include "report/commands_explain_gain.inc"
#include "report/show/format.h"
#include "report/store/database.h"

/* The thread's next requested wait. */
struct gv_gain_sync {
    int64_t place; /* of the operation that it waited for; 0: there is no such wait */
    int64_t start_ns, end_ns;
    char name[128];
};

static int gain_take_sync(void *context, sqlite3_stmt *row)
{
    struct gv_gain_sync *sync = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);

    snprintf(sync->name, sizeof(sync->name), "%s", name ? name : "a call");
    sync->start_ns = sqlite3_column_int64(row, 1);
    sync->end_ns = gv_time_sum(sync->start_ns, sqlite3_column_int64(row, 2));
    sync->place = sqlite3_column_int64(row, 3);
    return 0;
}

/* How long the stream had work from the stall's start to the wait's end. `same`: it is the one that
 * the stall waited for; else things could have run at the same time. */
struct gv_gain_busy {
    struct gv_time_union time;
    bool same;
};

static int gain_take_busy(void *context, sqlite3_stmt *row)
{
    struct gv_gain_busy *busy = context;

    gv_time_union_add(&busy->time, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
    busy->same |= sqlite3_column_int(row, 2) != 0;
    return 0;
}

/* The call may as well wait for what a synchronisation of its stream, made right after it, must
 * wait for. */
static int gain_take_next(void *context, sqlite3_stmt *row)
{
    struct gv_explain_out *to = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);

    if (!sqlite3_column_int(row, 1))
        return 0;
    fprintf(to->text, "Little: the thread's next call, %.100s, waits for the same stream anyway.",
            name ? name : "a synchronisation");
    gv_explain_end(to, "saves");
    return to->error ? to->error : 1;
}

void gv_explain_gain(const struct gv_stall_row *row, struct gv_explain_out *to)
{
    const int64_t call[] = {row->call, row->wait_ns / 10};
    const int64_t end[] = {row->thread, gv_time_sum(row->start_ns, row->duration_ns)};
    struct gv_gain_sync sync = {0};
    struct gv_gain_busy busy = {0};
    char idle[GV_FORMAT_BYTES];
    int ended;

    if (to->error || row->expected || row->waited_for == 0 || row->wait_ns <= 0)
        return;
    ended = gv_database_each(to->trace, sql_next_call, call, 2, gain_take_next, to);
    if (!ended)
        ended = gv_database_each(to->trace, sql_next_wait, end, 2, gain_take_sync, &sync);
    if (!ended && sync.place) {
        const int64_t until[] = {sync.place, row->start_ns, sync.end_ns, row->waited_for};
        ended = gv_database_each(to->trace, sql_operations, until, 4, gain_take_busy, &busy);
    }
    to->error = ended < 0 ? ended : 0;
    int64_t idle_ns =
        gv_time_difference(gv_time_difference(sync.end_ns, row->start_ns), busy.time.sum_ns);
    if (ended || !busy.same || idle_ns >= row->wait_ns / 2)
        return;
    fprintf(to->text,
            "Up to %s: the thread next waits for this stream in %s, %.3f s into the run, and the"
            " stream was idle for only that long until then.",
            gv_format_duration(idle, idle_ns > 0 ? idle_ns : 0), sync.name,
            (double)sync.start_ns / 1e9);
    gv_explain_end(to, "saves");
}
