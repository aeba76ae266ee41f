#include "report/analyse/ranges/membership.h"

#include "report/analyse_ranges_membership.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "trace/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum range_column { RANGE_THREAD, RANGE_KIND, RANGE_START, RANGE_END, RANGE_PARENT };

/* Rows of call_range that are read at once. */
#define CHANGES 32

struct change {
    int64_t call, range;
};

struct member_thread {
    int64_t process;
    int64_t pusher; /* the thread whose pushes count for this one */
    int64_t innermost;
    /* Its own pushes, by call. */
    struct change *changes;
    size_t change, changes_count;
    bool changes_end; /* there are no more than these */
    /* Another thread's, by time: the next row to look at. */
    int64_t next_push;
    size_t next_start;
    int64_t starts[GV_MEMBERSHIP_STARTS]; /* it is in, the earliest first */
    size_t starts_count;
    int64_t *ids;
    size_t count, room;
    /* It is in these until such a time or call. */
    int64_t until_ns, until_call;
};

struct start {
    int64_t process, range;
};

struct gv_membership {
    sqlite3 *trace;
    struct gv_id_table processes; /* of the threads */
    struct gv_id_table ranges;    /* enum range_column */
    struct member_thread **threads;
    struct gv_id_table pushers; /* of a process: how many threads push, and one of them */
    struct start *starts;       /* by process, then by time */
    size_t starts_count, starts_room;
    sqlite3_stmt *changes;
};

static int64_t range_get(const struct gv_membership *membership, int64_t range,
                         enum range_column column)
{
    return gv_id_table_get(&membership->ranges, range, column);
}

/* ---- a thread ---- */

/* Where the starts of a process begin. */
static size_t starts_of(const struct gv_membership *membership, int64_t process)
{
    size_t low = 0, high = membership->starts_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (membership->starts[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int thread_of(struct gv_membership *membership, int64_t id, struct member_thread **found)
{
    size_t slot = id > 0 && (uint64_t)id < membership->processes.rows ? (size_t)id : 0;
    struct member_thread *thread = *found = membership->threads[slot];

    if (thread)
        return 0;
    thread = *found = membership->threads[slot] = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    thread->process = gv_id_table_get(&membership->processes, id, 0);
    thread->next_push = 1;
    thread->next_start = starts_of(membership, thread->process);
    thread->until_ns = INT64_MIN;
    /* Where several push, each thread is in its own ranges only. */
    thread->pusher = gv_id_table_get(&membership->pushers, thread->process, 0) == 1
                         ? gv_id_table_get(&membership->pushers, thread->process, 1)
                         : id;
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

/* The innermost push of the thread itself. */
static int find_own(struct gv_membership *membership, int64_t id, struct member_thread *thread,
                    int64_t call)
{
    int error = 0;

    while (!error) {
        if (thread->change == thread->changes_count) {
            if (thread->changes_end)
                return 0;
            error = read_changes(membership, id, thread);
        } else if (thread->changes[thread->change].call <= call) {
            thread->innermost = thread->changes[thread->change++].range;
        } else {
            thread->until_call = thread->changes[thread->change].call;
            return 0;
        }
    }
    return error;
}

/* The last push of another thread. It may have ended: then what it is in counts. */
static void find_other(const struct gv_membership *membership, struct member_thread *thread,
                       int64_t at_ns)
{
    for (; (uint64_t)thread->next_push < membership->ranges.rows; thread->next_push++) {
        int64_t start_ns = range_get(membership, thread->next_push, RANGE_START);
        if (range_get(membership, thread->next_push, RANGE_THREAD) != thread->pusher ||
            range_get(membership, thread->next_push, RANGE_KIND) != GV_RANGE_PUSH)
            continue;
        if (start_ns > at_ns) {
            thread->until_ns = start_ns;
            return;
        }
        thread->innermost = thread->next_push;
    }
}

/* Adds a range that has not ended. */
static int add_range(const struct gv_membership *membership, struct member_thread *thread,
                     int64_t range, int64_t at_ns)
{
    int64_t end_ns = range_get(membership, range, RANGE_END);
    int error = end_ns > at_ns ? gv_array_room(&thread->ids, thread->count, &thread->room,
                                               sizeof(*thread->ids))
                               : 0;

    if (error || end_ns <= at_ns)
        return error;
    thread->ids[thread->count++] = range;
    if (end_ns < thread->until_ns)
        thread->until_ns = end_ns;
    return 0;
}

/* Pops of several domains need not nest, so a push can outlive what it is in. */
static int add_pushes(const struct gv_membership *membership, struct member_thread *thread,
                      int64_t at_ns)
{
    int64_t range = thread->innermost, parent;
    int error = 0;

    for (size_t i = 0; range && i < GV_MEMBERSHIP_PUSHES && !error; i++, range = parent) {
        error = add_range(membership, thread, range, at_ns);
        parent = range_get(membership, range, RANGE_PARENT);
        if (parent >= range) /* in a trace of anybody's */
            parent = 0;
    }
    return error;
}

static int add_starts(const struct gv_membership *membership, struct member_thread *thread,
                      int64_t at_ns)
{
    size_t kept = 0;
    int error = 0;

    for (; thread->next_start < membership->starts_count; thread->next_start++) {
        const struct start *start = &membership->starts[thread->next_start];
        int64_t start_ns = range_get(membership, start->range, RANGE_START);
        if (start->process != thread->process)
            break;
        if (start_ns > at_ns) {
            thread->until_ns = start_ns < thread->until_ns ? start_ns : thread->until_ns;
            break;
        }
        if (thread->starts_count == GV_MEMBERSHIP_STARTS)
            memmove(thread->starts, thread->starts + 1,
                    --thread->starts_count * sizeof(*thread->starts));
        if (range_get(membership, start->range, RANGE_END) > at_ns)
            thread->starts[thread->starts_count++] = start->range;
    }
    for (size_t i = 0; i < thread->starts_count && !error; i++)
        if (range_get(membership, thread->starts[i], RANGE_END) > at_ns) {
            thread->starts[kept++] = thread->starts[i];
            error = add_range(membership, thread, thread->starts[i], at_ns);
        }
    thread->starts_count = kept;
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
        thread->count = 0;
        thread->until_ns = thread->until_call = INT64_MAX;
        if (thread->pusher == id)
            error = find_own(membership, id, thread, call);
        else
            find_other(membership, thread, start_ns);
        if (!error)
            error = add_pushes(membership, thread, start_ns);
        if (!error)
            error = add_starts(membership, thread, start_ns);
    }
    of->ids = thread->ids;
    of->count = thread->count;
    return error;
}

/* ---- from the start to the end ---- */

static int take_start(void *context, sqlite3_stmt *row)
{
    struct gv_membership *membership = context;
    int error = gv_array_room(&membership->starts, membership->starts_count,
                              &membership->starts_room, sizeof(*membership->starts));

    if (!error)
        membership->starts[membership->starts_count++] =
            (struct start){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    return error;
}

int gv_membership_open(struct gv_membership **made, sqlite3 *trace)
{
    struct gv_membership *membership = *made = calloc(1, sizeof(*membership));
    int error;

    if (!membership)
        return -ENOMEM;
    membership->trace = trace;
    error = gv_id_table_read(&membership->processes, trace, "SELECT id, process FROM thread");
    if (!error)
        error = gv_id_table_read(&membership->ranges, trace, sql_ranges);
    membership->threads = calloc(membership->processes.rows + 1, sizeof(*membership->threads));
    if (!error && !membership->threads)
        error = -ENOMEM;
    if (!error)
        error = gv_id_table_read(&membership->pushers, trace, sql_pushers);
    if (!error)
        error = gv_database_each(trace, sql_starts, NULL, 0, take_start, membership);
    if (!error)
        error = gv_database_error(
            trace, sqlite3_prepare_v2(trace, sql_changes, -1, &membership->changes, NULL));
    return error;
}

void gv_membership_close(struct gv_membership *membership)
{
    if (!membership)
        return;
    for (size_t i = 0; membership->threads && i < membership->processes.rows + 1; i++)
        if (membership->threads[i]) {
            free(membership->threads[i]->changes);
            free(membership->threads[i]->ids);
            free(membership->threads[i]);
        }
    sqlite3_finalize(membership->changes);
    gv_id_table_free(&membership->processes);
    gv_id_table_free(&membership->ranges);
    gv_id_table_free(&membership->pushers);
    free(membership->threads);
    free(membership->starts);
    free(membership);
}
