/* Reads the looks at threads, and decides what each says. */
#include "report/analyse/idle/looks.h"
#include "report/analyse/idle/run.h"

#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/analyse_idle_idle.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GV_IDLE_TEXT_BYTES 512

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
};

struct idle_reading {
    struct gv_idle_run *run;
    sqlite3_stmt *frames, *thread_name;
};

/* ---- texts and stacks, by number ---- */

/* The number of a line, whatever function it is in: a comprehension is one of its own; 0 if it is
 * empty. */
static int line_number(struct gv_idle_run *run, const char *text, uint32_t *number)
{
    size_t length = gv_idle_line_bytes(text);
    const struct gv_key key = {{gv_mix_bytes(0, text, length), length, 0}};
    int64_t known = gv_key_map_find(&run->line_numbers, &key);
    int error;

    *number = (uint32_t)known;
    if (known || !*text)
        return 0;
    error = gv_array_room(&run->lines, run->line_count, &run->line_room, sizeof(*run->lines));
    if (error)
        return error;
    run->lines[run->line_count] = strdup(text);
    if (!run->lines[run->line_count])
        return -ENOMEM;
    *number = (uint32_t)++run->line_count;
    return gv_key_map_add(&run->line_numbers, &key, *number);
}

static enum gv_idle_reason frame_reason(const char *function, const char *file)
{
    static const struct {
        enum gv_idle_reason reason;
        const char *file, *function;
    } frames[] = {
#define GV_IDLE_FRAME(reason, file, function) {GV_REASON_##reason, file, function},
#include "report/analyse/idle/frames.def"
    };

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (sqlite3_strglob(frames[i].file, file) == 0 &&
            sqlite3_strglob(frames[i].function, function) == 0)
            return frames[i].reason;
    return GV_REASONS;
}

/* What the program's own line asked for: the outermost below it. Compiling imports and collects
 * garbage, too. Without a reason there, the innermost above. */
static int read_reason(sqlite3_stmt *frames, int64_t id, enum gv_idle_reason *reason)
{
    bool has_own = false;
    int result;

    *reason = GV_REASONS;
    sqlite3_bind_int64(frames, 1, id);
    while ((result = sqlite3_step(frames)) == SQLITE_ROW) {
        const char *function = (const char *)sqlite3_column_text(frames, 0);
        const char *file = (const char *)sqlite3_column_text(frames, 1);
        enum gv_idle_reason of = frame_reason(function ? function : "", file ? file : "");
        if (of != GV_REASONS && (*reason == GV_REASONS || !has_own))
            *reason = of;
        has_own |= sqlite3_column_int(frames, 2) != 0;
    }
    sqlite3_reset(frames);
    return gv_database_error(sqlite3_db_handle(frames), result);
}

int gv_idle_stack_reason(sqlite3 *trace, int64_t id, enum gv_idle_reason *reason)
{
    sqlite3_stmt *frames = NULL;
    int error = gv_database_error(trace, sqlite3_prepare_v2(trace, sql_frames, -1, &frames, NULL));

    *reason = GV_REASONS;
    if (!error)
        error = read_reason(frames, id, reason);
    sqlite3_finalize(frames);
    return error;
}

static int stack_read(struct idle_reading *reading, int64_t id, struct gv_idle_stack *stack)
{
    char line[GV_IDLE_TEXT_BYTES] = "";
    int error;

    *stack = (struct gv_idle_stack){.reason = GV_REASONS};
    error = read_reason(reading->frames, id, &stack->reason);
    if (!error)
        error = gv_stack_text(reading->run->trace, id, 1, line, sizeof(line));
    return error ? error : line_number(reading->run, line, &stack->line);
}

static int stack_of(struct idle_reading *reading, int64_t id, struct gv_idle_stack *stack)
{
    struct gv_idle_run *run = reading->run;
    const struct gv_key key = {{(uint64_t)id, 0, 0}};
    int64_t known = gv_key_map_find(&run->stack_numbers, &key);
    int error = 0;

    *stack = (struct gv_idle_stack){.reason = GV_REASONS};
    if (id == 0)
        return 0;
    if (!known) {
        error =
            gv_array_room(&run->stacks, run->stack_count, &run->stack_room, sizeof(*run->stacks));
        if (!error)
            error = stack_read(reading, id, &run->stacks[run->stack_count]);
        if (!error)
            error = gv_key_map_add(&run->stack_numbers, &key, known = (int64_t)++run->stack_count);
    }
    if (!error)
        *stack = run->stacks[known - 1];
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

/* GV_REASONS: the call does not say. */
static enum gv_idle_reason call_reason(const struct gv_idle_run *run, int64_t number, int target)
{
    static const struct {
        int numbers[2];
        enum gv_idle_reason reason;
    } calls[] = {
#define GV_IDLE_SYSTEM_CALL(name, x86_64, aarch64, reason) {{x86_64, aarch64}, GV_REASON_##reason},
#include "report/analyse/idle/system_calls.def"
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && number >= 0; i++) {
        if (calls[i].numbers[run->aarch64] != number)
            continue;
        switch (target) {
        case GV_IDLE_TARGET_FILE:
        case GV_IDLE_TARGET_TERMINAL:
            return GV_REASON_IO;
        case GV_IDLE_TARGET_PIPE:
            return GV_REASON_CHILD;
        case GV_IDLE_TARGET_SOCKET:
            return calls[i].reason == GV_REASON_NO_REQUEST || calls[i].reason == GV_REASON_SLEEP
                       ? GV_REASON_NO_REQUEST
                       : GV_REASON_NETWORK;
        case GV_IDLE_TARGET_OTHER:
            return calls[i].reason == GV_REASON_IO ? GV_REASON_LOCK : calls[i].reason;
        default:
            return calls[i].reason;
        }
    }
    return GV_REASONS;
}

/* Whether a running thread ran Python, or native code that Python called with the GIL held. */
static bool is_python(int signs)
{
    return (signs & GV_IDLE_KNOWS_GIL) ? signs & GV_IDLE_HAS_GIL : signs & GV_IDLE_IN_PYTHON;
}

/* Of the time in which it was ready, it had no CPU for longer than it had one. */
static bool is_descheduled(sqlite3_stmt *row, char state)
{
    return state == 'R' &&
           gv_time_column_duration(row, IDLE_DELAY) > gv_time_column_duration(row, IDLE_CPU);
}

/* Ready at this look, but since the last one it has not run. If it waited for a CPU, it still does:
 * the kernel counts a wait when it is over. */
static bool did_not_run(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, IDLE_CPU) != SQLITE_NULL &&
           gv_time_column_duration(row, IDLE_CPU) + gv_time_column_duration(row, IDLE_DELAY) == 0;
}

static bool is_running(enum gv_idle_reason reason)
{
    return reason == GV_REASON_PYTHON || reason == GV_REASON_NATIVE;
}

static enum gv_idle_reason sample_reason(struct idle_reading *reading, sqlite3_stmt *row,
                                         const struct gv_idle_stack *own,
                                         const struct gv_idle_stack *other)
{
    const char *text = (const char *)sqlite3_column_text(row, IDLE_TEXT);
    const char *states = (const char *)sqlite3_column_text(row, IDLE_STATE);
    char state = states ? states[0] : '\0';
    int about = sqlite3_column_int(row, IDLE_ABOUT), signs = sqlite3_column_int(row, IDLE_SIGNS);
    bool has_call = sqlite3_column_type(row, IDLE_SYSTEM_CALL) != SQLITE_NULL;
    enum gv_idle_reason reason;

    if (about == GV_IDLE_GIL)
        return GV_REASON_GIL;
    if (own->reason != GV_REASONS)
        return own->reason;
    if (signs & GV_IDLE_COLLECTS)
        return GV_REASON_GC;
    if (about == GV_IDLE_CHILD)
        return (text && is_compiler(text)) || other->reason == GV_REASON_COMPILE ? GV_REASON_COMPILE
               : other->reason == GV_REASON_DATA                                 ? GV_REASON_DATA
                                                                                 : GV_REASON_CHILD;
    if (is_descheduled(row, state))
        return GV_REASON_DESCHEDULED;
    reason = call_reason(reading->run, has_call ? sqlite3_column_int64(row, IDLE_SYSTEM_CALL) : -1,
                         sqlite3_column_int(row, IDLE_TARGET));
    if (reason != GV_REASONS)
        return reason;
    if (state == 'R')
        return is_python(signs) ? GV_REASON_PYTHON : GV_REASON_NATIVE;
    return state == 'D' ? GV_REASON_IO : GV_REASON_UNKNOWN;
}

/* "Dataset.__getitem__, data.py:41" of "data.py:41 Dataset.__getitem__". */
static void line_as_detail(const struct gv_idle_run *run, uint32_t line, char *out, size_t size)
{
    const char *text = line ? run->lines[line - 1] : "", *space = strchr(text, ' ');

    if (space)
        snprintf(out, size, "%s, %.*s", space + 1, (int)(space - text), text);
    else
        snprintf(out, size, "%s", text);
}

/* "burn, train.py:12 (thread 4250, logger)": who holds the GIL. */
static void gil_detail(struct idle_reading *reading, sqlite3_stmt *row, uint32_t line, char *out,
                       size_t size)
{
    int64_t holder = sqlite3_column_int64(row, IDLE_OTHER);
    const char *name = NULL;
    char where[GV_IDLE_TEXT_BYTES], thread[GV_IDLE_TEXT_BYTES];

    if (holder <= 0)
        return;
    line_as_detail(reading->run, line, where, sizeof(where));
    sqlite3_bind_int64(reading->thread_name, 1, sqlite3_column_int64(row, IDLE_PROCESS));
    sqlite3_bind_int64(reading->thread_name, 2, holder);
    if (sqlite3_step(reading->thread_name) == SQLITE_ROW)
        name = (const char *)sqlite3_column_text(reading->thread_name, 0);
    snprintf(thread, sizeof(thread), "thread %lld%s%s", (long long)holder,
             name && *name ? ", " : "", name ? name : "");
    snprintf(out, size, *where ? "%s (%s)" : "%s%s", where, thread);
    sqlite3_reset(reading->thread_name);
}

static void sample_detail(struct idle_reading *reading, sqlite3_stmt *row,
                          enum gv_idle_reason reason, uint32_t other_line, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, IDLE_TEXT);
    int signs = sqlite3_column_int(row, IDLE_SIGNS), about = sqlite3_column_int(row, IDLE_ABOUT);

    out[0] = '\0';
    if (reason == GV_REASON_GIL)
        gil_detail(reading, row, other_line, out, size);
    else if (reason == GV_REASON_DESCHEDULED)
        snprintf(out, size, "%s",
                 signs & GV_IDLE_THROTTLED ? "CPU quota"
                 : signs & GV_IDLE_PINNED  ? "pinned to some of the CPUs"
                                           : "");
    else if (text && ((reason == GV_REASON_IO && about == GV_IDLE_SELF) ||
                      ((reason == GV_REASON_CHILD || reason == GV_REASON_COMPILE) &&
                       about == GV_IDLE_CHILD)))
        snprintf(out, size, "%s", text);
}

/* ---- verdicts ---- */

static int verdict_number(struct gv_idle_run *run, enum gv_idle_reason reason, const char *detail,
                          uint32_t line, int64_t stack, int64_t process, uint32_t *number)
{
    const struct gv_key key = {{(uint64_t)reason | (uint64_t)line << 8 | (uint64_t)process << 40,
                                gv_mix_bytes(0, detail, strlen(detail)), strlen(detail)}};
    int64_t known = gv_key_map_find(&run->verdict_numbers, &key);
    struct gv_idle_verdict verdict = {.reason = reason, .stack = stack};
    int error;

    *number = (uint32_t)known;
    if (known)
        return 0;
    error = gv_array_room(&run->verdicts, run->verdict_count, &run->verdict_room,
                          sizeof(*run->verdicts));
    if (error)
        return error;
    if (*detail && !(verdict.detail = strdup(detail)))
        return -ENOMEM;
    *number = (uint32_t)run->verdict_count;
    run->verdicts[run->verdict_count++] = verdict;
    /* The first one, "unknown", has no key. */
    return *number ? gv_key_map_add(&run->verdict_numbers, &key, *number) : 0;
}

/* Many lines are there only in a trace that is not ours: they share the last. */
#define GV_IDLE_WORKER_LINES 256

static int worker_seen(struct gv_idle_run *run, struct gv_idle_verdict *verdict, uint32_t line,
                       int64_t stack)
{
    struct gv_idle_worker *worker = NULL;
    size_t lines = 0;
    int error = 0;

    verdict->looks++;
    for (size_t at = verdict->workers; at; at = worker->next, lines++) {
        worker = &run->workers[at - 1];
        if (worker->line == line)
            break;
        if (lines >= GV_IDLE_WORKER_LINES)
            return 0;
    }
    if (!worker || worker->line != line) {
        error = gv_array_room(&run->workers, run->worker_count, &run->worker_room,
                              sizeof(*run->workers));
        if (error)
            return error;
        worker = &run->workers[run->worker_count];
        *worker = (struct gv_idle_worker){.next = verdict->workers, .line = line, .stack = stack};
        verdict->workers = ++run->worker_count;
    }
    worker->count++;
    return 0;
}

/* Several looks at one time, as at each child, are one sample. */
static int sample_add(struct gv_idle_run *run, sqlite3_stmt *row, uint32_t verdict, int64_t stack)
{
    int64_t thread = sqlite3_column_int64(row, IDLE_THREAD), at_ns = gv_time_column(row, IDLE_AT);
    struct gv_idle_sample *last = run->sample_count ? &run->samples[run->sample_count - 1] : NULL;
    int error;

    if (last && last->thread == thread && last->at_ns == at_ns) {
        if (run->verdicts[last->verdict].reason == GV_REASON_UNKNOWN)
            *last = (struct gv_idle_sample){at_ns, thread, verdict, stack};
        return 0;
    }
    error =
        gv_array_room(&run->samples, run->sample_count, &run->sample_room, sizeof(*run->samples));
    if (!error)
        run->samples[run->sample_count++] = (struct gv_idle_sample){at_ns, thread, verdict, stack};
    return error;
}

static int take_sample(void *context, sqlite3_stmt *row)
{
    struct idle_reading *reading = context;
    struct gv_idle_run *run = reading->run;
    int64_t stack = sqlite3_column_int64(row, IDLE_STACK);
    int64_t other_stack = sqlite3_column_int64(row, IDLE_OTHER_STACK);
    struct gv_idle_stack own, other;
    char detail[2 * GV_IDLE_TEXT_BYTES];
    uint32_t number;
    int error = stack_of(reading, stack, &own);

    if (!error)
        error = stack_of(reading, other_stack, &other);
    if (error)
        return error;
    enum gv_idle_reason reason = sample_reason(reading, row, &own, &other);
    const struct gv_idle_sample *last =
        run->sample_count ? &run->samples[run->sample_count - 1] : NULL;
    if (is_running(reason) && did_not_run(row) && last &&
        last->thread == sqlite3_column_int64(row, IDLE_THREAD)) {
        if (!is_running(run->verdicts[last->verdict].reason))
            return sample_add(run, row, last->verdict, last->stack);
        reason = GV_REASON_DESCHEDULED;
    }
    sample_detail(reading, row, reason, other.line, detail, sizeof(detail));
    /* The line to change is the holder's. */
    bool holder = reason == GV_REASON_GIL && other_stack;
    int64_t about = holder ? other_stack : stack;
    error = verdict_number(run, reason, detail, holder ? other.line : own.line, about,
                           sqlite3_column_int64(row, IDLE_PROCESS), &number);
    if (!error && reason == GV_REASON_DATA && other.line &&
        sqlite3_column_int(row, IDLE_ABOUT) == GV_IDLE_CHILD)
        error = worker_seen(run, &run->verdicts[number], other.line, other_stack);
    return error ? error : sample_add(run, row, number, about);
}

/* The busiest worker's function becomes what a wait for data is about. */
static int name_workers(struct gv_idle_run *run)
{
    char line[GV_IDLE_TEXT_BYTES], detail[2 * GV_IDLE_TEXT_BYTES];

    for (size_t i = 0; i < run->verdict_count; i++) {
        struct gv_idle_verdict *verdict = &run->verdicts[i];
        const struct gv_idle_worker *worker, *most = NULL;
        for (size_t at = verdict->workers; at; at = worker->next) {
            worker = &run->workers[at - 1];
            if (!most || worker->count > most->count)
                most = worker;
        }
        if (!most)
            continue;
        line_as_detail(run, most->line, line, sizeof(line));
        snprintf(detail, sizeof(detail), "%s (%d %% of the workers' samples)", line,
                 (int)((double)most->count * 100 / (double)verdict->looks + 0.5));
        free(verdict->detail);
        verdict->detail = strdup(detail);
        verdict->stack = most->stack;
        if (!verdict->detail)
            return -ENOMEM;
    }
    return 0;
}

static int prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement)
{
    return gv_database_error(
        trace, sqlite3_prepare_v3(trace, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
}

static int reading_open(struct idle_reading *reading)
{
    uint32_t nothing;
    int error = prepare(reading->run->trace, sql_frames, &reading->frames);

    if (!error)
        error = prepare(reading->run->trace, sql_thread_name, &reading->thread_name);
    return error ? error : verdict_number(reading->run, GV_REASON_UNKNOWN, "", 0, 0, 0, &nothing);
}

static void reading_close(struct idle_reading *reading)
{
    sqlite3_finalize(reading->frames);
    sqlite3_finalize(reading->thread_name);
}

int gv_idle_samples_read(struct gv_idle_run *run)
{
    struct idle_reading reading = {.run = run};
    int error = reading_open(&reading);

    if (!error)
        error = gv_database_each(run->trace, sql_samples, NULL, 0, take_sample, &reading);
    reading_close(&reading);
    return error ? error : name_workers(run);
}

/* ---- looks of a trace that grows ---- */

/* More texts than this are forgotten: then all of a reading are read anew. */
#define GV_IDLE_LOOKS_KNOWN 4096

struct gv_idle_looks {
    struct idle_reading reading;
    sqlite3_stmt *some;
};

int gv_idle_looks_open(sqlite3 *trace, struct gv_idle_looks **looks)
{
    int error = (*looks = calloc(1, sizeof(**looks))) ? 0 : -ENOMEM;

    if (!error)
        error = gv_idle_run_open(trace, &(*looks)->reading.run);
    if (!error)
        error = reading_open(&(*looks)->reading);
    if (!error)
        error = prepare(trace, sql_samples_some, &(*looks)->some);
    return error;
}

void gv_idle_looks_close(struct gv_idle_looks *looks)
{
    if (!looks)
        return;
    sqlite3_finalize(looks->some);
    reading_close(&looks->reading);
    if (looks->reading.run)
        gv_idle_run_close(looks->reading.run);
    free(looks);
}

bool gv_idle_looks_are_full(const struct gv_idle_looks *looks)
{
    const struct gv_idle_run *run = looks->reading.run;

    return run->verdict_count > GV_IDLE_LOOKS_KNOWN || run->stack_count > GV_IDLE_LOOKS_KNOWN;
}

static void look_tell(struct gv_idle_looks *looks, const struct gv_idle_sample *sample,
                      gv_idle_look_take *take, void *context)
{
    const struct gv_idle_run *run = looks->reading.run;
    const struct gv_idle_verdict *verdict = &run->verdicts[sample->verdict];
    const struct gv_key key = {{(uint64_t)verdict->stack, 0, 0}};
    int64_t stack = verdict->stack ? gv_key_map_find(&run->stack_numbers, &key) : 0;
    uint32_t line = stack ? run->stacks[stack - 1].line : 0;

    take(context, &(struct gv_idle_look){
                      .at_ns = sample->at_ns,
                      .thread = sample->thread,
                      .reason = gv_idle_reasons[verdict->reason].name,
                      .detail = verdict->detail,
                      .where = line ? run->lines[line - 1] : NULL,
                  });
}

int gv_idle_looks_read(struct gv_idle_looks *looks, int64_t after, int64_t until,
                       gv_idle_look_take *take, void *context)
{
    const int64_t some[] = {after, until};
    struct gv_idle_run *run = looks->reading.run;
    int error;

    run->sample_count = 0;
    error = gv_database_rows(looks->some, some, 2, take_sample, &looks->reading);
    if (!error)
        error = name_workers(run);
    for (size_t i = 0; i < run->sample_count && !error; i++)
        look_tell(looks, &run->samples[i], take, context);
    return error;
}

void gv_idle_most_add(struct gv_idle_most *most, int64_t stack)
{
    if (most->votes == 0)
        most->stack = stack;
    most->votes += most->stack == stack ? 1 : -1;
}

size_t gv_idle_samples_from(const struct gv_idle_run *run, int64_t thread, int64_t at_ns)
{
    size_t low = 0, high = run->sample_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gv_idle_sample *sample = &run->samples[middle];
        if (sample->thread < thread || (sample->thread == thread && sample->at_ns < at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
