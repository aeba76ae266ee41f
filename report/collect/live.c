#include "report/collect/live.h"

#include "report/analyse/stalls/analysis.h"
#include "report/collect_live.inc"
#include "report/store/database.h"
#include "trace/futex.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the page is written, its facts are read, and what the rates are counted from moves. */
#define LIVE_WRITE_NS INT64_C(100000000)
#define LIVE_FACTS_NS INT64_C(1000000000)
#define LIVE_MARK_NS  INT64_C(1000000000)

static void copy_page(struct gv_live_page *to, const struct gv_live_page *from)
{
    memcpy(to, from, offsetof(struct gv_live_page, rows) + from->count * sizeof(from->rows[0]));
}

void gv_live_committed(struct gv_live *live)
{
    copy_page(&live->saved, &live->page);
}

/* Continues with the page that a killed collector has left. */
static void take_page(struct gv_live *live)
{
    int fd = gv_live_page_open(live->directory, live->session, 0);

    if (fd < 0 || gv_live_page_read(fd, &live->page) != 0)
        memset(&live->page, 0, sizeof(live->page));
    if (fd >= 0)
        close(fd);
    /* A reader tells two writings apart by it. */
    live->page.sequence = gv_monotonic_ns() & ~UINT64_C(1);
    gv_live_rows_index(live);
    gv_live_committed(live);
}

int gv_live_open(struct gv_live **opened, const char *directory, const char *session)
{
    struct gv_live *live = *opened = calloc(1, sizeof(*live));

    if (!live)
        return -ENOMEM;
    strncpy(live->directory, directory, sizeof(live->directory) - 1);
    strncpy(live->session, session, sizeof(live->session) - 1);
    live->threshold_ns = gv_stalls_threshold_ns();
    take_page(live);
    return 0;
}

static void forget(struct gv_live *live)
{
    for (uint32_t i = 0; i < live->device_count; i++)
        free(live->devices[i].spans);
    live->device_count = live->unit_count = live->op_count = live->slow_count = 0;
    live->thread_count = live->gap_count = 0;
    live->looked = 0;
    memset(live->sampled, 0, sizeof(live->sampled));
    memset(live->calls, 0, sizeof(live->calls));
    memset(live->known, 0, sizeof(live->known));
    gv_key_map_free(&live->names);
    gv_idle_looks_close(live->reader);
    live->reader = NULL;
    sqlite3_finalize(live->line);
    live->line = NULL;
    live->trace = NULL;
}

void gv_live_again(struct gv_live *live)
{
    uint64_t sequence = live->page.sequence;

    forget(live);
    copy_page(&live->page, &live->saved);
    live->page.sequence = sequence;
    gv_live_rows_index(live);
}

void gv_live_close(struct gv_live *live)
{
    if (!live)
        return;
    forget(live);
    gv_key_map_free(&live->rows);
    free(live);
}

/* ---- facts ---- */

static const char *text_of(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

static int take_fact(void *context, sqlite3_stmt *row)
{
    struct gv_live *live = context;
    const char *kind = text_of(row, 0);

    for (int i = 0; i < GV_LIVE_KINDS; i++) {
        struct gv_live_row *fact =
            strcmp(kind, gv_live_names[i]) == 0
                ? gv_live_find(live, (enum gv_live_kind)i, text_of(row, 1), text_of(row, 2))
                : NULL;
        if (!fact)
            continue;
        fact->count = sqlite3_column_type(row, 3) == SQLITE_NULL ? 0 : sqlite3_column_int64(row, 3);
        /* A time that goes on may be corrected: a sum never goes down. */
        if (i == GV_LIVE_nvml || i == GV_LIVE_use || sqlite3_column_int64(row, 4) > fact->ns)
            fact->ns = sqlite3_column_int64(row, 4);
    }
    return 0;
}

int gv_live_facts(sqlite3 *trace, int64_t until_ns, gv_database_take *take, void *context)
{
    return gv_database_each(trace, sql_facts, &until_ns, 1, take, context);
}

/* What was not told again is over: its row has no kind, until it is. */
static void forget_use(struct gv_live *live)
{
    for (uint32_t i = 0; i < live->page.count; i++) {
        struct gv_live_row *row = &live->page.rows[i];
        if (strcmp(row->kind, gv_live_names[GV_LIVE_use]) == 0 && row->at_ns != live->page.now_ns)
            memset(row->kind, 0, sizeof(row->kind));
    }
}

static void read_facts(struct gv_live *live)
{
    int64_t until_ns = live->page.now_ns - (live->page.ended ? 0 : GV_LIVE_SETTLE_NS);

    gv_live_find(live, GV_LIVE_skipped, "", NULL);
    if (gv_live_facts(live->trace, until_ns > 0 ? until_ns : 0, take_fact, live) == 0 &&
        gv_database_each(live->trace, sql_facts_of_now, NULL, 0, take_fact, live) == 0)
        forget_use(live);
}

/* ---- the page ---- */

/* The oldest of three marks, of which the newest is at most a second old, is what rates are counted
 * from. */
static void mark(struct gv_live *live)
{
    const int last = (int)(sizeof(live->mark_ns) / sizeof(live->mark_ns[0])) - 1;
    bool moves = live->page.now_ns - live->mark_ns[0] >= LIVE_MARK_NS;

    for (int i = last; moves && i > 0; i--)
        live->mark_ns[i] = live->mark_ns[i - 1];
    if (moves)
        live->mark_ns[0] = live->page.now_ns;
    live->page.before_ns = live->mark_ns[last];
    for (uint32_t i = 0; i < live->page.count; i++) {
        struct gv_live_row *row = &live->page.rows[i];
        int64_t(*marks)[2] = live->marks[i];
        if (moves) {
            memmove(marks[1], marks[0], sizeof(marks[0]) * (size_t)last);
            marks[0][0] = row->count;
            marks[0][1] = row->ns;
        }
        row->before_count = marks[last][0];
        row->before_ns = marks[last][1];
    }
}

static void settle(struct gv_live *live, int64_t settled_ns, bool facts)
{
    gv_live_ops_settle(live);
    gv_live_idle_settle(live);
    gv_live_calls_settle(live, settled_ns, 0);
    if (facts)
        read_facts(live);
}

bool gv_live_is_due(struct gv_live *live, int64_t now_ns)
{
    if (!live->trace || (int64_t)gv_monotonic_ns() - live->page.clock_ns < LIVE_WRITE_NS)
        return false;
    live->page.now_ns = now_ns;
    live->page.clock_ns = (int64_t)gv_monotonic_ns();
    live->page.ended = 0;
    return true;
}

void gv_live_settle(struct gv_live *live)
{
    bool facts = live->page.clock_ns - live->facts_ns >= LIVE_FACTS_NS;

    settle(live, live->page.now_ns - GV_LIVE_SETTLE_NS, facts);
    if (facts)
        live->facts_ns = live->page.clock_ns;
}

void gv_live_write(struct gv_live *live)
{
    int fd;

    mark(live);
    /* Not kept open: a program may leave its collector ten descriptors. */
    fd = gv_live_page_open(live->directory, live->session, 1);
    if (fd >= 0) {
        (void)gv_live_page_write(fd, &live->page);
        close(fd);
    }
    gv_live_committed(live);
}

void gv_live_end(struct gv_live *live)
{
    int64_t now_ns = live->page.now_ns;

    if (!live->trace)
        return;
    now_ns = live->page.call_ns > now_ns ? live->page.call_ns : now_ns;
    now_ns = live->page.gpu_ns > now_ns ? live->page.gpu_ns : now_ns;
    live->page.ended = 1;
    live->page.now_ns = now_ns;
    settle(live, INT64_MAX, true);
    gv_live_write(live);
}

void gv_live_process_end(struct gv_live_process *process, int64_t end_ns)
{
    struct gv_live *live = process->live;

    if (!live)
        return;
    gv_live_ops_settle(live);
    gv_live_devices_end(process, end_ns);
    if (!process->gpu_seen && process->worked && process->waited)
        gv_live_idle(live, &(struct gv_live_gap){process->thread, process->waited_ns, end_ns, 0});
    gv_live_idle_settle(live);
    gv_live_calls_settle(live, INT64_MIN, process->id);
    process->resumed = true; /* what still comes has been before */
}
