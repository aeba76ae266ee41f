/* gpuverify metrics [FILE|PID]: serves OpenMetrics of a session while it runs, or of a finished
 * trace. */
#include "report/commands/commands.h"
#include "report/commands/control.h"
#include "report/commands/export/export.h"
#include "report/commands/metrics/follow.h"
#include "report/commands/metrics/http.h"
#include "report/commands/metrics/openmetrics.h"
#include "report/commands/offer.h"
#include "report/commands/trace_view.h"
#include "report/collect/sessions.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"
#include "report/store/trace_file.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define METRICS_TURN_MS 100
/* So that the last sums are asked for once more. */
#define METRICS_LAST_NS INT64_C(60000000000)
/* A collector that has not finished a trace by then will not. */
#define METRICS_UNFINISHED_NS INT64_C(600000000000)
/* A collector writes what the devices do several times a second. */
#define METRICS_WRITTEN_S 60
/* The part of the time in which it analyses. */
#define METRICS_LEISURE 4

#define METRICS_FINISHED 1 /* exit status of the child; others are those of struct metrics_step */
#define METRICS_FAILED   2

struct metrics {
    struct gv_http *http;
    char trace[PATH_MAX];
    char session[GV_SESSION_ID_BYTES];
    char folder[PATH_MAX], state[PATH_MAX]; /* of the sums */
    int64_t interval_ns;
    pid_t child;                         /* while it analyses */
    int64_t begun_ns, next_ns, ended_ns; /* of analyses; when the session was first seen to have
                                            ended, 0: it runs */
    bool finished, said;
};

static volatile sig_atomic_t metrics_interrupted;

static void metrics_interrupt(int signal)
{
    (void)signal;
    metrics_interrupted = 1;
}

/* Before anything that has to be removed. */
static void metrics_take_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, end = {.sa_handler = metrics_interrupt};

    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &end, NULL);
}

/* ---- the text ---- */

/* What `write` writes becomes the answer. */
static int metrics_answer(struct gv_http *http, sqlite3 *database,
                          int (*write)(sqlite3 *database, FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int error = out ? write(database, out) : -ENOMEM;

    if (out && fclose(out) != 0 && !error)
        error = -ENOMEM;
    if (!error)
        error = gv_http_set(http, text, bytes);
    free(text);
    return error;
}

static int metrics_answer_sums(struct metrics *metrics)
{
    sqlite3 *state = NULL;
    int error = gv_database_error(
        NULL, sqlite3_open_v2(metrics->state, &state, SQLITE_OPEN_READWRITE, NULL));

    if (!error)
        error = metrics_answer(metrics->http, state, gv_openmetrics_write);
    sqlite3_close(state);
    return error;
}

/* ---- analysing ---- */

static void metrics_run_child(struct metrics *metrics, pid_t server)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(METRICS_FAILED);
    gv_http_close(metrics->http);
    setpriority(PRIO_PROCESS, 0, 10);
    int error = gv_follow_step(metrics->trace, metrics->state);
    if (error == -ENOTSUP)
        gv_message("%s is written by another version of gpuverify", gv_shown_path(metrics->trace));
    else if (error < 0 && !metrics->said)
        gv_message("cannot read %s: %s; trying again", gv_shown_path(metrics->trace),
                   strerror(-error));
    _exit(error < 0 ? METRICS_FAILED : error > 0 ? METRICS_FINISHED : 0);
}

static void metrics_begin(struct metrics *metrics)
{
    const pid_t server = getpid();

    metrics->begun_ns = (int64_t)gv_monotonic_ns();
    metrics->child = fork();
    if (metrics->child == 0)
        metrics_run_child(metrics, server);
    if (metrics->child < 0) {
        metrics->child = 0;
        metrics->next_ns = metrics->begun_ns + metrics->interval_ns;
    }
}

static int metrics_look_at_child(struct metrics *metrics)
{
    int status = 0, error = 0;
    pid_t ended = waitpid(metrics->child, &status, WNOHANG);

    if (ended == 0 || (ended < 0 && errno == EINTR))
        return 0;
    int64_t took_ns = (int64_t)gv_monotonic_ns() - metrics->begun_ns;
    bool fine = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= METRICS_FINISHED;
    metrics->child = 0;
    metrics->next_ns = metrics->begun_ns + (took_ns * METRICS_LEISURE > metrics->interval_ns
                                                ? took_ns * METRICS_LEISURE
                                                : metrics->interval_ns);
    metrics->said = !fine; /* the next success is news again */
    if (fine)
        error = metrics_answer_sums(metrics);
    metrics->finished = metrics->finished || (fine && WEXITSTATUS(status) == METRICS_FINISHED);
    return error;
}

/* Whether more may come. In another container its processes cannot be seen, but the trace can. */
static bool metrics_goes_on(const struct metrics *metrics)
{
    struct stat status;
    uint32_t pid;
    uint64_t ticks;

    if (metrics->finished)
        return false;
    return (gv_session_id_parse(metrics->session, &pid, &ticks) == 0 &&
            gv_session_process_life(pid, ticks) == GV_SESSION_ALIVE) ||
           (stat(metrics->trace, &status) == 0 && time(NULL) - status.st_mtime < METRICS_WRITTEN_S);
}

/* Whether the last sums were there to be asked for. */
static bool metrics_is_over(struct metrics *metrics)
{
    const int64_t now_ns = (int64_t)gv_monotonic_ns();
    const int64_t last_ns = metrics->finished ? METRICS_LAST_NS : METRICS_UNFINISHED_NS;

    if (metrics_goes_on(metrics))
        metrics->ended_ns = 0;
    else if (!metrics->ended_ns)
        metrics->ended_ns = now_ns;
    return metrics->ended_ns && now_ns - metrics->ended_ns > last_ns;
}

static int metrics_follow(struct metrics *metrics)
{
    int error = 0;

    while (!error && !metrics_interrupted && !metrics_is_over(metrics)) {
        bool due = !metrics->finished && (int64_t)gv_monotonic_ns() >= metrics->next_ns;
        if (!metrics->child && due)
            metrics_begin(metrics);
        gv_http_serve(metrics->http, METRICS_TURN_MS);
        if (metrics->child)
            error = metrics_look_at_child(metrics);
    }
    if (metrics->child) {
        kill(metrics->child, SIGKILL);
        waitpid(metrics->child, NULL, 0);
    }
    return error;
}

static int metrics_follow_in_folder(struct metrics *metrics)
{
    const char *temporary = getenv("TMPDIR");
    char journal[PATH_MAX + 16];

    if ((size_t)snprintf(metrics->folder, sizeof(metrics->folder), "%s/gpuverify-metrics-XXXXXX",
                         temporary && *temporary ? temporary : "/tmp") +
            16 >
        sizeof(metrics->folder))
        return -ENAMETOOLONG;
    metrics_take_signals();
    if (!mkdtemp(metrics->folder))
        return -errno;
    snprintf(metrics->state, sizeof(metrics->state), "%.*s/sums.db",
             (int)sizeof(metrics->state) - 16, metrics->folder);
    int error = metrics_follow(metrics);
    snprintf(journal, sizeof(journal), "%s-journal", metrics->state);
    unlink(metrics->state);
    unlink(journal);
    rmdir(metrics->folder);
    return error;
}

/* ---- of what ---- */

/* The trace of a process, or one that is not written yet. */
static int metrics_find_session(struct metrics *metrics, const char *operand)
{
    struct gv_session_file *file = NULL;
    struct gv_control_target target;
    int error = gv_control_find(operand, &target);

    if (!error)
        error = gv_session_place_find(target.directory, target.session, &file);
    if (error) {
        gv_control_say(operand, target.is_pid, error);
        return error;
    }
    snprintf(metrics->trace, sizeof(metrics->trace), "%.*s", (int)sizeof(file->trace_path) - 1,
             file->trace_path);
    snprintf(metrics->session, sizeof(metrics->session), "%s", target.session);
    gv_session_place_unmap(file);
    return 0;
}

/* *complete: nothing is added to the trace any more. */
static int metrics_find(struct metrics *metrics, const char *operand, bool *complete)
{
    struct gv_trace_probe probe;
    int error;

    *complete = false;
    if (!realpath(operand, metrics->trace))
        return metrics_find_session(metrics, operand);
    error = gv_trace_file_probe(metrics->trace, &probe);
    if (error == -ENODATA) /* the collector has just made it */
        return metrics_find_session(metrics, operand);
    if (error) {
        gv_trace_open_say(operand, error);
        return error;
    }
    snprintf(metrics->session, sizeof(metrics->session), "%s", probe.session);
    *complete = probe.complete;
    return 0;
}

static int metrics_write_once(sqlite3 *trace, FILE *out)
{
    return gv_export_openmetrics(trace, NULL, out);
}

static int metrics_of_trace(sqlite3 *trace, void *context)
{
    struct metrics *metrics = context;

    return metrics_answer(metrics->http, trace, metrics_write_once);
}

static int metrics_of_finished(struct metrics *metrics)
{
    int code = gv_trace_view_read_older(metrics->trace, metrics_of_trace, metrics);

    metrics_take_signals();
    while (code == GV_EXIT_FINE && !metrics_interrupted)
        gv_http_serve(metrics->http, METRICS_TURN_MS);
    return code;
}

/* ---- the command ---- */

static int metrics_listen(struct metrics *metrics, const struct gv_arguments *arguments)
{
    const char *address = gv_arguments_text(arguments, GV_OPTION_metrics_listen, "[::1]:9400");
    char own[64];
    int error = gv_http_open(address, &metrics->http);

    /* A container may have no IPv6. */
    if ((error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT) &&
        !gv_arguments_has(arguments, GV_OPTION_metrics_listen))
        error = gv_http_open(address = "127.0.0.1:9400", &metrics->http);
    if (error == -EINVAL)
        return gv_arguments_refuse(arguments->command,
                                   "--listen needs an IP address and a port, such as [::1]:9400 or"
                                   " 127.0.0.1:9400, not '%s'",
                                   address);
    if (error) {
        gv_message("cannot listen at %s: %s", address, strerror(-error));
        return GV_EXIT_FAILED;
    }
    gv_http_address(metrics->http, own, sizeof(own));
    gv_message_result("metrics of %s at http://%s/metrics", gv_shown_path(metrics->trace), own);
    (void)fflush(stdout);
    return GV_EXIT_FINE;
}

static int metrics_run(struct metrics *metrics, const struct gv_arguments *arguments,
                       const char *operand)
{
    bool complete;

    if (metrics_find(metrics, operand, &complete))
        return GV_EXIT_FAILED;
    int code = metrics_listen(metrics, arguments);
    if (code != GV_EXIT_FINE)
        return code;
    if (complete)
        return metrics_of_finished(metrics);
    int error = metrics_follow_in_folder(metrics);
    if (error)
        gv_message("cannot keep the sums in %s: %s", metrics->folder, strerror(-error));
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

int gv_command_metrics(const struct gv_arguments *arguments)
{
    const int64_t second = 1000000000;
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    int code = GV_EXIT_FAILED;

    if (!metrics)
        return code;
    metrics->interval_ns = gv_arguments_number(arguments, GV_OPTION_metrics_interval, 10 * second);
    const char *operand = arguments->operands[0];
    if (metrics->interval_ns < second || metrics->interval_ns > 600 * second)
        code = gv_arguments_refuse(arguments->command, "--interval must be 1s to 10min");
    else if ((operand = gv_offer_choose(arguments->command, operand, &code)))
        code = metrics_run(metrics, arguments, operand);
    gv_http_close(metrics->http);
    free(metrics);
    return code;
}
