#include "report/commands/metrics/follow.h"

#include "report/collect/keep_fold.h"
#include "report/commands/metrics/openmetrics.h"
#include "report/commands_metrics_sums.inc"
#include "report/store/database.h"
#include "report/store/schema.h"
#include "report/store/trace_file.h"
#include "report/store/trusted_schema.h"
#include "trace/futex.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GV_FOLLOW_BUSY_MS 2000
/* Operations come that much later than their calls, or more. */
#define GV_FOLLOW_DELAY_NS (2 * GV_KEEP_MARGIN_NS)
/* Further behind, it leaves out what is in between, up to the newest. */
#define GV_FOLLOW_BEHIND_NS INT64_C(60000000000)
#define GV_FOLLOW_NEWEST_NS INT64_C(20000000000)
/* What is analysed together: a piece takes 40 bytes of a temporary file for each call. */
#define GV_FOLLOW_CALLS INT64_C(500000)

/* What a trace has, by sql_now. */
struct follow_now {
    bool exists; /* the row */
    int64_t complete_ns, start_unix_ns, next_call, next_op, next_load;
};

static int follow_read_now(void *context, sqlite3_stmt *row)
{
    struct follow_now *now = context;

    *now = (struct follow_now){true,
                               sqlite3_column_int64(row, 0),
                               sqlite3_column_int64(row, 1),
                               sqlite3_column_int64(row, 2),
                               sqlite3_column_int64(row, 3),
                               sqlite3_column_int64(row, 4)};
    return 0;
}

static int follow_read_facts(void *context, sqlite3_stmt *row)
{
    struct gv_keep_piece *piece = context;

    piece->from_ns = sqlite3_column_int64(row, 0);
    piece->from_call = sqlite3_column_int64(row, 1);
    piece->from_op = sqlite3_column_int64(row, 2);
    piece->from_load = sqlite3_column_int64(row, 3);
    return 0;
}

struct follow_row {
    bool exists;
    int64_t id, at_ns;
};

static int follow_read_row(void *context, sqlite3_stmt *row)
{
    *(struct follow_row *)context =
        (struct follow_row){true, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    return 0;
}

/* *first: of a table whose rows are nearly in the order of time, the first row of `at_ns` or later;
 * `next` if there is none. */
static int follow_search(sqlite3 *trace, const char *table, const char *column, int64_t next,
                         int64_t at_ns, int64_t *first)
{
    int64_t low = 1, high = next;
    char sql[160];
    int error = 0;

    sqlite3_snprintf(sizeof(sql), sql,
                     "SELECT id, %s FROM %s WHERE id >= ? AND %s IS NOT NULL ORDER BY id LIMIT 1",
                     column, table, column);
    while (low < high && !error) {
        const int64_t middle = low + (high - low) / 2;
        struct follow_row row = {0};
        error = gv_database_each(trace, sql, &middle, 1, follow_read_row, &row);
        if (!row.exists || row.at_ns >= at_ns)
            high = middle;
        else
            low = row.id + 1;
    }
    *first = low;
    return error;
}

/* Unix time as of the first call: a clock that is set meanwhile changes nothing. */
static int64_t follow_clock_ns(void)
{
    static int64_t offset_ns;
    int64_t now_ns = (int64_t)gv_monotonic_ns();
    struct timespec now;

    if (offset_ns == 0) {
        clock_gettime(CLOCK_REALTIME, &now);
        offset_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec - now_ns;
    }
    return offset_ns + now_ns;
}

/* Begins later than where the last piece ended. */
static int follow_skip(sqlite3 *trace, sqlite3 *state, const struct follow_now *now,
                       struct gv_keep_piece *piece)
{
    const int64_t skipped_ns = piece->until_ns - GV_FOLLOW_NEWEST_NS - piece->from_ns;
    int error;

    piece->from_ns += skipped_ns;
    error =
        follow_search(trace, "call", "start_ns", now->next_call, piece->from_ns, &piece->from_call);
    if (!error)
        error = follow_search(trace, "gpu_op", "start_ns", now->next_op, piece->from_ns,
                              &piece->from_op);
    if (!error)
        error = follow_search(trace, "load", "start_ns", now->next_load, piece->from_ns,
                              &piece->from_load);
    return error ? error : gv_database_script(state, sql_skip, &skipped_ns, 1);
}

static int follow_limit(sqlite3 *trace, struct gv_keep_piece *piece)
{
    const int64_t last = piece->from_call + GV_FOLLOW_CALLS;
    struct follow_row row = {0};
    int error =
        gv_database_each(trace, "SELECT id, start_ns FROM call WHERE id >= ? ORDER BY id LIMIT 1",
                         &last, 1, follow_read_row, &row);

    if (row.exists && row.at_ns > piece->from_ns && row.at_ns < piece->until_ns)
        piece->until_ns = row.at_ns;
    return error;
}

static int64_t least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* Which rows are to be read: those of the piece, those that came late, and a margin before. */
static int follow_find_rows(sqlite3 *trace, const struct follow_now *now,
                            struct gv_keep_piece *piece)
{
    const int64_t from_ns = piece->from_ns - GV_FOLLOW_DELAY_NS;
    int error =
        follow_search(trace, "call", "start_ns", now->next_call, from_ns, &piece->copy_call);

    if (!error)
        error = follow_search(trace, "gpu_op", "start_ns", now->next_op, from_ns, &piece->copy_op);
    piece->copy_call = least(piece->copy_call, piece->from_call);
    piece->copy_op = least(piece->copy_op, piece->from_op);
    return error;
}

/* ---- what the fold asks for ---- */

static int follow_copy_stacks(sqlite3 *piece)
{
    int64_t last = 0, before = -1;
    int error = 0;

    while (!error && last != before) {
        before = last;
        error = gv_database_number(piece, sql_stacks_next, NULL, 0, &last);
        if (!error)
            error = gv_database_script(piece, sql_copy_stacks, &last, 1);
        if (!error)
            error = gv_database_number(piece, sql_stacks_next, NULL, 0, &last);
    }
    return error;
}

/* A table of which only the newest rows matter. */
static int follow_copy_newest(sqlite3 *piece, const char *table, const char *column,
                              const struct gv_keep_piece *what, int64_t end_ns)
{
    int64_t next = 0, values[2] = {0, end_ns};
    char sql[160];
    int error;

    sqlite3_snprintf(sizeof(sql), sql, "SELECT 1 + coalesce(max(id), 0) FROM trace.%s", table);
    error = gv_database_number(piece, sql, NULL, 0, &next);
    sqlite3_snprintf(sizeof(sql), sql, "trace.%s", table);
    if (!error)
        error = follow_search(piece, sql, column, next, what->from_ns - GV_FOLLOW_DELAY_NS, values);
    sqlite3_snprintf(
        sizeof(sql), sql,
        "INSERT INTO main.%s SELECT * FROM trace.%s WHERE id >= ?1 AND coalesce(%s, 0) < ?2", table,
        table, column);
    return error ? error : gv_database_script(piece, sql, values, 2);
}

static int follow_copy(sqlite3 *piece, const struct gv_keep_piece *what, int64_t end_ns)
{
    static const struct {
        const char *table, *column;
    } newest[] = {
        {"load", "start_ns"},    {"jit", "start_ns"},           {"overhead", "start_ns"},
        {"gpu_module", "at_ns"}, {"host_function", "start_ns"}, {"idle_sample", "at_ns"},
    };
    const int64_t first[] = {what->copy_call, what->copy_op};
    int error = gv_openmetrics_register(piece);

    if (!error)
        error = gv_database_script(piece, sql_copy_stay, first, 2);
    for (size_t i = 0; i < sizeof(newest) / sizeof(newest[0]) && !error; i++)
        error = follow_copy_newest(piece, newest[i].table, newest[i].column, what, end_ns);
    if (!error)
        error = follow_copy_stacks(piece);
    return error ? error : gv_database_script(piece, sql_use_stacks, NULL, 0);
}

static const struct gv_keep_sums follow_sums = {
    .open_result = sql_open_state,
    .copy = follow_copy,
    .leave_trace = sql_leave_trace,
    .sum = sql_add,
};

/* ---- a step ---- */

/* -EALREADY: there is nothing new. */
static int follow_choose(sqlite3 *trace, sqlite3 *state, const struct follow_now *now,
                         struct gv_keep_piece *piece)
{
    const int64_t run_ns = follow_clock_ns() - now->start_unix_ns;
    int error;

    *piece = (struct gv_keep_piece){.sums = &follow_sums,
                                    .from_call = 1,
                                    .from_op = 1,
                                    .from_load = 1,
                                    .next_call = now->next_call,
                                    .next_op = now->next_op,
                                    .next_load = now->next_load};
    error = gv_database_each(state, sql_facts, NULL, 0, follow_read_facts, piece);
    piece->until_ns = now->complete_ns ? now->complete_ns : run_ns - GV_FOLLOW_DELAY_NS;
    if (!error && piece->until_ns <= piece->from_ns)
        return -EALREADY;
    if (!error && piece->until_ns - piece->from_ns > GV_FOLLOW_BEHIND_NS)
        error = follow_skip(trace, state, now, piece);
    if (!error)
        error = follow_limit(trace, piece);
    return error ? error : follow_find_rows(trace, now, piece);
}

static int follow_open(const char *path, int flags, sqlite3 **database)
{
    int error =
        gv_database_error(NULL, sqlite3_open_v2(path, database, flags | SQLITE_OPEN_NOMUTEX, NULL));

    if (!error) {
        sqlite3_busy_timeout(*database, GV_FOLLOW_BUSY_MS);
        error = gv_database_distrust(*database);
    }
    return error;
}

static int follow_look(const char *path, const char *state_path, struct follow_now *now,
                       struct gv_keep_piece *piece)
{
    sqlite3 *trace = NULL, *state = NULL;
    int64_t version = 0;
    int error = follow_open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, &trace);

    if (!error)
        error = gv_trace_file_roll_back(trace);
    if (!error)
        error = gv_trusted_schema_ensure(trace, &version);
    if (error == -ENOTSUP && version == 0)
        error = -EALREADY; /* its collector is about to make the tables */
    if (!error && version != GV_SCHEMA_VERSION)
        error = -ENOTSUP;
    if (!error)
        error = gv_database_each(trace, sql_now, NULL, 0, follow_read_now, now);
    if (!error)
        error = follow_open(state_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &state);
    if (!error)
        error = gv_database_script(state, sql_make_state, NULL, 0);
    if (!error)
        error = follow_choose(trace, state, now, piece);
    sqlite3_close(state);
    sqlite3_close(trace);
    return error;
}

int gv_follow_step(const char *trace, const char *state)
{
    struct follow_now now = {0};
    struct gv_keep_piece piece;
    int error = follow_look(trace, state, &now, &piece);

    if (!error)
        error = gv_keep_fold(trace, state, &piece);
    if (error && error != -EALREADY)
        return error;
    return now.complete_ns && (error || piece.until_ns >= now.complete_ns) ? 1 : 0;
}
