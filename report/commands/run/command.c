/* gpuverify run: runs a program with the library, then prints the summary. */
#include "report/commands/commands.h"

#include "report/collect/left_sessions.h"
#include "report/collect/recovery.h"
#include "report/collect/session_watch.h"
#include "report/collect/sessions.h"
#include "report/commands/export/export.h"
#include "report/commands/program_path.h"
#include "report/commands/report/report.h"
#include "report/commands/run/environment.h"
#include "report/commands/trace_open.h"
#include "report/commands/trace_view.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/show/terminal.h"
#include "report/store/trace_file.h"
#include "trace/program_name.h"
#include "trace/session_id.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GV_EXIT_NOT_EXECUTABLE 126
#define GV_EXIT_NOT_FOUND      127
/* Milliseconds between looks for the session file of a running program. */
#define GV_RUN_LOOK_MS      100
#define GV_RUN_COLLECTOR_MS 30000

static volatile sig_atomic_t run_child;

/* A signal meant for the program that reached only us. */
static void run_pass_on(int number)
{
    if (run_child > 0)
        kill((pid_t)run_child, number);
}

/* The terminal's keys reach the program directly: it is in the same process group. `docker stop`,
 * or an init process that passes it on, reaches only us. */
static void run_pass_on_unless_key(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL && (getpid() == 1 || getppid() == 1))
        run_pass_on(number);
}

static void run_set_signals(void)
{
    static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction pass = {.sa_handler = run_pass_on, .sa_flags = SA_RESTART};
    struct sigaction pass_unless_key = {.sa_sigaction = run_pass_on_unless_key,
                                        .sa_flags = SA_SIGINFO | SA_RESTART};

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        struct sigaction old;
        if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(passed[i], &pass, NULL);
    }
    sigaction(SIGINT, &pass_unless_key, NULL);
    sigaction(SIGQUIT, &pass_unless_key, NULL);
}

/* In the child. The program itself is the session's root. */
static void run_become(char **argv, uint32_t random, int report_fd, const sigset_t *mask)
{
    char session[GV_SESSION_ID_BYTES];
    uint64_t ticks = 0;
    int error = -gv_session_read_start_ticks((uint32_t)getpid(), &ticks);

    if (!error) {
        gv_session_id_write(session, (uint32_t)getpid(), ticks, random);
        error = setenv("GPUVERIFY_SESSION", session, 1) < 0 ? errno : 0;
    }
    if (!error) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(argv[0], argv);
        error = errno;
    }
    ssize_t sent = write(report_fd, &error, sizeof(error));
    _exit(sent == (ssize_t)sizeof(error) ? GV_EXIT_NOT_FOUND : GV_EXIT_FAILED);
}

/* Starts the program. 0, or -errno of any failure, also in the child. */
static int run_start(char **argv, char session[GV_SESSION_ID_BYTES])
{
    uint32_t random = gv_session_random();
    uint64_t ticks = 0;
    int ends[2], error = 0;
    sigset_t all, mask;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    /* A signal that comes before the program exists waits until then. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t child = fork();
    if (child == 0)
        run_become(argv, random, ends[1], &mask);
    if (child < 0)
        error = errno;
    close(ends[1]);
    run_child = child;
    run_set_signals();
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (child > 0) {
        int unread = gv_session_read_start_ticks((uint32_t)child, &ticks);
        if (unread)
            kill(child, SIGKILL); /* its session would not be found */
        gv_session_id_write(session, (uint32_t)child, ticks, random);
        ssize_t got;
        do
            got = read(ends[0], &error, sizeof(error));
        while (got < 0 && errno == EINTR);
        error = error ? error : -unread;
        if (error)
            waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return -error;
}

/* Waits for the program's end, but does not reap it yet: its session is read first. */
static int run_wait(struct gv_session_watch *watch)
{
    struct timespec step = {.tv_nsec = GV_RUN_LOOK_MS * 1000000};
    siginfo_t info;
    int status;

    for (;;) {
        memset(&info, 0, sizeof(info));
        bool known = gv_session_watch_look(watch);
        int flags = WEXITED | WNOWAIT | (known ? 0 : WNOHANG);
        if (waitid(P_PID, (id_t)run_child, &info, flags) < 0 && errno != EINTR)
            return -errno;
        if (info.si_pid != 0)
            break;
        if (!known)
            nanosleep(&step, NULL);
    }
    gv_session_watch_look(watch);
    /* While the program is a zombie, its collector keeps the session open for a while. */
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
        gv_session_watch_tell_signal(watch, info.si_status);
    if (waitpid((pid_t)run_child, &status, 0) < 0)
        return -errno;
    run_child = 0;
    return status;
}

/* The page's name: that of the trace, with .html for .db. */
static int run_write_page(sqlite3 *trace, const char *path, bool quiet)
{
    char page[GV_SESSION_PATH_BYTES + 8], word[GV_SHELL_WORD_BYTES];
    size_t length = strlen(path) - (gv_format_ends_in(path, ".db") ? strlen(".db") : 0);
    int code;

    snprintf(page, sizeof(page), "%.*s.html", (int)length, path);
    code = gv_export_page(trace, path, page);
    if (code == GV_EXIT_FINE && !quiet)
        fprintf(stderr, "  page: %s\n", gv_shown_word(word, page));
    return code;
}

struct run_told {
    struct gv_report report;
    bool quiet, page;
    int64_t ranks; /* of its job; 0: it is of none */
};

static int run_print_summary(sqlite3 *trace, void *context)
{
    struct run_told *told = context;
    int error = 0;

    told->report.trace = trace;
    if (!told->quiet) {
        fputc('\n', stderr);
        error = gv_report_write(&told->report);
        if (told->ranks)
            fprintf(stderr,
                    "  This is rank 0 of %lld. The others print nothing; gpuverify merge joins the "
                    "traces.\n",
                    (long long)told->ranks);
    }
    return !error && told->page ? run_write_page(trace, told->report.path, told->quiet) : error;
}

/* The trace's default name: train for python3 train.py. */
static void run_name(char **program, char *name, size_t size)
{
    char arguments[PATH_MAX];
    size_t bytes = 0;

    for (; *program && bytes + strlen(*program) < sizeof(arguments); program++) {
        strcpy(arguments + bytes, *program);
        bytes += strlen(*program) + 1;
    }
    gv_program_name(arguments, bytes, name, size);
}

static void run_summary(struct gv_session_watch *watch, const struct gv_arguments *arguments,
                        int note, int64_t pid, int status)
{
    static char text[32 << 10];
    char path[GV_SESSION_PATH_BYTES], name[256];
    char **program = arguments->operands;
    struct run_told *told;
    int64_t rank = 0, ranks = 0;
    bool is_of_job = gv_run_rank(&rank, &ranks);

    /* The ranks of a job end together, and share a terminal: each summary is written at once. */
    setvbuf(stderr, text, _IOFBF, sizeof(text));
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    int error = gv_session_watch_trace(watch, path, sizeof(path));
    if (error == -ENODATA && rank > 0)
        return;
    if (error == -ENODATA) {
        fputc('\n', stderr);
        run_name(program, name, sizeof(name));
        gv_no_trace_print(stderr, name, program[0], gv_run_note_read(note, status),
                          gv_terminal_columns(stderr));
        return;
    }
    if (error) {
        gv_message("the trace could not be written: %s",
                   error == -GV_SESSION_UNWANTED ? "it was deleted meanwhile"
                   : error == -ESTALE            ? "it was moved or emptied"
                                                 : strerror(-error));
        return;
    }
    told = calloc(1, sizeof(*told));
    if (!told)
        return;
    told->page = gv_arguments_has(arguments, GV_OPTION_run_html);
    /* One summary of a job is enough. */
    told->quiet = gv_arguments_has(arguments, GV_OPTION_run_quiet) || rank > 0;
    told->ranks = is_of_job ? ranks : 0;
    struct gv_report *report = &told->report;
    report->path = path;
    report->out = stderr;
    report->columns = gv_terminal_columns(stderr);
    report->part = GV_TOTALS_ALL;
    report->ended = (struct gv_ended){pid, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    report->wanted[GV_SECTION_findings] = true;
    if (!told->quiet || told->page)
        gv_trace_view_read_older(path, run_print_summary, told);
    free(told);
}

/* The first process of a container takes the collector with it. A trace that was complete gets what
 * the program did after its end was stored. */
static void run_await_collector(const struct gv_session_watch *watch)
{
    struct gv_recovery recovery;

    for (int waited_ms = 0;
         getpid() == 1 && watch->file && waited_ms < GV_RUN_COLLECTOR_MS &&
         gv_recovery_run(watch->directory, watch->session, NULL, &recovery) == -EBUSY &&
         !gv_trace_open_any_lives(watch->file->trace_path, watch->session);
         waited_ms += GV_RUN_LOOK_MS)
        usleep(GV_RUN_LOOK_MS * 1000);
}

/* Ends in the same way as the program. */
static int run_end(int status)
{
    struct rlimit none = {0, 0};

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

/* Check before the program starts: it is better to know now that the trace cannot be written. A
 * pattern in the folder's name is left to the program. */
static int run_check_place(const char *trace)
{
    char folder[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(trace, '/');
    int length = slash ? (int)(slash - trace) + 1 : 1;

    if ((size_t)snprintf(folder, sizeof(folder), "%.*s", length, slash ? trace : ".") >=
        sizeof(folder))
        return -ENAMETOOLONG;
    if (!trace[0])
        return -ENOENT;
    if (strlen(slash ? slash + 1 : trace) > NAME_MAX - strlen("-journal")) /* SQLite's */
        return -ENAMETOOLONG;
    if (stat(trace, &status) == 0 && !S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -ENOTSUP;
    if (access(folder, W_OK | X_OK) == 0 || (errno == ENOENT && strchr(folder, '%')))
        return 0;
    return -errno;
}

/* One that cannot takes no earlier trace away. */
static bool run_can_start(const char *program)
{
    char path[PATH_MAX];
    struct stat status;

    return gv_program_find(program, path) == 0 && access(path, X_OK) == 0 &&
           stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Never overwrites a file that is not a trace; the summary names the file written. Removes an
 * earlier run's trace now: this run may leave none, and the old one would be mistaken for its
 * own. */
static void run_check_file(const char *trace)
{
    struct gv_trace_probe probe;
    int error = gv_trace_file_probe(trace, &probe);

    if (error == -EPROTO)
        gv_message("%s is not a gpuverify trace, so it is kept; the trace gets another name",
                   gv_shown_path(trace));
    else if (error == -EUCLEAN || error == -EMEDIUMTYPE)
        gv_message(
            "%s is a damaged trace, or its journal is not a regular file: it is kept, and the"
            " trace gets another name",
            gv_shown_path(trace));
    else if (error == 0 && gv_trace_file_drop(trace) < 0)
        gv_message(
            "%s is kept: another run still writes it, or it cannot be removed; the trace gets"
            " another name",
            gv_shown_path(trace));
}

/* Only CUPTI's records tell the nodes of a graph apart. */
static void run_check_graphs(const struct gv_arguments *arguments)
{
    const char *option = gv_arguments_text(arguments, GV_OPTION_run_graphs, NULL);
    const char *graphs = option ? option : getenv("GPUVERIFY_GRAPHS");
    const char *gpu = getenv("GPUVERIFY_GPU");

    if (graphs && strcmp(graphs, "nodes") == 0 && gpu &&
        (strcmp(gpu, "sampled") == 0 || strcmp(gpu, "off") == 0))
        gv_message("%s has no effect with GPUVERIFY_GPU=%s",
                   option ? "--graphs nodes" : "GPUVERIFY_GRAPHS=nodes", gpu);
}

/* Before the program starts, which may need that memory. */
static void run_tell_left_sessions(void)
{
    char directory[GV_SESSION_PATH_BYTES], size[GV_FORMAT_BYTES];
    struct gv_left_sessions left;

    gv_session_place_default(directory, sizeof(directory));
    if (gv_left_sessions_find(directory, &left) == 0 && left.count > 0)
        gv_message("sessions left in shared memory: %zu, %s; gpuverify recover stores them, "
                   "gpuverify recover --discard removes them",
                   left.count, gv_format_size(size, left.bytes));
}

int gv_command_run(const struct gv_arguments *arguments)
{
    const char *wanted = gv_arguments_text(arguments, GV_OPTION_run_output, NULL);
    const char *pattern = getenv("GPUVERIFY_TRACE");
    const char *place = wanted ? wanted : pattern && pattern[0] ? pattern : NULL;
    char **program = arguments->operands;
    char library[PATH_MAX], session[GV_SESSION_ID_BYTES];
    struct gv_session_watch watch;
    int error;

    error = place ? run_check_place(place) : 0;
    if (error) {
        gv_message("cannot write %s: %s%s", place[0] ? gv_shown_path(place) : "''",
                   strerror(-error),
                   error != -EISDIR ? ""
                   : wanted         ? "; -o takes a file"
                                    : "; GPUVERIFY_TRACE takes a file");
        return GV_EXIT_FAILED;
    }
    if (gv_run_find_library(library, sizeof(library)))
        return GV_EXIT_FAILED;
    if (wanted && run_can_start(program[0]))
        run_check_file(wanted);
    run_tell_left_sessions();
    error = gv_run_set_environment(library, wanted);
    if (!error)
        error = gv_run_set_options(arguments);
    run_check_graphs(arguments);
    int note = gv_run_note_open();
    if (!error)
        error = run_start(program, session);
    if (error) {
        gv_message("cannot run %s: %s%s", program[0], strerror(-error),
                   error == -ENOENT && access(program[0], F_OK) == 0
                       ? ": a file of this folder is ./NAME, or an argument of python3"
                       : "");
        return error == -ENOENT ? GV_EXIT_NOT_FOUND : GV_EXIT_NOT_EXECUTABLE;
    }
    /* A trace that reaches a limit of file sizes gets a message; this command goes on waiting. */
    (void)signal(SIGXFSZ, SIG_IGN);
    gv_session_watch_start(&watch, session);
    int64_t pid = run_child;
    int status = run_wait(&watch);
    if (status < 0) {
        gv_message("cannot wait for %s: %s", program[0], strerror(-status));
        return GV_EXIT_FAILED;
    }
    run_summary(&watch, arguments, note, pid, status);
    (void)fflush(stderr); /* the end may be by a signal */
    run_await_collector(&watch);
    gv_session_watch_end(&watch);
    return run_end(status);
}
