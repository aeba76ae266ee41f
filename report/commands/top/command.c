/* gpuverify top [FILE|PID]: what a running program does now. */
#include "report/commands/top/top.h"

#include "report/collect/sessions.h"
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/trace_open.h"
#include "report/show/message.h"
#include "report/show/screen.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"
#include "report/store/trace_file.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a table that are read each second. */
#define TOP_ROWS         5000
#define TOP_ROWS_LEAST   256
#define TOP_INTERVAL_MIN 50000000
#define TOP_STARTING_NS  50000000
#define TOP_AGAIN_NS     5000000
/* The trace is about to be made. */
#define TOP_STARTING 200

enum top_end { TOP_GOES_ON, TOP_QUIT, TOP_ENDED, TOP_GONE, TOP_REPLACED, TOP_LEFT };

/* ---- which trace ---- */

/* The trace's path, without links. -EAGAIN: the collector has not made it yet. */
static int top_find_path(struct gv_top *top, const char *operand)
{
    char named[GV_SESSION_PATH_BYTES];
    struct gv_trace_probe probe;

    if (top->target.is_pid && top->session)
        snprintf(named, sizeof(named), "%.*s", (int)sizeof(top->session->trace_path) - 1,
                 top->session->trace_path);
    else
        snprintf(named, sizeof(named), "%s", operand);
    if (!realpath(named, top->path))
        return errno == ENOENT && top->session ? -EAGAIN : -errno;
    int error = gv_trace_file_probe(top->path, &probe);
    /* Until then it may be a trace of another session, which the collector replaces or avoids. */
    if (top->session && (error == -ENODATA || error == -EBUSY ||
                         (!error && strcmp(probe.session, top->target.session) != 0)))
        return -EAGAIN;
    return error;
}

static int top_find(struct gv_top *top, const char *operand)
{
    int error = gv_control_find(operand, &top->target);

    if (error && (top->target.is_pid || (error != -ENOENT && error != -EPROTO))) {
        gv_control_say(operand, top->target.is_pid, error);
        return error;
    }
    if (!error)
        (void)gv_session_place_find(top->target.directory, top->target.session, &top->session);
    for (int i = 0; i < TOP_STARTING; i++) {
        error = top_find_path(top, operand);
        if (error != -EAGAIN)
            break;
        gv_pause_ns(TOP_STARTING_NS);
    }
    if (error)
        gv_trace_open_say(operand, error == -EAGAIN ? -ENOENT : error);
    return error;
}

/* ---- looking ---- */

/* Whether there is still something to look at. */
static enum top_end top_check(struct gv_top *top)
{
    struct stat now;
    uint64_t ticks;

    if (stat(top->path, &now) < 0)
        return TOP_GONE;
    if (now.st_dev != top->identity.st_dev || now.st_ino != top->identity.st_ino)
        return TOP_REPLACED;
    if (top->complete || !top->session)
        return TOP_ENDED;
    if (!top->any_lives &&
        gv_session_process_life(top->session->root_pid, top->session->root_start_ticks) !=
            GV_SESSION_ALIVE &&
        gv_session_read_start_ticks(atomic_load(&top->session->collector_pid), &ticks) < 0)
        return TOP_LEFT;
    return TOP_GOES_ON;
}

/* 0 or -errno; a trace that is locked for a while is shown as it was. */
static int top_look(struct gv_top *top, enum top_end *end)
{
    int error;

    gv_top_flights_read(top);
    error = gv_top_read(top);
    *end = top_check(top);
    top->ended = *end == TOP_ENDED || *end == TOP_LEFT;
    top->is_behind = error == -EINTR || error == -EBUSY;
    return *end == TOP_GONE || *end == TOP_REPLACED || top->is_behind ? 0 : error;
}

static int top_draw_screen(struct gv_top *top)
{
    unsigned int rows, columns;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int error = 0;

    if (!out)
        return -ENOMEM;
    gv_screen_size(&rows, &columns);
    gv_top_draw(top, out, rows, columns);
    if (fclose(out) != 0)
        error = -ENOMEM;
    if (!error)
        error = gv_screen_draw(text, bytes);
    free(text);
    return error;
}

static int top_show_screen(struct gv_top *top, enum top_end *end)
{
    int error = gv_screen_open();

    while (!error && *end == TOP_GOES_ON) {
        int64_t next_ns = (int64_t)gv_monotonic_ns() + top->interval_ns;
        enum gv_screen_event event = GV_SCREEN_SIZE;
        error = top_look(top, end);
        while (!error && *end == TOP_GOES_ON && event == GV_SCREEN_SIZE) {
            error = top_draw_screen(top);
            event = gv_screen_wait(next_ns);
        }
        if (event == GV_SCREEN_END)
            gv_screen_end();
        if (event == GV_SCREEN_QUIT)
            *end = TOP_QUIT;
    }
    gv_screen_close();
    return error;
}

static int top_show_lines(struct gv_top *top, enum top_end *end)
{
    int error = 0;

    while (!error && *end == TOP_GOES_ON) {
        uint64_t next_ns = gv_monotonic_ns() + (uint64_t)top->interval_ns, now_ns;
        error = top_look(top, end);
        if (!error && *end == TOP_GOES_ON) {
            gv_top_draw_line(top, stdout);
            if (fflush(stdout) != 0)
                return 0; /* main() says it */
        }
        now_ns = gv_monotonic_ns();
        if (*end == TOP_GOES_ON && now_ns < next_ns)
            gv_pause_ns((int64_t)(next_ns - now_ns));
    }
    return error;
}

static int top_show_once(struct gv_top *top, enum top_end *end)
{
    int error = top_look(top, end);

    /* It is not read all at once, and the collector may be storing much. */
    for (int i = 0; i < TOP_STARTING && !error && top->is_behind; i++) {
        gv_pause_ns(TOP_AGAIN_NS);
        error = top_look(top, end);
    }

    if (!error && top->facts_ns == 0)
        error = -EBUSY;
    if (!error)
        gv_top_draw(top, stdout, 0, (unsigned int)gv_terminal_columns(stdout));
    return error;
}

/* ---- the end ---- */

static int top_say(struct gv_top *top, enum top_end end)
{
    char text[GV_OFFER_BYTES];

    if (end == TOP_GONE)
        gv_message("%s was deleted", gv_shown_path(top->path));
    if (end == TOP_REPLACED)
        gv_message("%s is now another file", gv_shown_path(top->path));
    if (end == TOP_ENDED || end == TOP_LEFT)
        printf("It has ended. %s says what cost time.\n",
               gv_offer_fill(text, sizeof(text), "gpuverify report FILE", top->path, false));
    return end == TOP_GONE || end == TOP_REPLACED ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

static int top_run(struct gv_top *top, bool once)
{
    enum top_end end = top->session ? TOP_GOES_ON : TOP_ENDED;
    bool is_over = !top->session;
    int error = gv_top_open(top);

    if (!error && (once || is_over))
        error = top_show_once(top, &end);
    else if (!error && gv_screen_is_possible())
        error = top_show_screen(top, &end);
    else if (!error)
        error = top_show_lines(top, &end);
    if (error) {
        if (error != -ENOTSUP && error != -EBADMSG)
            gv_message("cannot read %s: %s", gv_shown_path(top->path),
                       top->trace ? gv_trace_open_why(top->trace, error) : strerror(-error));
        return GV_EXIT_FAILED;
    }
    if (!once && !is_over && top->ended)
        gv_top_draw(top, stdout, 0, (unsigned int)gv_terminal_columns(stdout));
    return top_say(top, end);
}

int gv_command_top(const struct gv_arguments *arguments)
{
    int64_t interval_ns = gv_arguments_number(arguments, GV_OPTION_top_interval, GV_TOP_SECOND_NS);
    int code = GV_EXIT_FAILED;
    const char *operand = arguments->operands[0];
    struct gv_top *top;

    if (interval_ns < TOP_INTERVAL_MIN)
        return gv_arguments_refuse(arguments->command, "--interval takes 50ms or more");
    if (!operand)
        operand = gv_offer_choose(arguments->command, NULL, &code);
    top = operand ? calloc(1, sizeof(*top)) : NULL;
    if (!top)
        return code;
    top->interval_ns = interval_ns;
    top->window_ns = interval_ns > GV_TOP_WINDOW_NS ? interval_ns : GV_TOP_WINDOW_NS;
    if (top->window_ns > GV_TOP_SLICES * GV_TOP_SLICE_NS / 2)
        top->window_ns = GV_TOP_SLICES * GV_TOP_SLICE_NS / 2;
    top->rows = (size_t)(TOP_ROWS * (double)top->window_ns / 2e9);
    if (interval_ns < top->window_ns)
        top->rows = (size_t)(TOP_ROWS * ((double)interval_ns / 1e9));
    if (top->rows < TOP_ROWS_LEAST)
        top->rows = TOP_ROWS_LEAST;
    if (top_find(top, operand) == 0)
        code = top_run(top, gv_arguments_has(arguments, GV_OPTION_top_once));
    else
        code = GV_EXIT_FAILED;
    gv_top_close(top);
    gv_session_place_unmap(top->session);
    free(top);
    return code;
}
