/* The picture, and the line. Texts of the trace are escaped. */
#include "report/commands/top/top.h"

#include "report/store/time_sum.h"
#include "report/show/format.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of each part without a limit; and the least, of those that have any. */
#define DRAW_MOST  20
#define DRAW_NOW   8
#define DRAW_LEAST 2
/* A look says what a thread does now, for so long. */
#define DRAW_FRESH_NS (GV_TOP_SECOND_NS / 2)
/* The levels of a GPU that are shown; the newest are its use now. */
#define DRAW_LEVELS     32
#define DRAW_LEVELS_NOW 10

struct draw {
    const struct gv_top *top;
    FILE *out;
    int columns;
    double seconds; /* for which what has happened is counted */
};

/* Rows of the page of one kind, as they are shown. */
struct draw_rows {
    const struct gv_live_row *list[GV_LIVE_ROWS];
    size_t count;
};

static const char *draw_count(char out[GV_FORMAT_BYTES], double count)
{
    static const char *const units[] = {"", " k", " M", " G"};
    size_t unit = 0;

    while (count >= 9999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        count /= 1000;
        unit++;
    }
    snprintf(out, GV_FORMAT_BYTES, "%.*f%s", count < 9.95 && count > 0 ? 1 : 0, count, units[unit]);
    return out;
}

static int64_t draw_new_count(const struct gv_live_row *row)
{
    return row && row->count > row->before_count ? row->count - row->before_count : 0;
}

static int64_t draw_new_ns(const struct gv_live_row *row)
{
    return row && row->ns > row->before_ns ? row->ns - row->before_ns : 0;
}

/* In a second, of all rows of the kind, or of one. */
static double draw_rate(const struct draw *draw, const char *kind, const char *one)
{
    const struct gv_live_row *row = NULL;
    double sum = 0;

    while ((row = gv_live_page_find(&draw->top->view.page, kind, one, row)))
        sum += (double)draw_new_count(row);
    return sum / draw->seconds;
}

/* A level of a GPU; 0 is the newest. -1: it is before the session. */
static double draw_level(const struct draw *draw, const struct gv_live_row *busy, int back)
{
    int64_t level = draw->top->view.page.gpu_ns / GV_LIVE_LEVEL_NS - 1 - back;
    int64_t last = busy->at_ns / GV_LIVE_LEVEL_NS;

    if (level < 0)
        return -1;
    return level > last || last - level >= GV_LIVE_LEVELS
               ? 0
               : busy->levels[level % GV_LIVE_LEVELS] / (double)GV_LIVE_LEVEL_NS;
}

static double draw_busy(const struct draw *draw, const struct gv_live_row *busy)
{
    double sum = 0;

    for (int i = 0; i < DRAW_LEVELS_NOW; i++)
        sum += fmax(0, fmin(1, draw_level(draw, busy, i)));
    return sum / DRAW_LEVELS_NOW;
}

static const struct gv_live_row *draw_row(const struct draw *draw, const char *kind)
{
    static const struct gv_live_row none;
    const struct gv_live_row *row = gv_live_page_find(&draw->top->view.page, kind, NULL, NULL);

    return row ? row : &none;
}

static int64_t draw_lost(const struct draw *draw)
{
    const struct gv_live_row *row = NULL;
    int64_t sum = 0;

    while ((row = gv_live_page_find(&draw->top->view.page, "lost", NULL, row)))
        sum = gv_time_sum(sum, row->count);
    return sum;
}

static int64_t draw_age(const struct gv_top *top, int64_t at_ns)
{
    return top->now_ns > at_ns ? top->now_ns - at_ns : 0;
}

static void draw_ages(const struct draw *draw)
{
    const struct gv_top *top = draw->top;
    const struct {
        const char *what;
        int64_t at_ns;
    } newest[] = {{"call", top->view.page.call_ns},
                  {"look", top->view.page.look_ns},
                  {"GPU", top->view.page.gpu_ns}};
    char age[GV_FORMAT_BYTES];
    const char *between = "";

    for (size_t i = 0; i < sizeof(newest) / sizeof(newest[0]); i++) {
        if (newest[i].at_ns == 0)
            continue;
        fprintf(draw->out, "%s%s %s ago", between, newest[i].what,
                gv_format_duration(age, draw_age(top, newest[i].at_ns)));
        between = ", ";
    }
}

/* ---- the head ---- */

static void draw_head(const struct draw *draw, bool has_keys)
{
    const struct gv_top *top = draw->top;
    const struct gv_live_row *root = draw_row(draw, "root");
    int64_t running = draw_row(draw, "running")->count;
    char number[GV_FORMAT_BYTES];
    FILE *out = draw->out;

    fputs(gv_colour(stdout, GV_COLOUR_BOLD), out);
    gv_format_text(out, root->one[0] ? root->one : "?", 40, 0);
    fprintf(out, "%s  pid %" PRId64, gv_colour(stdout, GV_COLOUR_NONE), root->count);
    if (running > 1)
        fprintf(out, " and %" PRId64 " more", running - 1);
    fprintf(out, top->ended ? "  ended after %s" : "  for %s",
            gv_format_duration(number, top->now_ns));
    fprintf(out, "  (the last %.2f s)%s\n", draw->seconds,
            has_keys ? "   ? explains, q quits" : "");
}

static void draw_rates(const struct draw *draw)
{
    char number[GV_FORMAT_BYTES];
    double copies = draw_rate(draw, "call", "copy"), bytes;
    int64_t lost = draw_lost(draw);
    FILE *out = draw->out;

    fprintf(out, "%s launches/s", draw_count(number, draw_rate(draw, "call", "launch")));
    fprintf(out, "  %s calls/s", draw_count(number, draw_rate(draw, "call", NULL)));
    if (copies > 0) {
        fprintf(out, "  %s copies/s", draw_count(number, copies));
        bytes = draw_rate(draw, "bytes", "copy");
        fprintf(out, " %s/s", gv_format_size(number, bytes < 1e18 ? (int64_t)bytes : 0));
    }
    if (lost > 0)
        fprintf(out, "  %s%" PRId64 " lost%s", gv_colour(stdout, GV_COLOUR_COST), lost,
                gv_colour(stdout, GV_COLOUR_NONE));
    else
        fputs("  nothing lost", out);
    fputc('\n', out);
}

static void draw_nvml(const struct draw *draw, const char *uuid)
{
    static const struct {
        const char *what, *unit;
        int64_t divisor;
    } samples[] = {
        {"percent", "%", 1}, {"bytes", NULL, 1}, {"milliwatts", "W", 1000},
        {"C", "C", 1},       {"MHz", "MHz", 1},
    };
    const struct gv_live_row *row = NULL;
    char number[GV_FORMAT_BYTES];
    int64_t at_ns = 0;

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        row = NULL;
        while ((row = gv_live_page_find(&draw->top->view.page, "nvml", uuid, row)) &&
               strcmp(row->two, samples[i].what) != 0)
            ;
        if (!row)
            continue;
        if (at_ns == 0)
            fputs("  NVML", draw->out);
        at_ns = row->ns;
        if (samples[i].unit)
            fprintf(draw->out, "%s %" PRId64 " %s", i > 0 ? " " : "",
                    row->count / samples[i].divisor, samples[i].unit);
        else
            fprintf(draw->out, "  %s", gv_format_size(number, row->count));
    }
    if (at_ns && draw_age(draw->top, at_ns) > 2 * GV_TOP_SECOND_NS)
        fprintf(draw->out, " %s ago", gv_format_duration(number, draw_age(draw->top, at_ns)));
}

static void draw_device(const struct draw *draw, const struct gv_live_row *gpu)
{
    const struct gv_top *top = draw->top;
    const struct gv_live_row *busy = gv_live_page_find(&top->view.page, "busy", gpu->one, NULL);
    const struct gv_live_row *use = NULL;
    const char *unseen = draw_row(draw, "side")->two;
    double levels[DRAW_LEVELS];
    char number[GV_FORMAT_BYTES];

    fputs("GPU ", draw->out);
    gv_format_text(draw->out, gpu->two[0] ? gpu->two : gpu->one, 24, 0);
    if (unseen[0]) {
        fputs("  ", draw->out);
        gv_format_text(draw->out, unseen, 40, 0);
    } else if (busy) {
        for (int i = 0; i < DRAW_LEVELS; i++)
            levels[i] = draw_level(draw, busy, DRAW_LEVELS - 1 - i);
        fprintf(draw->out, "  busy %.0f %%  ", 100 * draw_busy(draw, busy));
        gv_sparkline(draw->out, levels, DRAW_LEVELS);
        if (top->view.page.gpu_ns - busy->at_ns > GV_TOP_SECOND_NS / 2)
            fprintf(draw->out, "  %slast work ended %s ago%s", gv_colour(stdout, GV_COLOUR_MAY),
                    gv_format_duration(number, draw_age(top, busy->at_ns)),
                    gv_colour(stdout, GV_COLOUR_NONE));
    }
    draw_nvml(draw, gpu->one);
    while ((use = gv_live_page_find(&top->view.page, "use", gpu->one, use))) {
        fputs("  ", draw->out);
        gv_format_text(draw->out, use->two, 12, 0);
        fprintf(draw->out, " %" PRId64 " %%", (use->count + 5) / 10);
    }
    fputc('\n', draw->out);
}

static bool draw_sees_gpu(const struct draw *draw)
{
    return draw_row(draw, "side")->count > 0;
}

static unsigned int draw_devices(const struct draw *draw)
{
    const struct gv_live_row *gpu = NULL;
    const char *why = draw_row(draw, "root")->two;
    unsigned int lines = 0;

    for (; (gpu = gv_live_page_find(&draw->top->view.page, "gpu", NULL, gpu)); lines++)
        draw_device(draw, gpu);
    if (draw_sees_gpu(draw))
        return lines;
    fputs("GPU side not recorded", draw->out);
    if (why[0]) {
        fputs(": ", draw->out);
        gv_format_text(draw->out, why, draw->columns > 60 ? draw->columns - 24 : 40, 0);
    }
    fputc('\n', draw->out);
    return lines + 1;
}

/* ---- lists ---- */

static void draw_title(const struct draw *draw, const char *text)
{
    fprintf(draw->out, "%s%s%s\n", gv_colour(stdout, GV_COLOUR_BOLD), text,
            gv_colour(stdout, GV_COLOUR_NONE));
}

static int draw_room(const struct draw *draw, int used)
{
    return draw->columns - used > 10 ? draw->columns - used : 10;
}

typedef int draw_compare(const struct gv_live_row *a, const struct gv_live_row *b);

/* The most first. */
static int compare_new(const struct gv_live_row *a, const struct gv_live_row *b)
{
    int64_t ns = draw_new_ns(b) - draw_new_ns(a), count = draw_new_count(b) - draw_new_count(a);

    return ns ? (ns > 0) - (ns < 0) : (count > 0) - (count < 0);
}

/* The newest first. */
static int compare_at(const struct gv_live_row *a, const struct gv_live_row *b)
{
    return (b->at_ns > a->at_ns) - (b->at_ns < a->at_ns);
}

/* Those in calls first, and of these the oldest. */
static int compare_threads(const struct gv_live_row *a, const struct gv_live_row *b)
{
    return (a->count > 0) != (b->count > 0) ? (b->count > 0) - (a->count > 0)
                                            : (a->ns > b->ns) - (a->ns < b->ns);
}

/* Adds the rows of a kind, in this order: those that did something since, or last changed then. */
static void draw_find(const struct draw *draw, const char *kind, draw_compare *compare,
                      int64_t since_ns, struct draw_rows *rows)
{
    const struct gv_live_row *row = NULL;

    while ((row = gv_live_page_find(&draw->top->view.page, kind, NULL, row))) {
        size_t at = rows->count;
        if (compare == compare_new ? !draw_new_ns(row) && !draw_new_count(row)
                                   : row->at_ns < since_ns)
            continue;
        for (; at > 0 && compare(row, rows->list[at - 1]) < 0; at--)
            rows->list[at] = rows->list[at - 1];
        rows->list[at] = row;
        rows->count++;
    }
}

static void draw_find_threads(const struct draw *draw, struct draw_rows *rows)
{
    if (!draw->top->ended)
        draw_find(draw, "thread", compare_threads, draw->top->view.page.now_ns - DRAW_FRESH_NS,
                  rows);
}

static void draw_now(const struct draw *draw, unsigned int rows, const struct draw_rows *threads)
{
    char number[GV_FORMAT_BYTES], *name;

    draw_title(draw, "THREADS NOW                        for");
    for (size_t i = 0; i < threads->count && rows > 0; i++, rows--) {
        const struct gv_live_row *thread = threads->list[i];
        fprintf(draw->out, "  %-8lu ", strtoul(thread->one, &name, 10));
        gv_format_text(draw->out, *name == ' ' ? name + 1 : name, 16, 1);
        fprintf(draw->out, " %8s  %s", gv_format_duration(number, draw_age(draw->top, thread->ns)),
                gv_colour(stdout, thread->count == 1 ? GV_COLOUR_MAY : GV_COLOUR_NONE));
        gv_format_text(draw->out, thread->two, draw_room(draw, 38), 0);
        fprintf(draw->out, "%s\n", gv_colour(stdout, GV_COLOUR_NONE));
    }
}

static void draw_items(const struct draw *draw, const struct draw_rows *items, const char *title,
                       bool has_gpu, unsigned int rows)
{
    double total_ns = 0;
    char number[GV_FORMAT_BYTES];

    for (size_t i = 0; i < items->count; i++)
        total_ns += (double)draw_new_ns(items->list[i]);
    draw_title(draw, title);
    for (size_t i = 0; i < items->count && rows > 0; i++, rows--) {
        double ns = (double)draw_new_ns(items->list[i]);
        double count = (double)draw_new_count(items->list[i]);
        if (has_gpu && total_ns > 0)
            fprintf(draw->out, "  %5.1f %%", 100 * ns / total_ns);
        else
            fputs("       -", draw->out);
        fprintf(draw->out, "  %8s/s  ", draw_count(number, count / draw->seconds));
        gv_format_text(draw->out, items->list[i]->one, draw_room(draw, 23), 0);
        fputc('\n', draw->out);
    }
}

static void draw_events(const struct draw *draw, unsigned int rows, const struct draw_rows *events)
{
    char number[GV_FORMAT_BYTES];

    draw_title(draw, "SLOW OR IDLE  times   longest           last");
    for (size_t i = 0; i < events->count && rows > 0; i++, rows--) {
        const struct gv_live_row *event = events->list[i];
        char text[2 * GV_LIVE_TEXT_BYTES + 16];
        snprintf(text, sizeof(text), "%s%s%s", event->one, event->two[0] ? "  " : "", event->two);
        fprintf(draw->out, "  %s%s%s %12" PRId64 "  %8s", gv_colour(stdout, GV_COLOUR_MAY),
                event->kind[0] == 'g' ? "idle" : "call", gv_colour(stdout, GV_COLOUR_NONE),
                event->count, gv_format_duration(number, event->ns));
        fprintf(draw->out, " %8s ago  ",
                gv_format_duration(number, draw_age(draw->top, event->at_ns)));
        gv_format_text(draw->out, text, draw_room(draw, 46), 0);
        fputc('\n', draw->out);
    }
}

/* What the parts say, instead of the lists. */
static void draw_help(const struct draw *draw)
{
    static const char *const lines[] = {
        "q  quits      ?  goes back to the program",
        "the last       the time that rates cover; before it: how long the program has run",
        "busy           share of 2 s with kernels, copies or sets; the blocks show 6.4 s",
        "newest         the age of the newest call, look at a thread, and GPU record",
        "THREADS NOW    calls that have not returned, and what other threads do",
        "KERNEL, LINE   what used the GPU; the time of a line is estimated",
        "SLOW OR IDLE   calls of 1 ms or more, and GPU idle times of 10 ms or more",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        fprintf(draw->out, "%s\n", lines[i]);
}

/* Gives each list its rows: in turn, while there is room. */
static void draw_share(unsigned int room, const unsigned int *wanted, unsigned int *given,
                       int lists)
{
    bool any = true;

    for (int i = 0; i < lists; i++) {
        given[i] = 0;
        if (wanted[i] > 0 && room >= 1 + DRAW_LEAST) {
            given[i] = wanted[i] < DRAW_LEAST ? wanted[i] : DRAW_LEAST;
            room -= 1 + given[i];
        }
    }
    while (room > 0 && any) {
        any = false;
        for (int i = 0; i < lists && room > 0; i++) {
            if (given[i] == 0 || given[i] == wanted[i])
                continue;
            given[i]++;
            room--;
            any = true;
        }
    }
}

static unsigned int draw_least(size_t count, unsigned int most)
{
    return count < most ? (unsigned int)count : most;
}

static void draw_begin(struct draw *draw)
{
    int64_t ns = draw->top->view.page.now_ns - draw->top->view.page.before_ns;

    draw->seconds = ns > 0 ? (double)ns / 1e9 : 1;
}

void gv_top_draw(const struct gv_top *top, FILE *out, unsigned int rows, unsigned int columns)
{
    struct draw draw = {.top = top, .out = out, .columns = (int)columns};
    struct draw_rows threads = {0}, kernels = {0}, lines = {0}, events = {0};
    unsigned int head = 3, given[4];

    draw_begin(&draw);
    draw_find_threads(&draw, &threads);
    draw_find(&draw, "kernel", compare_new, 0, &kernels);
    draw_find(&draw, "line", compare_new, 0, &lines);
    draw_find(&draw, "slow", compare_at, 0, &events);
    draw_find(&draw, "gap", compare_at, 0, &events);
    const unsigned int wanted[4] = {
        draw_least(threads.count, DRAW_NOW),
        draw_least(kernels.count, DRAW_MOST),
        draw_least(lines.count, DRAW_MOST),
        draw_least(events.count, DRAW_MOST),
    };
    draw_head(&draw, rows > 0);
    head += draw_devices(&draw);
    draw_rates(&draw);
    fprintf(out, "%snewest: ", gv_colour(stdout, GV_COLOUR_DIM));
    draw_ages(&draw);
    fprintf(out, "%s\n", gv_colour(stdout, GV_COLOUR_NONE));
    if (top->explains) {
        draw_help(&draw);
        return;
    }
    draw_share(rows == 0 ? 60 : rows > head ? rows - head : 0, wanted, given, 4);
    if (given[0])
        draw_now(&draw, given[0], &threads);
    if (given[1])
        draw_items(&draw, &kernels, "GPU TIME       runs    KERNEL", true, given[1]);
    if (given[2])
        draw_items(&draw, &lines, "GPU TIME   launches    LINE", draw_sees_gpu(&draw), given[2]);
    if (given[3])
        draw_events(&draw, given[3], &events);
}

/* What to say of all threads in one line: the call that has lasted longest, or a look. */
static void draw_line_now(const struct draw *draw)
{
    struct draw_rows threads = {0};
    char number[GV_FORMAT_BYTES];

    draw_find_threads(draw, &threads);
    if (threads.count == 0)
        return;
    fputs("  ", draw->out);
    gv_format_text(draw->out, threads.list[0]->two, 80, 0);
    if (threads.list[0]->count > 0)
        fprintf(draw->out, " for %s",
                gv_format_duration(number, draw_age(draw->top, threads.list[0]->ns)));
}

void gv_top_draw_line(const struct gv_top *top, FILE *out)
{
    struct draw draw = {.top = top, .out = out, .columns = 100};
    const struct gv_live_row *busy = NULL;
    char number[GV_FORMAT_BYTES];

    draw_begin(&draw);
    fprintf(out, "%.1f s", (double)top->now_ns / 1e9);
    if (draw_row(&draw, "side")->two[0]) {
        fputs("  GPU ", out);
        gv_format_text(out, draw_row(&draw, "side")->two, 40, 0);
    } else {
        while ((busy = gv_live_page_find(&top->view.page, "busy", NULL, busy)))
            fprintf(out, "  GPU busy %.0f %%", 100 * draw_busy(&draw, busy));
    }
    fprintf(out, "  %s launches/s", draw_count(number, draw_rate(&draw, "call", "launch")));
    fprintf(out, "  %s calls/s", draw_count(number, draw_rate(&draw, "call", NULL)));
    if (draw_lost(&draw) > 0)
        fprintf(out, "  %" PRId64 " lost", draw_lost(&draw));
    draw_line_now(&draw);
    fputs("  (", out);
    draw_ages(&draw);
    fputs(")\n", out);
}
