#include "report/analyse/idle/looks.h"

#include "report/analyse/idle/where_words.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/show/format.h"
#include "report/store/time_sum.h"
#include "report/analyse_idle_looks.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define GV_IDLE_TEXT_BYTES 512

/* Frames, or a call, do not say what a thread does. */
#define NOTHING GV_ACCOUNTS

/* What looks say, by account, detail and line; the number of one is its index. Number 0: nothing.
 */
struct verdict {
    enum gv_account what;
    char *detail;           /* NULL: none */
    int64_t stack, process; /* stack: the first with this line; 0: none */
    size_t workers;         /* whom it waits for: the first of its list, + 1 */
    enum gv_account beside; /* what the one does that was seen most; NOTHING: not known */
    int64_t looks;          /* at workers with a line, */
    int64_t starved;        /* which waited for a CPU so often, */
    int64_t pinned;         /* on some of the CPUs only, */
    int64_t importing;      /* and were being started so often */
    int64_t at_ns;          /* of the newest of these, */
    int at_once;            /* how many were at that time, */
    int most;               /* and at any time */
    int times;              /* how often its workers were started */
    struct gv_idle_lock lock;
    struct gv_idle_cpus cpus; /* of native code; else of the worker that was seen most */
    int threads;              /* of that worker: how many took turns */
};

/* How often a line was seen in the workers of a data loader, or in threads beside the one that
 * waits. */
struct worker {
    size_t next; /* + 1 */
    uint32_t line;
    enum gv_account what;
    bool is_starved, is_pinned, is_importing;
    int64_t stack, count;
    int32_t threads[GV_IDLE_THREADS_MOST]; /* their tids */
    int thread_count, last;                /* of threads; the one that was seen last */
    uint32_t came_back;                    /* a bit for each that was seen again after another */
    struct gv_idle_cpus cpus;
};

/* A worker process of a data loader, when it was seen, and whether it had been started by then. */
struct loader {
    int64_t process, pid, first_ns, last_ns;
    bool works;
};

struct sample {
    int64_t at_ns, thread;
    uint32_t verdict;
    int64_t stack; /* that the verdict is about; 0: the verdict's */
};

/* What is known of a stack of a look. */
struct known_stack {
    enum gv_account what; /* of its frames */
    uint32_t line;        /* number of a text; 0: none */
    bool waits;           /* in Python, for another thread of Python's */
};

struct gv_idle_looks {
    sqlite3 *trace;
    sqlite3_stmt *frames, *line, *thread_name, *some;
    bool aarch64;               /* the machine that recorded */
    struct known_stack *stacks; /* by id, + 1 in stack_numbers */
    size_t stack_count, stack_room;
    char **lines; /* by number - 1 */
    size_t line_count, line_room;
    struct verdict *verdicts;
    size_t verdict_count, verdict_room;
    struct worker *workers;
    size_t worker_count, worker_room;
    struct loader *loaders;
    size_t loader_count, loader_room;
    struct gv_key_map stack_numbers, line_numbers, verdict_numbers;
    int64_t cpus_process;   /* this one is pinned to */
    char cpus[64];          /* "2 of 16 CPUs", as are its children unless they change it */
    int64_t ready_thread;   /* the last one that was ready, */
    double owed;            /* and how many more of its looks than said so were without a CPU */
    struct sample *samples; /* by thread, then by time */
    size_t sample_count, sample_room;
};

/* The columns of a sample. */
enum idle_sample_column {
    IDLE_THREAD,
    IDLE_AT,
    IDLE_PROCESS,
    IDLE_ABOUT,
    IDLE_STATE,
    IDLE_SYSTEM_CALL,
    IDLE_TARGET,
    IDLE_SIGNS,
    IDLE_OTHER,
    IDLE_STACK,
    IDLE_OTHER_STACK,
    IDLE_DELAY,
    IDLE_CPU,
    IDLE_TEXT,
    IDLE_SPAN,
    IDLE_PROCESS_CPU,
    IDLE_CPUS,
    IDLE_IS_OWN, /* the thread has the lock that GV_IDLE_LOCK tells of */
};

/* ---- texts and stacks, by number ---- */

/* The number of a line, whatever function it is in: a comprehension is one of its own; 0 if it is
 * empty. */
static int line_number(struct gv_idle_looks *looks, const char *text, uint32_t *number)
{
    size_t length = gv_idle_line_bytes(text);
    const struct gv_key key = {{gv_mix_bytes(0, text, length), length, 0}};
    int64_t known = gv_key_map_find(&looks->line_numbers, &key);
    int error;

    *number = (uint32_t)known;
    if (known || !*text)
        return 0;
    error =
        gv_array_room(&looks->lines, looks->line_count, &looks->line_room, sizeof(*looks->lines));
    if (error)
        return error;
    looks->lines[looks->line_count] = strdup(text);
    if (!looks->lines[looks->line_count])
        return -ENOMEM;
    *number = (uint32_t)++looks->line_count;
    return gv_key_map_add(&looks->line_numbers, &key, *number);
}

static enum gv_account frame_account(const char *function, const char *file)
{
    static const struct {
        enum gv_account what;
        const char *file, *function;
    } frames[] = {
#define GV_IDLE_FRAME(account, file, function) {GV_ACCOUNT_##account, file, function},
#include "report/analyse/idle/frames.def"
    };

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (sqlite3_strglob(frames[i].file, file) == 0 &&
            sqlite3_strglob(frames[i].function, function) == 0)
            return frames[i].what;
    return NOTHING;
}

/* What the program's own line asked for: the outermost below it. Compiling imports and collects
 * garbage, too. Without an account there, the innermost above. */
static int read_account(sqlite3_stmt *frames, int64_t id, enum gv_account *what, bool *waits)
{
    bool has_own = false, is_first = true;
    int result;

    *what = NOTHING;
    sqlite3_bind_int64(frames, 1, id);
    while ((result = sqlite3_step(frames)) == SQLITE_ROW) {
        const char *function = (const char *)sqlite3_column_text(frames, 0);
        const char *file = (const char *)sqlite3_column_text(frames, 1);
        enum gv_account of = frame_account(function ? function : "", file ? file : "");
        if (sqlite3_column_int(frames, 3) && is_first) {
            *waits = file && (sqlite3_strglob("*/threading.py", file) == 0 ||
                              sqlite3_strglob("*/queue.py", file) == 0);
            is_first = false;
        }
        if (of != NOTHING && (*what == NOTHING || !has_own))
            *what = of;
        has_own |= sqlite3_column_int(frames, 2) != 0;
    }
    sqlite3_reset(frames);
    return gv_database_error(sqlite3_db_handle(frames), result);
}

int gv_idle_frames_prepare(sqlite3 *trace, sqlite3_stmt **frames)
{
    return gv_database_compile(trace, sql_frames, frames);
}

int gv_idle_stack_account(sqlite3_stmt *frames, int64_t id, unsigned *what)
{
    bool waits;

    return read_account(frames, id, what, &waits);
}

static int stack_read(struct gv_idle_looks *looks, int64_t id, struct known_stack *stack)
{
    char line[GV_IDLE_TEXT_BYTES] = "";
    int error;

    *stack = (struct known_stack){.what = NOTHING};
    error = read_account(looks->frames, id, &stack->what, &stack->waits);
    if (!error)
        error = gv_stack_line(looks->line, id, line, sizeof(line));
    return error ? error : line_number(looks, line, &stack->line);
}

static int stack_of(struct gv_idle_looks *looks, int64_t id, struct known_stack *stack)
{
    const struct gv_key key = {{(uint64_t)id, 0, 0}};
    int64_t known = gv_key_map_find(&looks->stack_numbers, &key);
    int error = 0;

    *stack = (struct known_stack){.what = NOTHING};
    if (id == 0)
        return 0;
    if (!known) {
        error = gv_array_room(&looks->stacks, looks->stack_count, &looks->stack_room,
                              sizeof(*looks->stacks));
        if (!error)
            error = stack_read(looks, id, &looks->stacks[looks->stack_count]);
        if (!error)
            error =
                gv_key_map_add(&looks->stack_numbers, &key, known = (int64_t)++looks->stack_count);
    }
    if (!error)
        *stack = looks->stacks[known - 1];
    return error;
}

/* ---- one sample ---- */

static bool is_compiler(const char *command)
{
    static const char *const commands[] = {
#define GV_IDLE_COMMAND(name) name,
#include "report/analyse/idle/commands.def"
    };

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (sqlite3_strglob(commands[i], command) == 0)
            return true;
    return false;
}

/* NOTHING: the call does not say. */
static enum gv_account call_account(const struct gv_idle_looks *looks, int64_t number, int target)
{
    static const struct {
        int numbers[2];
        enum gv_account what;
    } calls[] = {
#define GV_IDLE_SYSTEM_CALL(name, x86_64, aarch64, account)                                        \
    {{x86_64, aarch64}, GV_ACCOUNT_##account},
#include "report/analyse/idle/system_calls.def"
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && number >= 0; i++) {
        if (calls[i].numbers[looks->aarch64] != number)
            continue;
        switch (target) {
        case GV_IDLE_TARGET_FILE:
        case GV_IDLE_TARGET_TERMINAL:
            return GV_ACCOUNT_IO;
        case GV_IDLE_TARGET_PIPE:
            return GV_ACCOUNT_CHILD;
        case GV_IDLE_TARGET_SOCKET:
        case GV_IDLE_TARGET_NETWORK:
            return calls[i].what == GV_ACCOUNT_NO_REQUEST || calls[i].what == GV_ACCOUNT_SLEEP
                       ? GV_ACCOUNT_NO_REQUEST
                       : GV_ACCOUNT_NETWORK;
        case GV_IDLE_TARGET_OTHER:
            return calls[i].what == GV_ACCOUNT_IO ? GV_ACCOUNT_THREAD_LOCK : calls[i].what;
        default:
            return calls[i].what;
        }
    }
    return NOTHING;
}

/* Whether a running thread ran Python, or native code that Python called with the GIL held. */
static bool is_python(int signs)
{
    return (signs & GV_IDLE_KNOWS_GIL) ? signs & GV_IDLE_HAS_GIL : signs & GV_IDLE_IN_PYTHON;
}

/* Of the time in which it was ready, whoever the look is at had no CPU for longer than it had one.
 */
static bool has_no_cpu(sqlite3_stmt *row)
{
    return gv_time_column_duration(row, IDLE_DELAY) > gv_time_column_duration(row, IDLE_CPU);
}

/* Of a thread's looks so many say so as is its share of that time. */
static bool is_descheduled(struct gv_idle_looks *looks, sqlite3_stmt *row, char state)
{
    double delay_ns = (double)gv_time_column_duration(row, IDLE_DELAY);
    double ready_ns = delay_ns + (double)gv_time_column_duration(row, IDLE_CPU);
    int64_t thread = sqlite3_column_int64(row, IDLE_THREAD);

    if (state != 'R' || ready_ns <= 0 || sqlite3_column_int(row, IDLE_ABOUT) == GV_IDLE_BESIDE)
        return false;
    if (looks->ready_thread != thread)
        looks->owed = 0;
    looks->ready_thread = thread;
    /* Who wakes up waits a little, too, though it may be in a call. */
    looks->owed += 4 * delay_ns >= ready_ns ? delay_ns / ready_ns : 0;
    if (4 * delay_ns < ready_ns || looks->owed < 0.5)
        return false;
    looks->owed--;
    return true;
}

/* Ready at this look, but since the last one it has not run. If it waited for a CPU, it still does:
 * the kernel counts a wait when it is over. */
static bool did_not_run(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, IDLE_CPU) != SQLITE_NULL &&
           gv_time_column_duration(row, IDLE_CPU) + gv_time_column_duration(row, IDLE_DELAY) == 0;
}

static bool is_running(enum gv_account what)
{
    return what == GV_ACCOUNT_PYTHON || what == GV_ACCOUNT_NATIVE;
}

static int64_t call_of(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, IDLE_SYSTEM_CALL) == SQLITE_NULL
               ? -1
               : sqlite3_column_int64(row, IDLE_SYSTEM_CALL);
}

/* By the system call that it is in, or how it runs. */
static enum gv_account state_account(const struct gv_idle_looks *looks, sqlite3_stmt *row,
                                     char state)
{
    enum gv_account what = call_account(looks, call_of(row), sqlite3_column_int(row, IDLE_TARGET));

    if (what != NOTHING)
        return what;
    if (state == 'R')
        return is_python(sqlite3_column_int(row, IDLE_SIGNS)) ? GV_ACCOUNT_PYTHON
                                                              : GV_ACCOUNT_NATIVE;
    return state == 'D' ? GV_ACCOUNT_IO : GV_ACCOUNT_UNKNOWN;
}

/* What a thread beside this one does, for which it may wait. NOTHING: it waits, too. */
static enum gv_account beside_account(const struct gv_idle_looks *looks, sqlite3_stmt *row,
                                      const struct known_stack *other)
{
    const char *states = (const char *)sqlite3_column_text(row, IDLE_STATE);
    enum gv_account what =
        other->what != NOTHING ? other->what : state_account(looks, row, states ? states[0] : '\0');

    switch (what) {
    case GV_ACCOUNT_NO_REQUEST:
    case GV_ACCOUNT_THREAD_LOCK:
    case GV_ACCOUNT_UNKNOWN:
        return NOTHING;
    default:
        return what;
    }
}

/* While a child works. A TCP connection may lead to it, but takes its own time; whoever polls one
 * is its client, unless the call is one of servers. */
static enum gv_account child_account(const struct gv_idle_looks *looks, sqlite3_stmt *row,
                                     const struct known_stack *other)
{
    const char *command = (const char *)sqlite3_column_text(row, IDLE_TEXT);

    if (sqlite3_column_int(row, IDLE_TARGET) == GV_IDLE_TARGET_NETWORK)
        return call_account(looks, call_of(row), GV_IDLE_TARGET_NONE) == GV_ACCOUNT_NO_REQUEST
                   ? GV_ACCOUNT_NO_REQUEST
                   : GV_ACCOUNT_NETWORK;
    if ((command && is_compiler(command)) || other->what == GV_ACCOUNT_COMPILE)
        return GV_ACCOUNT_COMPILE;
    return other->what == GV_ACCOUNT_DATA ? GV_ACCOUNT_DATA : GV_ACCOUNT_CHILD;
}

static enum gv_account account_of(struct gv_idle_looks *looks, sqlite3_stmt *row,
                                  const struct known_stack *own, const struct known_stack *other)
{
    const char *states = (const char *)sqlite3_column_text(row, IDLE_STATE);
    char state = states ? states[0] : '\0';
    int about = sqlite3_column_int(row, IDLE_ABOUT), signs = sqlite3_column_int(row, IDLE_SIGNS);

    if (about == GV_IDLE_GIL)
        return GV_ACCOUNT_GIL;
    if (own->what != NOTHING && (own->what != GV_ACCOUNT_CHILD || about != GV_IDLE_CHILD))
        return own->what;
    if (signs & GV_IDLE_COLLECTS)
        return GV_ACCOUNT_GC;
    if (about == GV_IDLE_CHILD)
        return child_account(looks, row, other);
    if (about == GV_IDLE_BESIDE)
        return GV_ACCOUNT_THREAD_LOCK;
    return is_descheduled(looks, row, state) ? GV_ACCOUNT_NO_CPU : state_account(looks, row, state);
}

/* "Dataset.__getitem__, data.py:41" of "data.py:41 Dataset.__getitem__". */
static void line_as_detail(const struct gv_idle_looks *looks, uint32_t line, char *out, size_t size)
{
    const char *text = line ? looks->lines[line - 1] : "", *space = strchr(text, ' ');

    if (space)
        snprintf(out, size, "%s, %.*s", space + 1, (int)(space - text), text);
    else
        snprintf(out, size, "%s", text);
}

/* "burn, train.py:12 (thread 4250, logger)": who holds the GIL. */
static void gil_detail(struct gv_idle_looks *looks, sqlite3_stmt *row, uint32_t line, char *out,
                       size_t size)
{
    int64_t holder = sqlite3_column_int64(row, IDLE_OTHER);
    const char *name = NULL;
    char where[GV_IDLE_TEXT_BYTES], thread[GV_IDLE_TEXT_BYTES];

    if (holder <= 0)
        return;
    line_as_detail(looks, line, where, sizeof(where));
    sqlite3_bind_int64(looks->thread_name, 1, sqlite3_column_int64(row, IDLE_PROCESS));
    sqlite3_bind_int64(looks->thread_name, 2, holder);
    if (sqlite3_step(looks->thread_name) == SQLITE_ROW)
        name = (const char *)sqlite3_column_text(looks->thread_name, 0);
    snprintf(thread, sizeof(thread), "thread %lld%s%s", (long long)holder,
             name && *name ? ", " : "", name ? name : "");
    snprintf(out, size, *where ? "%s (%s)" : "%s%s", where, thread);
    sqlite3_reset(looks->thread_name);
}

static void sample_detail(struct gv_idle_looks *looks, sqlite3_stmt *row, enum gv_account what,
                          uint32_t other_line, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, IDLE_TEXT);
    int signs = sqlite3_column_int(row, IDLE_SIGNS), about = sqlite3_column_int(row, IDLE_ABOUT);

    out[0] = '\0';
    if (what == GV_ACCOUNT_GIL)
        gil_detail(looks, row, other_line, out, size);
    else if (what == GV_ACCOUNT_NO_CPU)
        snprintf(out, size, "%s%s",
                 signs & GV_IDLE_THROTTLED ? "CPU quota"
                 : signs & GV_IDLE_PINNED  ? "pinned to "
                                           : "",
                 !(signs & GV_IDLE_PINNED) || signs & GV_IDLE_THROTTLED ? ""
                 : text && about == GV_IDLE_SELF                        ? text
                                                                        : "some of the CPUs");
    else if (text &&
             ((what == GV_ACCOUNT_IO && about == GV_IDLE_SELF) ||
              ((what == GV_ACCOUNT_CHILD || what == GV_ACCOUNT_COMPILE) && about == GV_IDLE_CHILD)))
        snprintf(out, size, "%s", text);
}

/* ---- verdicts ---- */

static int verdict_number(struct gv_idle_looks *looks, enum gv_account what, const char *detail,
                          uint32_t line, int64_t stack, int64_t process, uint32_t *number)
{
    const struct gv_key key = {{(uint64_t)what | (uint64_t)line << 8 | (uint64_t)process << 40,
                                gv_mix_bytes(0, detail, strlen(detail)), strlen(detail)}};
    int64_t known = gv_key_map_find(&looks->verdict_numbers, &key);
    struct verdict verdict = {.what = what, .stack = stack, .process = process, .beside = NOTHING};
    int error;

    *number = (uint32_t)known;
    if (known)
        return 0;
    error = gv_array_room(&looks->verdicts, looks->verdict_count, &looks->verdict_room,
                          sizeof(*looks->verdicts));
    if (error)
        return error;
    if (*detail && !(verdict.detail = strdup(detail)))
        return -ENOMEM;
    *number = (uint32_t)looks->verdict_count;
    looks->verdicts[looks->verdict_count++] = verdict;
    /* The first one, "unknown", has no key. */
    return *number ? gv_key_map_add(&looks->verdict_numbers, &key, *number) : 0;
}

/* Many lines are there only in a trace that is not ours: they share the last. */
#define GV_IDLE_WORKER_LINES 256
#define GV_IDLE_LOADERS      1024

static void add_cpus(struct gv_idle_cpus *cpus, sqlite3_stmt *row)
{
    int64_t may_use = sqlite3_column_int64(row, IDLE_CPUS);

    if (may_use <= 0) /* NULL: not known */
        return;
    cpus->may_use = !cpus->looks || may_use < cpus->may_use ? may_use : cpus->may_use;
    cpus->looks++;
    cpus->span_ns += (double)gv_time_column_duration(row, IDLE_SPAN);
    cpus->process_ns += (double)gv_time_column_duration(row, IDLE_PROCESS_CPU);
    cpus->thread_ns += (double)gv_time_column_duration(row, IDLE_CPU);
}

/* Threads that take turns come back. Those that are made anew, one after the other, do not. */
static void add_thread(struct worker *worker, int32_t tid)
{
    int at = 0;

    while (at < worker->thread_count && worker->threads[at] != tid)
        at++;
    if (at == GV_IDLE_THREADS_MOST)
        return;
    if (at < worker->thread_count && at != worker->last)
        worker->came_back |= 1u << at;
    worker->threads[at] = tid;
    worker->last = at;
    worker->thread_count += at == worker->thread_count;
}

static int worker_seen(struct gv_idle_looks *looks, struct verdict *verdict, sqlite3_stmt *row,
                       struct worker seen)
{
    int64_t at_ns = gv_time_column(row, IDLE_AT);
    struct worker *worker = NULL;
    size_t lines = 0;
    int error = 0;

    verdict->looks++;
    verdict->starved += seen.is_starved;
    verdict->pinned += seen.is_starved && seen.is_pinned;
    verdict->importing += seen.is_importing;
    verdict->at_once = verdict->at_ns == at_ns ? verdict->at_once + 1 : 1;
    verdict->at_ns = at_ns;
    verdict->most = verdict->at_once > verdict->most ? verdict->at_once : verdict->most;
    for (size_t at = verdict->workers; at; at = worker->next, lines++) {
        worker = &looks->workers[at - 1];
        if (worker->line == seen.line && worker->what == seen.what)
            break;
        if (lines >= GV_IDLE_WORKER_LINES)
            return 0;
    }
    if (!worker || worker->line != seen.line || worker->what != seen.what) {
        error = gv_array_room(&looks->workers, looks->worker_count, &looks->worker_room,
                              sizeof(*looks->workers));
        if (error)
            return error;
        worker = &looks->workers[looks->worker_count];
        *worker = seen;
        worker->next = verdict->workers;
        verdict->workers = ++looks->worker_count;
    }
    worker->count++;
    add_thread(worker, sqlite3_column_int(row, IDLE_OTHER));
    add_cpus(&worker->cpus, row);
    return 0;
}

static int loader_seen(struct gv_idle_looks *looks, sqlite3_stmt *row, bool works)
{
    const int64_t at_ns = gv_time_column(row, IDLE_AT);
    const struct loader seen = {sqlite3_column_int64(row, IDLE_PROCESS),
                                sqlite3_column_int64(row, IDLE_OTHER), at_ns, at_ns, works};
    int error;

    for (size_t i = looks->loader_count; i-- > 0;) {
        struct loader *known = &looks->loaders[i];
        if (known->process != seen.process || known->pid != seen.pid)
            continue;
        known->first_ns = at_ns < known->first_ns ? at_ns : known->first_ns;
        known->last_ns = at_ns > known->last_ns ? at_ns : known->last_ns;
        known->works |= works;
        return 0;
    }
    if (looks->loader_count >= GV_IDLE_LOADERS)
        return 0;
    error = gv_array_room(&looks->loaders, looks->loader_count, &looks->loader_room,
                          sizeof(*looks->loaders));
    if (!error)
        looks->loaders[looks->loader_count++] = seen;
    return error;
}

static int by_first(const void *left, const void *right)
{
    const struct loader *one = left, *other = right;

    return one->first_ns < other->first_ns ? -1 : one->first_ns > other->first_ns;
}

/* How often a process started its loader's workers: so many worked one after the other. The loaders
 * are in the order in which they were seen. */
static int times_started(const struct gv_idle_looks *looks, int64_t process)
{
    int64_t until_ns = INT64_MIN;
    int times = 0;

    for (size_t i = 0; i < looks->loader_count; i++) {
        const struct loader *loader = &looks->loaders[i];
        if (loader->process != process || !loader->works)
            continue;
        times += loader->first_ns > until_ns;
        if (loader->first_ns > until_ns || loader->last_ns < until_ns)
            until_ns = loader->last_ns;
    }
    return times;
}

/* Several looks at one time, as at each child, are one sample. */
static int sample_add(struct gv_idle_looks *looks, sqlite3_stmt *row, uint32_t verdict,
                      int64_t stack)
{
    int64_t thread = sqlite3_column_int64(row, IDLE_THREAD), at_ns = gv_time_column(row, IDLE_AT);
    struct sample *last = looks->sample_count ? &looks->samples[looks->sample_count - 1] : NULL;
    int error;

    if (last && last->thread == thread && last->at_ns == at_ns) {
        if (looks->verdicts[last->verdict].what == GV_ACCOUNT_UNKNOWN)
            *last = (struct sample){at_ns, thread, verdict, stack};
        return 0;
    }
    error = gv_array_room(&looks->samples, looks->sample_count, &looks->sample_room,
                          sizeof(*looks->samples));
    if (!error)
        looks->samples[looks->sample_count++] = (struct sample){at_ns, thread, verdict, stack};
    return error;
}

static bool is_pinned(sqlite3_stmt *row)
{
    return (sqlite3_column_int(row, IDLE_SIGNS) & GV_IDLE_PINNED) != 0;
}

static void note_cpus(struct gv_idle_looks *looks, sqlite3_stmt *row, int whom)
{
    const char *state = (const char *)sqlite3_column_text(row, IDLE_STATE);
    const char *text = (const char *)sqlite3_column_text(row, IDLE_TEXT);

    if (whom != GV_IDLE_SELF || !is_pinned(row) || !text || !state || *state != 'R')
        return;
    looks->cpus_process = sqlite3_column_int64(row, IDLE_PROCESS);
    snprintf(looks->cpus, sizeof(looks->cpus), "%s", text);
}

/* What a look says of a lock for which threads wait: of the thread's own look at the same time. The
 * account is what more than half of these looks say (Boyer and Moore). */
static int take_lock(struct gv_idle_looks *looks, sqlite3_stmt *row)
{
    const struct sample *last =
        looks->sample_count ? &looks->samples[looks->sample_count - 1] : NULL;
    const char *text = (const char *)sqlite3_column_text(row, IDLE_TEXT);
    const long others = text ? strtol(text, NULL, 10) : 0;
    const struct known_stack nothing = {.what = NOTHING};
    unsigned what = beside_account(looks, row, &nothing);
    int64_t stack = sqlite3_column_int64(row, IDLE_OTHER_STACK);
    struct known_stack other;
    int error = stack_of(looks, stack, &other);

    if (error || !last || last->thread != sqlite3_column_int64(row, IDLE_THREAD) ||
        last->at_ns != gv_time_column(row, IDLE_AT))
        return error;
    struct gv_idle_lock *lock = &looks->verdicts[last->verdict].lock;
    lock->looks++;
    lock->waiting += others > 0 && others < INT16_MAX ? others : 0;
    lock->own += sqlite3_column_int(row, IDLE_IS_OWN);
    lock->wanted += (sqlite3_column_int(row, IDLE_SIGNS) & GV_IDLE_WANTS_LOCK) != 0;
    if (sqlite3_column_int64(row, IDLE_OTHER) == 0)
        return 0;
    lock->stack = other.line ? stack : lock->stack;
    lock->what = lock->what_votes ? lock->what : what;
    lock->what_votes += lock->what == what ? 1 : -1;
    return 0;
}

static int take_sample(void *context, sqlite3_stmt *row)
{
    struct gv_idle_looks *looks = context;
    int64_t stack = sqlite3_column_int64(row, IDLE_STACK);
    int64_t other_stack = sqlite3_column_int64(row, IDLE_OTHER_STACK);
    struct known_stack own, other;
    char detail[2 * GV_IDLE_TEXT_BYTES];
    uint32_t number;
    int error = stack_of(looks, stack, &own);

    if (sqlite3_column_int(row, IDLE_ABOUT) == GV_IDLE_LOCK)
        return error ? error : take_lock(looks, row);
    if (!error)
        error = stack_of(looks, other_stack, &other);
    if (error)
        return error;
    enum gv_account what = account_of(looks, row, &own, &other);
    const struct sample *last =
        looks->sample_count ? &looks->samples[looks->sample_count - 1] : NULL;
    if (is_running(what) && did_not_run(row) && last &&
        last->thread == sqlite3_column_int64(row, IDLE_THREAD)) {
        if (!is_running(looks->verdicts[last->verdict].what))
            return sample_add(looks, row, last->verdict, last->stack);
        what = GV_ACCOUNT_NO_CPU;
    }
    sample_detail(looks, row, what, other.line, detail, sizeof(detail));
    /* The line to change is the holder's. */
    bool holder = what == GV_ACCOUNT_GIL && other_stack;
    int64_t about = holder ? other_stack : stack;
    error = verdict_number(looks, what, detail, holder ? other.line : own.line, about,
                           sqlite3_column_int64(row, IDLE_PROCESS), &number);
    int whom = sqlite3_column_int(row, IDLE_ABOUT);
    note_cpus(looks, row, whom);
    struct worker worker = {.line = other.line,
                            .what = NOTHING,
                            .stack = other_stack,
                            .is_importing = other.what == GV_ACCOUNT_IMPORT,
                            .is_starved = whom == GV_IDLE_CHILD && has_no_cpu(row),
                            .is_pinned = is_pinned(row)};
    if (what == GV_ACCOUNT_THREAD_LOCK && whom == GV_IDLE_BESIDE && own.waits)
        worker.what = beside_account(looks, row, &other);
    if (!error && what == GV_ACCOUNT_DATA && whom == GV_IDLE_CHILD)
        error = loader_seen(looks, row, other.what == GV_ACCOUNT_DATA);
    if (!error && other.line &&
        (worker.what != NOTHING || (what == GV_ACCOUNT_DATA && whom == GV_IDLE_CHILD)))
        error = worker_seen(looks, &looks->verdicts[number], row, worker);
    else if (!error && what == GV_ACCOUNT_THREAD_LOCK && own.waits)
        looks->verdicts[number].looks++; /* nobody was seen for whom it may wait */
    if (!error && what == GV_ACCOUNT_NATIVE)
        add_cpus(&looks->verdicts[number].cpus, row);
    return error ? error : sample_add(looks, row, number, about);
}

/* The busiest worker's function becomes what a wait for data is about. */
static int name_workers(struct gv_idle_looks *looks)
{
    char line[GV_IDLE_TEXT_BYTES], detail[2 * GV_IDLE_TEXT_BYTES];

    if (looks->loader_count)
        qsort(looks->loaders, looks->loader_count, sizeof(*looks->loaders), by_first);
    for (size_t i = 0; i < looks->verdict_count; i++) {
        struct verdict *verdict = &looks->verdicts[i];
        const struct worker *worker, *most = NULL;
        for (size_t at = verdict->workers; at; at = worker->next) {
            worker = &looks->workers[at - 1];
            if (!most || worker->count > most->count)
                most = worker;
        }
        if (!most)
            continue;
        line_as_detail(looks, most->line, line, sizeof(line));
        if (most->what == NOTHING) {
            snprintf(detail, sizeof(detail), "%s (%d %% of the samples of %d worker%s)", line,
                     (int)((double)most->count * 100 / (double)verdict->looks + 0.5), verdict->most,
                     verdict->most == 1 ? "" : "s");
            verdict->stack = most->stack;
            verdict->times = times_started(looks, verdict->process);
            if (2 * verdict->starved >= verdict->looks) {
                bool is_known = 2 * verdict->pinned >= verdict->starved &&
                                looks->cpus_process == verdict->process;
                gv_format_add(detail, sizeof(detail), ", which wait for a CPU%s%s",
                              is_known ? ": pinned to " : "", is_known ? looks->cpus : "");
                verdict->beside = GV_ACCOUNT_NO_CPU;
            } else if (2 * verdict->importing >= verdict->looks && verdict->times > 1) {
                gv_format_add(detail, sizeof(detail),
                              ", which were started %d times, and mostly import modules",
                              verdict->times);
                verdict->beside = GV_ACCOUNT_IMPORT;
            }
        } else if (3 * most->count >= verdict->looks) {
            snprintf(detail, sizeof(detail), "%s (%s)", line, gv_account_say(most->what).meaning);
            verdict->beside = most->what;
            verdict->cpus = most->cpus;
            verdict->threads = is_running(most->what) ? __builtin_popcount(most->came_back) : 0;
        } else {
            continue;
        }
        free(verdict->detail);
        verdict->detail = strdup(detail);
        if (!verdict->detail)
            return -ENOMEM;
    }
    return 0;
}

/* Numbers of system calls are the machine's that recorded; earlier traces have no looks. */
static int read_machine(struct gv_idle_looks *looks)
{
    struct utsname here;
    int64_t aarch64 = uname(&here) == 0 && strcmp(here.machine, "aarch64") == 0;
    int error =
        gv_database_number(looks->trace, "SELECT value = 'aarch64' FROM meta WHERE key = 'machine'",
                           NULL, 0, &aarch64);

    looks->aarch64 = aarch64 != 0;
    return error;
}

int gv_idle_looks_open(sqlite3 *trace, struct gv_idle_looks **opened)
{
    struct gv_idle_looks *looks = *opened = calloc(1, sizeof(*looks));
    uint32_t nothing;
    int error;

    if (!looks)
        return -ENOMEM;
    looks->trace = trace;
    /* SQLite refuses this while a statement runs. */
    error = gv_stack_text_install(trace);
    if (!error)
        error = read_machine(looks);
    if (!error)
        error = gv_idle_frames_prepare(trace, &looks->frames);
    if (!error)
        error = gv_stack_line_prepare(trace, &looks->line);
    if (!error)
        error = gv_database_compile(trace, sql_thread_name, &looks->thread_name);
    if (!error)
        error = gv_database_compile(trace, sql_looks, &looks->some);
    return error ? error : verdict_number(looks, GV_ACCOUNT_UNKNOWN, "", 0, 0, 0, &nothing);
}

void gv_idle_looks_close(struct gv_idle_looks *looks)
{
    if (!looks)
        return;
    sqlite3_finalize(looks->frames);
    sqlite3_finalize(looks->line);
    sqlite3_finalize(looks->thread_name);
    sqlite3_finalize(looks->some);
    gv_key_map_free(&looks->stack_numbers);
    gv_key_map_free(&looks->line_numbers);
    gv_key_map_free(&looks->verdict_numbers);
    for (size_t i = 0; i < looks->line_count; i++)
        free(looks->lines[i]);
    for (size_t i = 0; i < looks->verdict_count; i++)
        free(looks->verdicts[i].detail);
    free(looks->stacks);
    free(looks->lines);
    free(looks->verdicts);
    free(looks->workers);
    free(looks->loaders);
    free(looks->samples);
    free(looks);
}

/* More texts than this are forgotten: then all of a reading are read anew. */
#define GV_IDLE_LOOKS_KNOWN 4096

bool gv_idle_looks_are_full(const struct gv_idle_looks *looks)
{
    return looks->verdict_count > GV_IDLE_LOOKS_KNOWN || looks->stack_count > GV_IDLE_LOOKS_KNOWN;
}

static int tell(struct gv_idle_looks *looks, const struct sample *sample, gv_idle_look_take *take,
                void *context)
{
    const struct verdict *verdict = &looks->verdicts[sample->verdict];
    const struct gv_key key = {{(uint64_t)verdict->stack, 0, 0}};
    int64_t stack = verdict->stack ? gv_key_map_find(&looks->stack_numbers, &key) : 0;
    uint32_t line = stack ? looks->stacks[stack - 1].line : 0;

    return take(context, &(struct gv_idle_look){
                             .at_ns = sample->at_ns,
                             .thread = sample->thread,
                             .what = verdict->what,
                             .beside = verdict->beside,
                             .lock = verdict->lock,
                             .cpus = verdict->cpus,
                             .threads = verdict->threads,
                             .times = verdict->times,
                             .verdict = sample->verdict,
                             .stack = sample->stack ? sample->stack : verdict->stack,
                             .detail = verdict->detail,
                             .where = line ? looks->lines[line - 1] : NULL,
                         });
}

int gv_idle_looks_read(struct gv_idle_looks *looks, int64_t after, int64_t until,
                       gv_idle_look_take *take, void *context)
{
    const int64_t some[] = {after, until};
    int error;

    looks->sample_count = 0;
    error = gv_database_rows(looks->some, some, 2, take_sample, looks);
    if (!error)
        error = name_workers(looks);
    for (size_t i = 0; i < looks->sample_count && !error; i++)
        error = tell(looks, &looks->samples[i], take, context);
    return error;
}
