/* The picture, and the line. Texts of the trace are escaped. */
#include "report/commands/top/top.h"

#include "report/show/format.h"
#include "report/show/sparkline.h"
#include "report/show/terminal.h"
#include "trace/futex.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DRAW_LEVELS 32
/* Rows of each part without a limit; and the least, of those that have any. */
#define DRAW_MOST  20
#define DRAW_NOW   8
#define DRAW_LEAST 2
/* A look says what a thread does now, for so long. */
#define DRAW_FRESH_NS (GV_TOP_SECOND_NS / 2)
/* The collector stores what is older. */
#define DRAW_LAG_NS (GV_TOP_SECOND_NS / 4)

struct draw {
    const struct gv_top *top;
    FILE *out;
    int columns;
    int64_t calls_until_ns; /* the window's end, of calls and of the GPU side */
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

static double draw_rate(const struct draw *draw, const struct gv_top_series *series)
{
    double sum = gv_top_series_sum(series, draw->calls_until_ns, draw->top->window_ns);

    return sum * (double)GV_TOP_SECOND_NS / (double)draw->top->window_ns;
}

static double draw_busy(const struct gv_top_device *device, int64_t until_ns, int64_t span_ns)
{
    double share = gv_top_series_sum(&device->busy_ns, until_ns, span_ns) / (double)span_ns;

    return share > 1 ? 1 : share;
}

static bool draw_is_estimate(const struct gv_top *top)
{
    return (top->calls.share > 0 && top->calls.share < 1) ||
           (top->ops.share > 0 && top->ops.share < 1);
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
    } newest[] = {{"call", top->call_ns}, {"look", top->look_ns}, {"GPU", top->gpu_until_ns}};
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

static void draw_head(const struct draw *draw)
{
    const struct gv_top *top = draw->top;
    char number[GV_FORMAT_BYTES];
    FILE *out = draw->out;

    fputs(gv_colour(stdout, GV_COLOUR_BOLD), out);
    gv_format_text(out, top->program[0] ? top->program : "?", 40, 0);
    fprintf(out, "%s  pid %" PRId64, gv_colour(stdout, GV_COLOUR_NONE), top->pid);
    if (top->processes > 1)
        fprintf(out, " and %" PRId64 " more", top->processes - 1);
    fprintf(out, top->ended ? "  ended after %s" : "  for %s",
            gv_format_duration(number, top->now_ns));
    fprintf(out, "  (the last %s)\n", gv_format_duration(number, top->window_ns));
}

/* No call has been read, but there may be some: rates are not 0, but unknown. */
static bool draw_is_unread(const struct gv_top *top)
{
    return top->is_behind && top->call_ns == 0;
}

static void draw_rates(const struct draw *draw)
{
    const struct gv_top *top = draw->top;
    char number[GV_FORMAT_BYTES];

    if (draw_is_unread(top)) {
        fputs("still reading the trace\n", draw->out);
        return;
    }
    double copies = draw_rate(draw, &top->copy_count);
    FILE *out = draw->out;

    fprintf(out, "%s%s launches/s", draw_is_estimate(top) ? "about " : "",
            draw_count(number, draw_rate(draw, &top->launch_count)));
    fprintf(out, "  %s calls/s", draw_count(number, draw_rate(draw, &top->call_count)));
    if (copies > 0) {
        fprintf(out, "  %s copies/s", draw_count(number, copies));
        double bytes = draw_rate(draw, &top->copy_bytes);
        fprintf(out, " %s/s", gv_format_size(number, bytes < 1e18 ? (int64_t)bytes : 0));
    }
    if (top->lost > 0)
        fprintf(out, "  %s%" PRId64 " lost%s", gv_colour(stdout, GV_COLOUR_COST), top->lost,
                gv_colour(stdout, GV_COLOUR_NONE));
    else
        fputs("  nothing lost", out);
    fputc('\n', out);
}

static void draw_age_line(const struct draw *draw)
{
    fputs(gv_colour(stdout, GV_COLOUR_DIM), draw->out);
    fputs("newest: ", draw->out);
    draw_ages(draw);
    fprintf(draw->out, "%s\n", gv_colour(stdout, GV_COLOUR_NONE));
}

static void draw_nvml(const struct draw *draw, const struct gv_top_device *device)
{
    char number[GV_FORMAT_BYTES];
    FILE *out = draw->out;

    if (!device->sampled)
        return;
    fputs("  NVML", out);
    if (device->gpu_percent >= 0)
        fprintf(out, " %" PRId64 " %%", device->gpu_percent);
    if (device->used_bytes >= 0)
        fprintf(out, "  %s", gv_format_size(number, device->used_bytes));
    if (device->power_mw >= 0)
        fprintf(out, "  %" PRId64 " W", device->power_mw / 1000);
    if (device->temperature_c >= 0)
        fprintf(out, "  %" PRId64 " C", device->temperature_c);
    if (device->clock_mhz >= 0)
        fprintf(out, "  %" PRId64 " MHz", device->clock_mhz);
    if (draw_age(draw->top, device->at_ns) > GV_TOP_SECOND_NS)
        fprintf(out, " %s ago", gv_format_duration(number, draw_age(draw->top, device->at_ns)));
}

static void draw_device(const struct draw *draw, const struct gv_top_device *device)
{
    const struct gv_top *top = draw->top;
    int64_t part_ns = GV_TOP_SLICES / DRAW_LEVELS * GV_TOP_SLICE_NS, idle_ns;
    int64_t end_ns = top->gpu_until_ns;
    double levels[DRAW_LEVELS];
    char number[GV_FORMAT_BYTES];

    fputs("GPU ", draw->out);
    gv_format_text(draw->out, device->name[0] ? device->name : device->uuid, 24, 0);
    if (top->unseen[0]) {
        fprintf(draw->out, "  %s", top->unseen);
    } else if (device->seen) {
        for (int i = 0; i < DRAW_LEVELS; i++) {
            int64_t until_ns = end_ns - (DRAW_LEVELS - 1 - i) * part_ns;
            levels[i] = until_ns < part_ns ? -1 : draw_busy(device, until_ns, part_ns);
        }
        fprintf(draw->out, "  busy %.0f %%  ", 100 * draw_busy(device, end_ns, top->window_ns));
        gv_sparkline(draw->out, levels, DRAW_LEVELS);
        idle_ns = end_ns - device->busy_until_ns;
        if (idle_ns > GV_TOP_SECOND_NS / 2)
            fprintf(draw->out, "  %slast work ended %s ago%s", gv_colour(stdout, GV_COLOUR_MAY),
                    gv_format_duration(number, draw_age(top, device->busy_until_ns)),
                    gv_colour(stdout, GV_COLOUR_NONE));
    }
    draw_nvml(draw, device);
    fputc('\n', draw->out);
}

static unsigned int draw_devices(const struct draw *draw)
{
    const struct gv_top *top = draw->top;

    for (size_t i = 0; i < top->device_count; i++)
        draw_device(draw, &top->devices[i]);
    if (top->gpu_seen)
        return (unsigned int)top->device_count;
    fputs("GPU side not recorded", draw->out);
    if (top->gpu_why[0]) {
        fputs(": ", draw->out);
        gv_format_text(draw->out, top->gpu_why, draw->columns > 60 ? draw->columns - 24 : 40, 0);
    }
    fputc('\n', draw->out);
    return (unsigned int)top->device_count + 1;
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

/* A thread that is in no call, or only in short ones. */
static bool draw_is_between(const struct gv_top *top, const struct gv_top_thread *thread)
{
    if (!top->session || top->ended || draw_age(top, thread->at_ns) > DRAW_FRESH_NS)
        return false;
    for (size_t i = 0; i < top->flight_count; i++)
        if (top->flights[i].tid == thread->tid)
            return false;
    return true;
}

static void draw_now_line(const struct draw *draw, uint32_t tid, const char *name, int64_t for_ns,
                          const char *what, enum gv_colour colour)
{
    char number[GV_FORMAT_BYTES];

    fprintf(draw->out, "  %-8u ", tid);
    gv_format_text(draw->out, name, 16, 1);
    fprintf(draw->out, " %8s  %s", gv_format_duration(number, for_ns), gv_colour(stdout, colour));
    gv_format_text(draw->out, what, draw_room(draw, 38), 0);
    fprintf(draw->out, "%s\n", gv_colour(stdout, GV_COLOUR_NONE));
}

static unsigned int draw_now_count(const struct gv_top *top)
{
    unsigned int count = (unsigned int)top->flight_count;

    for (size_t i = 0; i < top->thread_count; i++)
        count += draw_is_between(top, &top->threads[i]);
    return count;
}

static void draw_now(const struct draw *draw, unsigned int rows)
{
    const struct gv_top *top = draw->top;

    draw_title(draw, "THREADS NOW                        for");
    for (size_t i = 0; i < top->flight_count && rows > 0; i++, rows--) {
        const struct gv_top_flight *flight = &top->flights[i];
        char what[96];
        snprintf(what, sizeof(what), "%s %s", flight->waits ? "waits in" : "in", flight->name);
        draw_now_line(draw, flight->tid, flight->thread, draw_age(top, flight->start_ns), what,
                      flight->waits ? GV_COLOUR_NONE : GV_COLOUR_MAY);
    }
    for (size_t i = 0; i < top->thread_count && rows > 0; i++) {
        const struct gv_top_thread *thread = &top->threads[i];
        if (!draw_is_between(top, thread))
            continue;
        int64_t since_ns =
            thread->called_ns > thread->since_ns ? thread->called_ns : thread->since_ns;
        draw_now_line(draw, thread->tid, thread->name, draw_age(top, since_ns), thread->text,
                      GV_COLOUR_NONE);
        rows--;
    }
}

static void draw_items(const struct draw *draw, const struct gv_top_items *items, const char *title,
                       bool has_gpu, unsigned int rows, size_t used)
{
    double span_ns = (double)draw->top->window_ns, total_ns = 0, total = 0;
    char number[GV_FORMAT_BYTES];

    for (size_t i = 0; i < used; i++) {
        total_ns += items->order[i]->shown_ns;
        total += items->order[i]->shown_count;
    }
    draw_title(draw, title);
    for (size_t i = 0; i < used && rows > 0; i++, rows--) {
        const struct gv_top_item *item = items->order[i];
        double share = total_ns > 0 ? item->shown_ns / total_ns : item->shown_count / total;
        if (has_gpu && total_ns > 0)
            fprintf(draw->out, "  %5.1f %%", 100 * share);
        else
            fputs("       -", draw->out);
        fprintf(draw->out, "  %8s/s  ",
                draw_count(number, item->shown_count * (double)GV_TOP_SECOND_NS / span_ns));
        gv_format_text(draw->out, item->text, draw_room(draw, 23), 0);
        fputc('\n', draw->out);
    }
}

static void draw_events(const struct draw *draw, unsigned int rows)
{
    const struct gv_top *top = draw->top;
    char number[GV_FORMAT_BYTES];

    draw_title(draw, "SLOW OR IDLE  times   longest    newest");
    for (size_t i = 0; i < top->event_count && rows > 0; i++, rows--) {
        const struct gv_top_event *event = &top->events[i];
        char text[2 * GV_TOP_TEXT_BYTES + 16];
        snprintf(text, sizeof(text), "%s%s%s", event->what, event->where[0] ? "  " : "",
                 event->where);
        fprintf(draw->out, "  %s%s%s %12" PRId64 "  %8s", gv_colour(stdout, GV_COLOUR_MAY),
                event->is_idle ? "idle" : "call", gv_colour(stdout, GV_COLOUR_NONE), event->count,
                gv_format_duration(number, event->longest_ns));
        fprintf(draw->out, "  %6.1f s  ", (double)event->last_ns / 1e9);
        gv_format_text(draw->out, text, draw_room(draw, 41), 0);
        fputc('\n', draw->out);
    }
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
    const struct gv_top *top = draw->top;

    draw->calls_until_ns = top->call_ns;
    /* No new calls: it makes none, unless the collector is behind. */
    if (top->session && (int64_t)gv_monotonic_ns() - top->moved_ns > GV_TOP_SECOND_NS)
        draw->calls_until_ns = top->now_ns - DRAW_LAG_NS;
}

void gv_top_draw(struct gv_top *top, FILE *out, unsigned int rows, unsigned int columns)
{
    struct draw draw = {.top = top, .out = out, .columns = (int)columns};
    unsigned int head = 3, given[4];

    draw_begin(&draw);
    gv_top_items_sum(&top->kernels, top->gpu_until_ns, top->window_ns);
    gv_top_items_sum(&top->lines, draw.calls_until_ns, top->window_ns);
    gv_top_items_sum(&top->works, draw.calls_until_ns, GV_TOP_SLICES * GV_TOP_SLICE_NS);
    gv_top_lines_estimate(&top->kernels, &top->works, &top->lines);
    size_t kernels = gv_top_items_sort(&top->kernels), lines = gv_top_items_sort(&top->lines);
    const unsigned int wanted[4] = {
        draw_least(draw_now_count(top), DRAW_NOW),
        draw_least(kernels, DRAW_MOST),
        draw_least(lines, DRAW_MOST),
        draw_least(top->event_count, DRAW_MOST),
    };
    draw_head(&draw);
    head += draw_devices(&draw);
    draw_rates(&draw);
    draw_age_line(&draw);
    draw_share(rows == 0 ? 60 : rows > head ? rows - head : 0, wanted, given, 4);
    if (given[0])
        draw_now(&draw, given[0]);
    if (given[1])
        draw_items(&draw, &top->kernels, "GPU TIME       runs    KERNEL", true, given[1], kernels);
    if (given[2])
        draw_items(&draw, &top->lines, "GPU TIME   launches    LINE", top->gpu_seen, given[2],
                   lines);
    if (given[3])
        draw_events(&draw, given[3]);
}

/* What to say of all threads in one line: the call that has lasted longest, or a look. */
static void draw_line_now(const struct draw *draw)
{
    const struct gv_top *top = draw->top;
    char number[GV_FORMAT_BYTES];

    if (top->flight_count > 0) {
        fprintf(draw->out, "  in ");
        gv_format_text(draw->out, top->flights[0].name, 64, 0);
        fprintf(draw->out, " for %s",
                gv_format_duration(number, draw_age(top, top->flights[0].start_ns)));
        return;
    }
    for (size_t i = 0; i < top->thread_count; i++) {
        if (!draw_is_between(top, &top->threads[i]))
            continue;
        fputs("  ", draw->out);
        gv_format_text(draw->out, top->threads[i].text, 80, 0);
        return;
    }
}

void gv_top_draw_line(struct gv_top *top, FILE *out)
{
    struct draw draw = {.top = top, .out = out, .columns = 100};
    char number[GV_FORMAT_BYTES];

    draw_begin(&draw);
    fprintf(out, "%.1f s", (double)top->now_ns / 1e9);
    if (top->unseen[0])
        fprintf(out, "  GPU %s", top->unseen);
    for (size_t i = 0; i < top->device_count; i++)
        if (top->devices[i].seen && !top->unseen[0])
            fprintf(out, "  GPU busy %.0f %%",
                    100 * draw_busy(&top->devices[i], top->gpu_until_ns, top->window_ns));
    if (draw_is_unread(top)) {
        fputs("  still reading the trace", out);
    } else {
        fprintf(out, "  %s%s launches/s", draw_is_estimate(top) ? "about " : "",
                draw_count(number, draw_rate(&draw, &top->launch_count)));
        fprintf(out, "  %s calls/s", draw_count(number, draw_rate(&draw, &top->call_count)));
    }
    if (top->lost > 0)
        fprintf(out, "  %" PRId64 " lost", top->lost);
    draw_line_now(&draw);
    fputs("  (", out);
    draw_ages(&draw);
    fputs(")\n", out);
}
