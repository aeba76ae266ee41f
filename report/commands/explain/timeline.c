#include "report/commands/explain/explain.h"
#include "report/commands_explain_timeline.inc"

#include "report/analyse/names/kernel_name.h"
#include "report/store/time_sum.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GV_TIMELINE_TITLE_COLUMNS 12
#define GV_TIMELINE_LEAST_COLUMNS 20
#define GV_TIMELINE_MOST_COLUMNS  400
#define GV_TIMELINE_LANES         64 /* pieces to look at */
#define GV_TIMELINE_SHOWN         6  /* lines to print, of threads and of streams */
#define GV_TIMELINE_LABEL_BYTES   160
/* The time shown before and after the call, as parts of its duration. */
#define GV_TIMELINE_BEFORE 6
#define GV_TIMELINE_AFTER  10
/* A hundred years: anything longer is invalid. */
#define GV_TIMELINE_MOST_NS (INT64_C(3155760000) * 1000000000)

struct gv_timeline_lane {
    int64_t key[3];
    int64_t total_ns;
    int64_t longest_ns;
    int first; /* columns of the longest piece */
    int last;
    bool wanted; /* shown before the others */
    char title[GV_TIMELINE_TITLE_COLUMNS * 2];
    char label[GV_TIMELINE_LABEL_BYTES];
    int64_t busy_ns[GV_TIMELINE_MOST_COLUMNS];
};

struct gv_timeline {
    int64_t from_ns;
    int64_t to_ns;
    int columns;
    const struct gv_timeline_focus *focus;
    struct gv_timeline_lane *lanes;
    size_t count;
    size_t left_out;
};

static int timeline_column(const struct gv_timeline *timeline, int64_t at_ns)
{
    double part =
        (double)(at_ns - timeline->from_ns) / (double)(timeline->to_ns - timeline->from_ns);
    int column = (int)(part * timeline->columns);

    return column < 0 ? 0 : column >= timeline->columns ? timeline->columns - 1 : column;
}

static int64_t timeline_edge(const struct gv_timeline *timeline, int column)
{
    double span = (double)(timeline->to_ns - timeline->from_ns);

    return timeline->from_ns + (int64_t)(span * column / timeline->columns);
}

static struct gv_timeline_lane *timeline_lane(struct gv_timeline *timeline, const int64_t key[3])
{
    for (size_t i = 0; i < timeline->count; i++)
        if (memcmp(timeline->lanes[i].key, key, sizeof(timeline->lanes[i].key)) == 0)
            return &timeline->lanes[i];
    if (timeline->count == GV_TIMELINE_LANES) {
        timeline->left_out++;
        return NULL;
    }
    struct gv_timeline_lane *lane = &timeline->lanes[timeline->count++];
    memset(lane, 0, sizeof(*lane));
    memcpy(lane->key, key, sizeof(lane->key));
    return lane;
}

static void timeline_add(struct gv_timeline *timeline, struct gv_timeline_lane *lane,
                         int64_t start_ns, int64_t end_ns, const char *label)
{
    if (start_ns < timeline->from_ns)
        start_ns = timeline->from_ns;
    if (end_ns > timeline->to_ns)
        end_ns = timeline->to_ns;
    if (end_ns < start_ns)
        return;
    int first = timeline_column(timeline, start_ns), last = timeline_column(timeline, end_ns);

    for (int column = first; column <= last; column++) {
        int64_t left = timeline_edge(timeline, column);
        int64_t right = timeline_edge(timeline, column + 1);
        int64_t busy = (end_ns < right ? end_ns : right) - (start_ns > left ? start_ns : left);
        /* very short pieces are shown too */
        lane->busy_ns[column] = gv_time_sum(lane->busy_ns[column], busy > 0 ? busy : 1);
    }
    lane->total_ns = gv_time_sum(lane->total_ns, end_ns - start_ns);
    if (end_ns - start_ns >= lane->longest_ns) {
        lane->longest_ns = end_ns - start_ns;
        lane->first = first;
        lane->last = last;
        gv_kernel_name_short(label, lane->label, sizeof(lane->label));
    }
}

static int timeline_take_call(void *context, sqlite3_stmt *row)
{
    struct gv_timeline *timeline = context;
    int64_t key[3] = {sqlite3_column_int64(row, 0), 0, 0};
    struct gv_timeline_lane *lane = timeline_lane(timeline, key);

    if (!lane)
        return 0;
    int64_t start_ns = sqlite3_column_int64(row, 1);
    snprintf(lane->title, sizeof(lane->title), "thread %" PRId64, key[0]);
    lane->wanted = key[0] == timeline->focus->thread || key[0] == timeline->focus->other_thread;
    timeline_add(timeline, lane, start_ns, gv_time_sum(start_ns, sqlite3_column_int64(row, 2)),
                 (const char *)sqlite3_column_text(row, 3));
    return 0;
}

static int timeline_take_op(void *context, sqlite3_stmt *row)
{
    struct gv_timeline *timeline = context;
    int64_t key[3] = {sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                      sqlite3_column_int64(row, 2)};
    struct gv_timeline_lane *lane = timeline_lane(timeline, key);

    if (!lane)
        return 0;
    int64_t start_ns = sqlite3_column_int64(row, 3);
    if (key[0] == 0)
        snprintf(lane->title, sizeof(lane->title), "stream %" PRId64, key[2]);
    else
        snprintf(lane->title, sizeof(lane->title), "gpu%" PRId64 " str %" PRId64, key[0], key[2]);
    timeline_add(timeline, lane, start_ns, gv_time_sum(start_ns, sqlite3_column_int64(row, 4)),
                 (const char *)sqlite3_column_text(row, 5));
    return 0;
}

/* Wanted ones first, then the busiest. */
static int timeline_compare(const void *left, const void *right)
{
    const struct gv_timeline_lane *a = left, *b = right;

    if (a->wanted != b->wanted)
        return a->wanted ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return memcmp(a->key, b->key, sizeof(a->key));
}

/* Whole, or without template arguments, or not at all: a part of a word is useless. */
static void timeline_label(char *cells, const struct gv_timeline_lane *lane)
{
    char escaped[GV_TIMELINE_LABEL_BYTES * 6];
    int room = lane->last - lane->first - 3;

    gv_text_escape(escaped, sizeof(escaped), lane->label);
    if ((int)strlen(escaped) > room)
        escaped[strcspn(escaped, "<")] = '\0';
    int length = (int)strlen(escaped);
    for (int i = 0; i < length; i++)
        if ((unsigned char)escaped[i] >= 0x80)
            return; /* one cell per column */
    if (length == 0 || length > room)
        return;
    int at = lane->first + (lane->last - lane->first - length) / 2;
    cells[at - 1] = ' ';
    memcpy(cells + at, escaped, (size_t)length);
    cells[at + length] = ' ';
}

static void timeline_print_lane(const struct gv_timeline *timeline,
                                const struct gv_timeline_lane *lane, FILE *out, char busy)
{
    char cells[GV_TIMELINE_MOST_COLUMNS + 1];
    int64_t span = (timeline->to_ns - timeline->from_ns) / timeline->columns;

    for (int i = 0; i < timeline->columns; i++)
        cells[i] = lane->busy_ns[i] == 0 ? '.' : lane->busy_ns[i] >= span / 2 ? busy : '-';
    cells[timeline->columns] = '\0';
    timeline_label(cells, lane);
    if (busy == '=' && lane->key[0] == timeline->focus->thread) {
        cells[timeline_column(timeline, timeline->focus->start_ns)] = '|';
        if (timeline->focus->call || timeline->focus->idle)
            cells[timeline_column(timeline, timeline->focus->end_ns)] = '|';
    }
    fprintf(out, "  %-*s %s\n", GV_TIMELINE_TITLE_COLUMNS, lane->title, cells);
}

static void timeline_print_lanes(struct gv_timeline *timeline, FILE *out, char busy,
                                 const char *what)
{
    qsort(timeline->lanes, timeline->count, sizeof(*timeline->lanes), timeline_compare);
    for (size_t i = 0; i < timeline->count && i < GV_TIMELINE_SHOWN; i++)
        timeline_print_lane(timeline, &timeline->lanes[i], out, busy);
    if (timeline->count > GV_TIMELINE_SHOWN)
        fprintf(out, "  %-*s (and %zu more %s)\n", GV_TIMELINE_TITLE_COLUMNS, "",
                timeline->count - GV_TIMELINE_SHOWN + timeline->left_out, what);
    timeline->count = timeline->left_out = 0;
}

static void timeline_print_times(const struct gv_timeline *timeline, FILE *out)
{
    char start[32], end[32];
    int first = timeline_column(timeline, timeline->focus->start_ns);
    int last = timeline_column(timeline, timeline->focus->end_ns);
    int start_bytes =
        snprintf(start, sizeof(start), "%.3f s", (double)timeline->focus->start_ns / 1e9);
    int end_bytes = snprintf(end, sizeof(end), "%.3f s", (double)timeline->focus->end_ns / 1e9);
    int gap = last - end_bytes + 1 - first - start_bytes;

    fprintf(out, "  %-*s %*s%s%*s%s\n", GV_TIMELINE_TITLE_COLUMNS, "", first, "", start,
            gap > 1 ? gap : 1, "", end);
}

/* Explains the characters. */
static const char timeline_key[] =
    "= in a call, # GPU busy, - under half a column, . idle, | where this call starts and ends";
static const char timeline_key_of_idle[] = "= in a call, # GPU busy, - under half a column, . "
                                           "idle, | where this idle time starts and ends";
static const char timeline_key_of_calls[] =
    "= in a call, - under half a column, . not in a call, | where this call starts and ends";

void gv_timeline_print(const struct gv_timeline_focus *focus, struct gv_explain_out *to)
{
    struct gv_timeline timeline = {.focus = focus};
    int64_t duration_ns = gv_time_difference(focus->end_ns, focus->start_ns);
    int columns = to->columns - (GV_TIMELINE_TITLE_COLUMNS + 3);
    FILE *out = to->out;

    timeline.columns = columns > GV_TIMELINE_MOST_COLUMNS    ? GV_TIMELINE_MOST_COLUMNS
                       : columns < GV_TIMELINE_LEAST_COLUMNS ? GV_TIMELINE_LEAST_COLUMNS
                                                             : columns;
    if (to->error || to->json || duration_ns <= 0 || duration_ns > GV_TIMELINE_MOST_NS)
        return;
    timeline.from_ns = gv_time_difference(focus->start_ns, duration_ns / GV_TIMELINE_BEFORE);
    timeline.to_ns = gv_time_sum(focus->end_ns, duration_ns / GV_TIMELINE_AFTER + 1);
    timeline.lanes = calloc(GV_TIMELINE_LANES, sizeof(*timeline.lanes));
    const int64_t values[] = {focus->process, timeline.to_ns, timeline.from_ns,
                              focus->other_thread};
    if (!timeline.lanes) {
        to->error = -ENOMEM;
        return;
    }
    timeline_print_times(&timeline, out);
    to->error = gv_database_each(to->trace, sql_threads, values, 4, timeline_take_call, &timeline);
    if (!to->error) {
        timeline_print_lanes(&timeline, out, '=', "threads");
        to->error =
            gv_database_each(to->trace, sql_streams, values, 4, timeline_take_op, &timeline);
    }
    if (!to->error) {
        bool streams = timeline.count > 0;
        timeline_print_lanes(&timeline, out, '#', "streams");
        gv_explain_lines(to, "key",
                         focus->idle ? timeline_key_of_idle
                         : streams   ? timeline_key
                                     : timeline_key_of_calls);
    }
    free(timeline.lanes);
}
