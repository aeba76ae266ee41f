#include "report/collect/keep.h"

#include "report/collect_keep.inc"
#include "report/show/message.h"
#include "trace/futex.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_KEEP_MINUTE_NS INT64_C(60000000000)
#define GV_KEEP_CHECK_NS  INT64_C(200000000)
/* After a failure: a full disk stays full for a while, and a fold costs CPU time. */
#define GV_KEEP_PAUSE_NS GV_KEEP_MINUTE_NS
/* What is folded is this part of what is kept. */
#define GV_KEEP_PARTS 4
/* Rows that are deleted at a time: some 50 ms. */
#define GV_KEEP_WINDOW 32768
/* Of a sum, in the file. */
#define GV_KEEP_OLDER_BYTES 40

void gv_keep_open(struct gv_keep *keep, const char *directory, const char *session)
{
    struct gv_settings *settings = calloc(1, sizeof(*settings));

    memset(keep, 0, sizeof(*keep));
    if (settings) {
        gv_settings_read(settings, NULL, NULL);
        keep->extent = settings->keep;
    }
    free(settings);
    snprintf(keep->result, sizeof(keep->result), "%s/%s%s", directory, session, GV_KEEP_SUFFIX);
}

static int64_t floor_minute(int64_t ns)
{
    return ns > 0 ? ns / GV_KEEP_MINUTE_NS * GV_KEEP_MINUTE_NS : 0;
}

/* ---- deleting ---- */

/* In a transaction. -EBUSY: nothing was done, because somebody reads the trace: try it again later.
 */
static int run_scripts(struct gv_database *trace, const char *const *sql, size_t count,
                       const int64_t *values, int value_count)
{
    int error = gv_database_begin(trace);

    for (size_t i = 0; i < count && !error; i++)
        error = gv_database_script(trace->handle, sql[i], values, value_count);
    if (!error)
        error = gv_database_commit(trace);
    if (error)
        gv_database_rollback(trace);
    return error;
}

static const char sweep_with_calls_sql[] =
#define GV_SCHEMA_KEPT_WITH_CALL(table)                                                            \
    "DELETE FROM main." #table " WHERE call BETWEEN ?2 AND ?3"                                     \
    " AND NOT EXISTS (SELECT 1 FROM main.call WHERE id = " #table ".call);"
#include "report/store_schema_columns.inc"
    ;

/* *more: there are rows that were not looked at. */
static int sweep_step(struct gv_keep *keep, struct gv_database *trace, bool *more)
{
    static const struct {
        const char *next, *sweep[2];
    } tables[] = {{sql_calls_next, {sql_sweep_calls, sweep_with_calls_sql}},
                  {sql_ops_next, {sql_sweep_ops, ""}}};
    const int64_t before_ns = keep->full_from_ns - GV_KEEP_MARGIN_NS;

    *more = false;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !*more; i++) {
        int64_t first = 0;
        int error = gv_database_number(trace->handle, tables[i].next, &keep->swept[i], 1, &first);

        if (error)
            return error;
        *more = first > 0 && (i > 0 || keep->next_call == 0 || first < keep->next_call);
        if (!*more)
            continue;
        const int64_t values[] = {before_ns, first, first + GV_KEEP_WINDOW - 1};
        error = run_scripts(trace, tables[i].sweep, 2, values, 3);
        if (error)
            return error;
        keep->swept[i] = values[2];
    }
    return *more ? 0
                 : run_scripts(trace, (const char *const[]){sql_sweep_others}, 1, &before_ns, 1);
}

static int sweep(struct gv_keep *keep, struct gv_database *trace)
{
    bool more;
    int error = sweep_step(keep, trace, &more);

    if (!error && !more)
        keep->state = GV_KEEP_WAITS;
    return error;
}

/* ---- folding ---- */

static int number_of(struct gv_database *trace, const char *sql, const int64_t *value,
                     int64_t *number)
{
    *number = 0;
    return gv_database_number(trace->handle, sql, value, 1, number);
}

/* *bytes: of the file, without what is free in it. */
static int read_used(struct gv_database *trace, int64_t *bytes)
{
    int64_t pages = 0, free_pages = 0, page_bytes = 0;
    int error = number_of(trace, "PRAGMA main.page_count", NULL, &pages);

    if (!error)
        error = number_of(trace, "PRAGMA main.freelist_count", NULL, &free_pages);
    if (!error)
        error = number_of(trace, "PRAGMA main.page_size", NULL, &page_bytes);
    *bytes = (pages - free_pages) * page_bytes;
    return error;
}

/* Until when to fold, so that a part of the file becomes free: by rows, whose order is nearly that
 * of time. */
static int find_size_end(struct gv_keep *keep, struct gv_database *trace, int64_t next_call,
                         int64_t *until_ns)
{
    int64_t from_ns = keep->full_from_ns, first = 0, at_ns = 0;
    int error =
        number_of(trace, "SELECT min(id) FROM main.call WHERE start_ns >= ?", &from_ns, &first);
    int64_t call = first + (next_call - first) / GV_KEEP_PARTS;

    if (!error)
        error = number_of(trace, "SELECT start_ns FROM main.call WHERE id >= ? ORDER BY id LIMIT 1",
                          &call, &at_ns);
    *until_ns = floor_minute(at_ns);
    if (*until_ns <= from_ns)
        *until_ns = from_ns + GV_KEEP_MINUTE_NS;
    return error;
}

/* *until_ns: 0: not yet. */
static int find_end(struct gv_keep *keep, struct gv_database *trace, int64_t next_call,
                    int64_t now_ns, int64_t *until_ns)
{
    int64_t most_ns = keep->extent.ns, part_ns = most_ns / GV_KEEP_PARTS, used = 0;
    int error = read_used(trace, &used);

    *until_ns = 0;
    if (part_ns < GV_KEEP_MINUTE_NS)
        part_ns = GV_KEEP_MINUTE_NS;
    if (most_ns && now_ns - keep->full_from_ns - most_ns >= part_ns)
        *until_ns = floor_minute(now_ns - most_ns);
    else if (!error && keep->extent.bytes &&
             used > keep->extent.bytes / GV_KEEP_PARTS * (GV_KEEP_PARTS - 1))
        error = find_size_end(keep, trace, next_call, until_ns);
    /* The margin is to be there, with its operations. */
    if (*until_ns > floor_minute(now_ns - 2 * GV_KEEP_MARGIN_NS))
        *until_ns = 0;
    return error;
}

/* Locks of the trace's file do not pass to a child, and no transaction is open: so it can open the
 * trace itself. */
static void run_child(const char *trace, const char *result, const struct gv_keep_piece *piece,
                      pid_t collector)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != collector) /* it was killed before */
        _exit(0);
    int error = gv_keep_fold(trace, result, piece);
    _exit(error < 0 && error > -256 ? -error : 0);
}

static int begin_fold(struct gv_keep *keep, struct gv_database *trace, int64_t next_call)
{
    struct gv_keep_piece piece = {.from_ns = keep->full_from_ns,
                                  .until_ns = keep->until_ns,
                                  .next_call = next_call,
                                  .older_most = keep->extent.bytes / 4 * 3 / GV_KEEP_OLDER_BYTES};
    int error = number_of(trace, "SELECT value FROM main.meta WHERE key = 'full_from_call'", NULL,
                          &piece.from_call);

    if (error)
        return error;
    unlink(keep->result);
    keep->next_call = next_call;
    pid_t collector = getpid();
    keep->child = fork();
    if (keep->child == 0)
        run_child(sqlite3_db_filename(trace->handle, "main"), keep->result, &piece, collector);
    if (keep->child < 0)
        return -errno;
    keep->state = GV_KEEP_FOLDS;
    return 0;
}

static int store_result(struct gv_keep *keep, struct gv_database *trace)
{
    const int64_t values[] = {keep->until_ns, keep->next_call};
    char *attach = sqlite3_mprintf("ATTACH %Q AS result", keep->result);
    int error = attach ? gv_database_script(trace->handle, attach, NULL, 0) : -ENOMEM, ended;

    sqlite3_free(attach);
    if (error)
        return error;
    error = run_scripts(trace, (const char *const[]){sql_store, sql_stop}, 2, values, 2);
    ended = gv_database_script(trace->handle, "DETACH result", NULL, 0);
    return error ? error : ended;
}

static void note_failure(struct gv_keep *keep, const char *why)
{
    if (!keep->failed)
        gv_message(
            "cannot shorten the trace as GPUVERIFY_KEEP says: %s; it grows until that succeeds",
            why);
    keep->failed = true;
    keep->checked_ns = (int64_t)gv_monotonic_ns() + GV_KEEP_PAUSE_NS;
    unlink(keep->result);
}

static int end_fold(struct gv_keep *keep)
{
    int status = 0;
    pid_t ended = waitpid(keep->child, &status, WNOHANG);

    if (ended == 0)
        return 0;
    keep->child = 0;
    keep->state = GV_KEEP_WAITS;
    if (ended < 0 || !WIFEXITED(status))
        note_failure(keep, "the process that does it was killed");
    else if (WEXITSTATUS(status) != 0)
        note_failure(keep, strerror(WEXITSTATUS(status)));
    else
        keep->state = GV_KEEP_STORES;
    return 0;
}

static int store(struct gv_keep *keep, struct gv_database *trace)
{
    int error = store_result(keep, trace);

    if (error == -EBUSY)
        return error;
    if (error) {
        note_failure(keep, strerror(-error));
        return error;
    }
    unlink(keep->result);
    keep->failed = false;
    keep->full_from_ns = keep->until_ns;
    keep->swept[0] = keep->swept[1] = 0;
    keep->state = GV_KEEP_SWEEPS;
    return 0;
}

/* ---- what is due ---- */

static int learn(struct gv_keep *keep, struct gv_database *trace)
{
    int error = number_of(trace, "SELECT value FROM main.meta WHERE key = 'full_from_ns'", NULL,
                          &keep->full_from_ns);

    keep->next_call = keep->swept[0] = keep->swept[1] = 0;
    if (!error)
        keep->state = keep->full_from_ns ? GV_KEEP_SWEEPS : GV_KEEP_WAITS;
    return error;
}

static int fold_if_due(struct gv_keep *keep, struct gv_database *trace, int64_t next_call,
                       int64_t now_ns)
{
    int64_t clock_ns = (int64_t)gv_monotonic_ns(), last = next_call - 1, last_ns = 0;
    int error;

    if (clock_ns - keep->checked_ns < GV_KEEP_CHECK_NS)
        return 0;
    keep->checked_ns = clock_ns;
    error = number_of(trace, "SELECT start_ns FROM main.call WHERE id = ?", &last, &last_ns);
    if (!error)
        error =
            find_end(keep, trace, next_call, last_ns > now_ns ? last_ns : now_ns, &keep->until_ns);
    return error || !keep->until_ns ? error : begin_fold(keep, trace, next_call);
}

static int take_step(struct gv_keep *keep, struct gv_database *trace, int64_t next_call,
                     int64_t now_ns)
{
    switch (keep->state) {
    case GV_KEEP_UNKNOWN:
        return learn(keep, trace);
    case GV_KEEP_WAITS:
        return fold_if_due(keep, trace, next_call, now_ns);
    case GV_KEEP_FOLDS:
        return end_fold(keep);
    case GV_KEEP_STORES:
        return store(keep, trace);
    default:
        return sweep(keep, trace);
    }
}

int gv_keep_look(struct gv_keep *keep, struct gv_database *trace, int64_t next_call, int64_t now_ns)
{
    int error = 0;

    if (keep->extent.ns || keep->extent.bytes)
        error = take_step(keep, trace, next_call, now_ns);
    return error == -EBUSY ? 0 : error;
}

int gv_keep_finish(struct gv_keep *keep, struct gv_database *trace)
{
    int error = 0;

    if (keep->state != GV_KEEP_SWEEPS)
        gv_keep_stop(keep);
    if (keep->state == GV_KEEP_UNKNOWN)
        error = learn(keep, trace);
    while (!error && keep->state == GV_KEEP_SWEEPS)
        error = sweep(keep, trace);
    return error;
}

void gv_keep_stop(struct gv_keep *keep)
{
    if (keep->child > 0) {
        kill(keep->child, SIGKILL);
        while (waitpid(keep->child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (keep->result[0])
        unlink(keep->result);
    keep->child = 0;
    keep->state = GV_KEEP_UNKNOWN;
}
