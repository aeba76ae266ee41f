#include "report/analyse/ranges/membership.h"

#include "report/analyse_ranges_membership.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "trace/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are read at once. */
#define CHANGES 32
#define AHEAD   16

struct change {
    int64_t call, range;
};

enum range_column { RANGE_ID, RANGE_START, RANGE_END, RANGE_PARENT };

struct range {
    int64_t id, start_ns, end_ns, parent;
};

/* Ranges that are open, the first one first. */
struct open_ranges {
    struct range *ranges;
    size_t count, room;
};

/* Ranges in the order of time, some of them read ahead. */
struct ahead {
    struct range ranges[AHEAD], last;
    size_t at, count;
    bool ended;
};

struct member_thread {
    int64_t process;
    int64_t pusher;         /* the thread whose pushes count for this one */
    struct change *changes; /* its own pushes, by call */
    size_t change, changes_count;
    bool changes_end;              /* there are no more than these */
    struct ahead *pushes, *starts; /* of another pusher; of the process */
    struct open_ranges pushed, started;
    int64_t *ids;
    size_t count, room;
    /* It is in these until such a time or call. */
    int64_t until_ns, until_call;
};

struct gv_membership {
    sqlite3 *trace;
    struct gv_id_table processes; /* of the threads */
    struct gv_id_table pushers;   /* of a process: how many threads push, and one of them */
    struct gv_id_table starters;  /* processes with ranges of kind start */
    struct member_thread **threads;
    sqlite3_stmt *changes, *range, *pushes, *starts;
};

/* ---- a thread ---- */

static int make_ahead(struct ahead **ahead)
{
    *ahead = calloc(1, sizeof(**ahead));
    if (!*ahead)
        return -ENOMEM;
    (*ahead)->last.start_ns = INT64_MIN;
    return 0;
}

static int thread_of(struct gv_membership *membership, int64_t id, struct member_thread **found)
{
    size_t slot = id > 0 && (uint64_t)id < membership->processes.rows ? (size_t)id : 0;
    struct member_thread *thread = *found = membership->threads[slot];
    int error = 0;

    if (thread)
        return 0;
    thread = *found = membership->threads[slot] = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    thread->process = gv_id_table_get(&membership->processes, id, 0);
    thread->until_ns = INT64_MIN;
    /* Where several push, each thread is in its own ranges only. */
    thread->pusher = gv_id_table_get(&membership->pushers, thread->process, 0) == 1
                         ? gv_id_table_get(&membership->pushers, thread->process, 1)
                         : id;
    if (thread->pusher != id)
        error = make_ahead(&thread->pushes);
    if (!error && gv_id_table_get(&membership->starters, thread->process, 0))
        error = make_ahead(&thread->starts);
    return error;
}

static void free_thread(struct member_thread *thread)
{
    if (!thread)
        return;
    free(thread->changes);
    free(thread->pushes);
    free(thread->starts);
    free(thread->pushed.ranges);
    free(thread->started.ranges);
    free(thread->ids);
    free(thread);
}

/* ---- ranges ---- */

static struct range range_of(sqlite3_stmt *row)
{
    return (struct range){
        sqlite3_column_int64(row, RANGE_ID), sqlite3_column_int64(row, RANGE_START),
        sqlite3_column_int64(row, RANGE_END), sqlite3_column_int64(row, RANGE_PARENT)};
}

/* For a row that the trace lacks, range->id is 0. */
static int read_range(struct gv_membership *membership, int64_t id, struct range *range)
{
    int result;

    sqlite3_bind_int64(membership->range, 1, id);
    result = sqlite3_step(membership->range);
    *range = result == SQLITE_ROW ? range_of(membership->range) : (struct range){0};
    sqlite3_reset(membership->range);
    return gv_database_error(membership->trace, result);
}

/* The next range of a thread or a process, if it started by at_ns. Otherwise *next is NULL, and
 * *until_ns is cut to the start of the one that comes. */
static int look_ahead(struct gv_membership *membership, sqlite3_stmt *rows, int64_t of,
                      struct ahead *ahead, int64_t at_ns, const struct range **next,
                      int64_t *until_ns)
{
    int result = SQLITE_OK;

    *next = NULL;
    if (ahead->at == ahead->count && !ahead->ended) {
        ahead->at = ahead->count = 0;
        sqlite3_bind_int64(rows, 1, of);
        sqlite3_bind_int64(rows, 2, ahead->last.id);
        sqlite3_bind_int64(rows, 3, ahead->last.start_ns);
        sqlite3_bind_int64(rows, 4, AHEAD);
        while (ahead->count < AHEAD && (result = sqlite3_step(rows)) == SQLITE_ROW)
            ahead->ranges[ahead->count++] = ahead->last = range_of(rows);
        sqlite3_reset(rows);
        ahead->ended = ahead->count < AHEAD;
    }
    if (ahead->at == ahead->count)
        return gv_database_error(membership->trace, result);
    const struct range *range = &ahead->ranges[ahead->at];
    if (range->start_ns <= at_ns) {
        ahead->at++;
        *next = range;
    } else if (range->start_ns < *until_ns) {
        *until_ns = range->start_ns;
    }
    return 0;
}

static int add_open(struct open_ranges *open, const struct range *range)
{
    int error = gv_array_room(&open->ranges, open->count, &open->room, sizeof(*open->ranges));

    if (!error)
        open->ranges[open->count++] = *range;
    return error;
}

static void drop_ended(struct open_ranges *open, int64_t at_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < open->count; i++)
        if (open->ranges[i].end_ns > at_ns)
            open->ranges[kept++] = open->ranges[i];
    open->count = kept;
}

/* ---- pushes ---- */

static void reverse(struct range *first, struct range *end)
{
    for (; first < end && first < --end; first++) {
        struct range kept = *first;
        *first = *end;
        *end = kept;
    }
}

/* The innermost push is `id`, with all those that it is in. Most of these are known from before.
 * `row`: its row, or NULL. */
static int set_innermost(struct gv_membership *membership, struct open_ranges *pushed, int64_t id,
                         const struct range *row)
{
    size_t known = pushed->count, kept = known;
    struct range range;
    int error = 0;

    while (!error && id > 0) {
        for (kept = known; kept > 0 && pushed->ranges[kept - 1].id != id; kept--)
            ;
        if (kept > 0 || pushed->count - known == GV_MEMBERSHIP_PUSHES)
            break;
        if (row)
            range = *row;
        else
            error = read_range(membership, id, &range);
        if (error || range.id != id)
            break;
        error = add_open(pushed, &range);
        id = range.parent < id ? range.parent : 0; /* in a trace of anybody's */
        row = NULL;
    }
    if (error)
        return error;
    if (id <= 0)
        kept = 0;
    if (pushed->count > known) {
        reverse(&pushed->ranges[known], &pushed->ranges[pushed->count]);
        memmove(&pushed->ranges[kept], &pushed->ranges[known],
                (pushed->count - known) * sizeof(*pushed->ranges));
    }
    pushed->count = kept + pushed->count - known;
    return 0;
}

/* The next rows of call_range. */
static int read_changes(struct gv_membership *membership, int64_t id, struct member_thread *thread)
{
    const int64_t last =
        thread->changes_count ? thread->changes[thread->changes_count - 1].call : INT64_MIN;
    int result = SQLITE_NOMEM;

    if (!thread->changes)
        thread->changes = calloc(CHANGES, sizeof(*thread->changes));
    if (!thread->changes)
        return -ENOMEM;
    thread->change = thread->changes_count = 0;
    sqlite3_bind_int64(membership->changes, 1, id);
    sqlite3_bind_int64(membership->changes, 2, last);
    sqlite3_bind_int64(membership->changes, 3, CHANGES);
    while ((result = sqlite3_step(membership->changes)) == SQLITE_ROW &&
           thread->changes_count < CHANGES)
        thread->changes[thread->changes_count++] =
            (struct change){sqlite3_column_int64(membership->changes, 0),
                            sqlite3_column_int64(membership->changes, 1)};
    sqlite3_reset(membership->changes);
    thread->changes_end = thread->changes_count < CHANGES;
    return gv_database_error(membership->trace, result);
}

/* The thread's own pushes. */
static int find_own(struct gv_membership *membership, int64_t id, struct member_thread *thread,
                    int64_t call)
{
    int64_t innermost = -1;
    int error = 0;

    while (!error && (thread->change < thread->changes_count || !thread->changes_end)) {
        if (thread->change == thread->changes_count) {
            error = read_changes(membership, id, thread);
            continue;
        }
        if (thread->changes[thread->change].call > call) {
            thread->until_call = thread->changes[thread->change].call;
            break;
        }
        innermost = thread->changes[thread->change++].range;
    }
    return error || innermost < 0 ? error
                                  : set_innermost(membership, &thread->pushed, innermost, NULL);
}

/* Another thread's. */
static int find_other(struct gv_membership *membership, struct member_thread *thread, int64_t at_ns)
{
    const struct range *next;
    int error;

    while (!(error = look_ahead(membership, membership->pushes, thread->pusher, thread->pushes,
                                at_ns, &next, &thread->until_ns)) &&
           next) {
        drop_ended(&thread->pushed, next->start_ns);
        error = set_innermost(membership, &thread->pushed, next->id, next);
        if (error)
            return error;
    }
    return error;
}

static int find_starts(struct gv_membership *membership, struct member_thread *thread,
                       int64_t at_ns)
{
    struct open_ranges *started = &thread->started;
    const struct range *next = NULL;
    int error = 0;

    while (thread->starts && !error &&
           !(error = look_ahead(membership, membership->starts, thread->process, thread->starts,
                                at_ns, &next, &thread->until_ns)) &&
           next) {
        if (next->end_ns <= at_ns)
            continue;
        if (started->count == GV_MEMBERSHIP_STARTS)
            memmove(started->ranges, started->ranges + 1,
                    --started->count * sizeof(*started->ranges));
        error = add_open(started, next);
    }
    return error;
}

static int add_id(struct member_thread *thread, const struct range *range)
{
    int error = gv_array_room(&thread->ids, thread->count, &thread->room, sizeof(*thread->ids));

    if (error)
        return error;
    thread->ids[thread->count++] = range->id;
    if (range->end_ns < thread->until_ns)
        thread->until_ns = range->end_ns;
    return 0;
}

/* Pops of several domains need not nest, so a push can outlive what it is in. */
static int add_ids(struct member_thread *thread, int64_t at_ns)
{
    struct open_ranges *pushed = &thread->pushed;
    int error = 0;

    thread->count = 0;
    drop_ended(pushed, at_ns);
    drop_ended(&thread->started, at_ns);
    for (size_t i = pushed->count; i > 0 && thread->count < GV_MEMBERSHIP_PUSHES && !error; i--)
        error = add_id(thread, &pushed->ranges[i - 1]);
    for (size_t i = 0; i < thread->started.count && !error; i++)
        error = add_id(thread, &thread->started.ranges[i]);
    return error;
}

int gv_membership_of(struct gv_membership *membership, int64_t id, int64_t call, int64_t start_ns,
                     struct gv_member_of *of)
{
    struct member_thread *thread;
    int error = thread_of(membership, id, &thread);

    *of = (struct gv_member_of){0};
    if (error)
        return error;
    of->same = start_ns < thread->until_ns && call < thread->until_call;
    if (!of->same) {
        thread->until_ns = thread->until_call = INT64_MAX;
        error = thread->pushes ? find_other(membership, thread, start_ns)
                               : find_own(membership, id, thread, call);
        if (!error)
            error = find_starts(membership, thread, start_ns);
        if (!error)
            error = add_ids(thread, start_ns);
    }
    of->ids = thread->ids;
    of->count = thread->count;
    return error;
}

/* ---- from the start to the end ---- */

int gv_membership_open(struct gv_membership **made, sqlite3 *trace)
{
    struct gv_membership *membership = *made = calloc(1, sizeof(*membership));
    int error = membership ? gv_database_script(trace, sql_starts_table, NULL, 0) : -ENOMEM;

    if (!membership)
        return error;
    membership->trace = trace;
    const struct {
        const char *sql;
        struct gv_id_table *table;
    } tables[] = {
        {"SELECT id, process FROM thread", &membership->processes},
        {sql_pushers, &membership->pushers},
        {"SELECT DISTINCT process, 1 FROM temp.membership_start", &membership->starters},
    };
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } statements[] = {
        {sql_changes, &membership->changes},
        {sql_range, &membership->range},
        {sql_pushes, &membership->pushes},
        {sql_starts, &membership->starts},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !error; i++)
        error = gv_id_table_read(tables[i].table, trace, tables[i].sql);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !error; i++)
        error = gv_database_compile(trace, statements[i].sql, statements[i].statement);
    membership->threads = calloc(membership->processes.rows + 1, sizeof(*membership->threads));
    return error || membership->threads ? error : -ENOMEM;
}

void gv_membership_close(struct gv_membership *membership)
{
    if (!membership)
        return;
    for (size_t i = 0; membership->threads && i < membership->processes.rows + 1; i++)
        free_thread(membership->threads[i]);
    sqlite3_finalize(membership->changes);
    sqlite3_finalize(membership->range);
    sqlite3_finalize(membership->pushes);
    sqlite3_finalize(membership->starts);
    gv_id_table_free(&membership->processes);
    gv_id_table_free(&membership->pushers);
    gv_id_table_free(&membership->starters);
    free(membership->threads);
    free(membership);
}
