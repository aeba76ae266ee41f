/* gpuverify metrics [FILE|PID]: serves OpenMetrics of a session while it runs, or of a finished
 * trace. */
#include "report/commands/commands.h"
#include "report/commands/export/export.h"
#include "report/commands/live_view.h"
#include "report/commands/metrics/metrics.h"
#include "report/commands/offer.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "trace/futex.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_TURN_MS  100
#define METRICS_FIRST_NS INT64_C(1000000000)
/* So that the last sums are asked for once more. */
#define METRICS_LAST_NS INT64_C(60000000000)
/* A collector that has not finished a trace by then will not. */
#define METRICS_UNFINISHED_NS INT64_C(600000000000)
/* A collector writes the page several times a second. */
#define METRICS_WRITTEN_NS INT64_C(60000000000)

struct metrics {
    struct gv_http *http;
    struct gv_live_view view;
    int64_t interval_ns, next_ns;
    int64_t ended_ns; /* when the session was first seen to have ended; 0: it runs */
};

static volatile sig_atomic_t metrics_interrupted;

static void metrics_interrupt(int signal)
{
    (void)signal;
    metrics_interrupted = 1;
}

static void metrics_take_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, end = {.sa_handler = metrics_interrupt};

    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &end, NULL);
}

/* ---- the text ---- */

/* Of the page, or of a finished trace: it becomes the answer. */
static int metrics_answer(struct metrics *metrics, sqlite3 *trace)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int error = out ? 0 : -ENOMEM;

    if (!error && trace)
        error = gv_export_openmetrics(trace, NULL, out);
    else if (!error)
        gv_openmetrics_write(metrics->view.page.rows, metrics->view.page.count, out);
    if (out && fclose(out) != 0 && !error)
        error = -ENOMEM;
    if (!error)
        error = gv_http_set(metrics->http, text, bytes);
    free(text);
    return error;
}

/* ---- a session that runs ---- */

/* A program that has just started has no sums yet. */
static int metrics_read(struct metrics *metrics)
{
    bool is_there = gv_live_view_read(&metrics->view) == 0;

    metrics->next_ns =
        (int64_t)gv_monotonic_ns() + (is_there ? metrics->interval_ns : METRICS_FIRST_NS);
    return is_there ? metrics_answer(metrics, NULL) : 0;
}

/* Whether the last sums were there to be asked for. */
static bool metrics_is_over(struct metrics *metrics)
{
    const int64_t now_ns = (int64_t)gv_monotonic_ns();
    const int64_t last_ns = metrics->view.page.ended ? METRICS_LAST_NS : METRICS_UNFINISHED_NS;

    if (gv_live_view_goes_on(&metrics->view, METRICS_WRITTEN_NS))
        metrics->ended_ns = 0;
    else if (!metrics->ended_ns)
        metrics->ended_ns = now_ns;
    return metrics->ended_ns && now_ns - metrics->ended_ns > last_ns;
}

static int metrics_follow(struct metrics *metrics)
{
    int error = 0;

    metrics_take_signals();
    while (!error && !metrics_interrupted && !metrics_is_over(metrics)) {
        if ((int64_t)gv_monotonic_ns() >= metrics->next_ns)
            error = metrics_read(metrics);
        gv_http_serve(metrics->http, METRICS_TURN_MS);
    }
    return error;
}

/* ---- a finished trace ---- */

static int metrics_of_trace(sqlite3 *trace, void *context)
{
    return metrics_answer(context, trace);
}

static int metrics_of_finished(struct metrics *metrics)
{
    int code = gv_trace_view_read_older(metrics->view.path, metrics_of_trace, metrics);

    metrics_take_signals();
    while (code == GV_EXIT_FINE && !metrics_interrupted)
        gv_http_serve(metrics->http, METRICS_TURN_MS);
    return code;
}

/* ---- the command ---- */

static int metrics_listen(struct metrics *metrics, const struct gv_arguments *arguments)
{
    const char *address = gv_arguments_text(arguments, GV_OPTION_metrics_listen, NULL);
    char own[64];
    int error = gv_http_open(address, &metrics->http);

    if (error == -EINVAL)
        return gv_arguments_refuse(arguments->command,
                                   "--listen needs an IP address and a port, such as "
                                   "[::1]:" GV_HTTP_PORT " or 127.0.0.1:" GV_HTTP_PORT ", not '%s'",
                                   address);
    if (error) {
        gv_message("cannot listen at %s: %s", address ? address : "localhost:" GV_HTTP_PORT,
                   strerror(-error));
        return GV_EXIT_FAILED;
    }
    gv_http_address(metrics->http, own, sizeof(own));
    gv_message_result("metrics of %s at http://%s/metrics", gv_shown_path(metrics->view.path), own);
    (void)fflush(stdout);
    return GV_EXIT_FINE;
}

static int metrics_run(struct metrics *metrics, const struct gv_arguments *arguments,
                       const char *operand)
{
    int found = gv_live_view_open(&metrics->view, operand);

    if (found < 0)
        return GV_EXIT_FAILED;
    int code = metrics_listen(metrics, arguments);
    if (code != GV_EXIT_FINE)
        return code;
    if (found > 0)
        return metrics_of_finished(metrics);
    int error = metrics_follow(metrics);
    if (error)
        gv_message("cannot serve the metrics: %s", strerror(-error));
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

int gv_command_metrics(const struct gv_arguments *arguments)
{
    const int64_t second = 1000000000;
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    int code = GV_EXIT_FAILED;

    if (!metrics)
        return code;
    metrics->view.fd = -1;
    metrics->interval_ns = gv_arguments_number(arguments, GV_OPTION_metrics_interval, 10 * second);
    const char *operand = arguments->operands[0];
    if (metrics->interval_ns < second || metrics->interval_ns > 600 * second)
        code = gv_arguments_refuse(arguments->command, "--interval must be 1s to 10min");
    else if ((operand = gv_offer_choose(arguments->command, operand, &code)))
        code = metrics_run(metrics, arguments, operand);
    gv_live_view_close(&metrics->view);
    gv_http_close(metrics->http);
    free(metrics);
    return code;
}
