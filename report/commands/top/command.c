/* gpuverify top [FILE|PID]: what a running program does now. */
#include "report/commands/top/top.h"

#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/show/message.h"
#include "report/show/screen.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"
#include "trace/futex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP_INTERVAL_MIN 50000000
#define TOP_STARTING_NS  50000000
#define TOP_STARTING     200
/* A collector that has not changed the page for so long has not survived its session. */
#define TOP_QUIET_NS INT64_C(2000000000)
/* The page is written all the time. */
#define TOP_WRITING 20

enum top_end { TOP_GOES_ON, TOP_QUIT, TOP_ENDED, TOP_GONE, TOP_REPLACED };

/* Whether there is still something to look at. */
static enum top_end top_check(struct gv_top *top)
{
    struct stat now;

    if (stat(top->view.path, &now) < 0)
        return TOP_GONE;
    if (top->identity.st_ino == 0)
        top->identity = now;
    if (now.st_dev != top->identity.st_dev || now.st_ino != top->identity.st_ino)
        return TOP_REPLACED;
    return gv_live_view_goes_on(&top->view, TOP_QUIET_NS) ? TOP_GOES_ON : TOP_ENDED;
}

/* The collector makes the page soon after it has begun. */
static int top_look(struct gv_top *top, bool patient, enum top_end *end)
{
    int error = gv_live_view_read(&top->view);

    for (int i = 0; i < TOP_STARTING && (error == -ENOENT || (error == -EAGAIN && i < TOP_WRITING));
         i++) {
        gv_pause_ns(TOP_STARTING_NS);
        error = gv_live_view_read(&top->view);
    }
    *end = error ? TOP_GOES_ON : top_check(top);
    if (!error)
        gv_top_name(top, patient);
    top->now_ns = gv_live_view_now_ns(&top->view);
    top->ended = *end == TOP_ENDED;
    return error;
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
        error = top_look(top, false, end);
        while (!error && *end == TOP_GOES_ON && event == GV_SCREEN_SIZE) {
            error = top_draw_screen(top);
            event = gv_screen_wait(next_ns);
            if (event == GV_SCREEN_HELP) {
                top->explains = !top->explains;
                event = GV_SCREEN_SIZE;
            }
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
        error = top_look(top, false, end);
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
    int error = top_look(top, true, end);

    if (!error && *end != TOP_GONE && *end != TOP_REPLACED)
        gv_top_draw(top, stdout, 0, (unsigned int)gv_terminal_columns(stdout));
    return error;
}

/* ---- the end ---- */

static int top_say(struct gv_top *top, enum top_end end)
{
    char text[GV_OFFER_BYTES];

    if (end == TOP_GONE)
        gv_message("%s was deleted", gv_shown_path(top->view.path));
    if (end == TOP_REPLACED)
        gv_message("%s is now another file", gv_shown_path(top->view.path));
    if (end == TOP_ENDED)
        printf("It has ended. %s says what cost time.\n",
               gv_offer_fill(text, sizeof(text), "gpuverify report FILE", top->view.path, false));
    return end == TOP_GONE || end == TOP_REPLACED ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

static int top_run(struct gv_top *top, bool once)
{
    enum top_end end = TOP_GOES_ON;
    int error;

    if (once)
        error = top_show_once(top, &end);
    else if (gv_screen_is_possible())
        error = top_show_screen(top, &end);
    else
        error = top_show_lines(top, &end);
    if (error) {
        gv_message("cannot read what the collector of %s says: %s", gv_shown_path(top->view.path),
                   strerror(-error));
        return GV_EXIT_FAILED;
    }
    if (!once && top->ended)
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
    int found = gv_live_view_open(&top->view, operand);
    code = found < 0   ? GV_EXIT_FAILED
           : found > 0 ? top_say(top, TOP_ENDED)
                       : top_run(top, gv_arguments_has(arguments, GV_OPTION_top_once));
    gv_live_view_close(&top->view);
    free(top);
    return code;
}
