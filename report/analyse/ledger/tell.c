/* Says in words what a finding is, and what to do. */
#include "report/analyse/ledger/findings.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <stdio.h>
#include <string.h>

#define STARTS_LEAST  3   /* fewer are those of training and of validation */
#define THEN_LEAST    25  /* the step without less of it looks the same */
#define HERE_LEAST    50  /* with less of the launches, it is blamed for those of another thread */
#define LOCKED_LEAST  10  /* the lock may be for what takes less */
#define FORWARD_LEAST 4   /* a backward pass launches two or three times as much as the forward */
#define LIMIT_LEAST   0.9 /* what can overlap, of copies: with less, most of them stay */
#define WAITS_LEAST   10  /* a line that waits for each so many launches is slow for that */
#define READS_LEAST   10  /* a step: fewer are values to log */

#define TURNS_LEAST 3   /* threads: of two, one may only hand over to the other */
#define CPUS_LOOKS  8   /* fewer say little of the CPUs that were used */
#define CPUS_MOST   1.5 /* about one was used, */
#define CPUS_LEAST  4   /* of many; fewer may be busy with other programs */

static const char unlock[] = "Do it without the lock, so that threads do it in parallel: hold "
                             "the lock only for what needs it.";

static void say_lane(const struct gv_ledger_lane *lane, int64_t ns, enum gv_ledger_phase phase,
                     char *out, size_t size)
{
    double steps = phase == GV_LEDGER_MAIN && lane->steps ? (double)lane->steps : 1;
    double ms = (double)ns / 1e6 / steps;

    snprintf(out, size,
             ms >= 10000  ? "%.0f s"
             : ms >= 1000 ? "%.1f s"
             : ms >= 10   ? "%.0f ms"
             : ms >= 1    ? "%.1f ms"
                          : "%.0f us",
             ms >= 1000 ? ms / 1000
             : ms >= 1  ? ms
                        : ms * 1000);
}

struct name {
    char text[128];
};

static int take_name(void *context, sqlite3_stmt *row)
{
    struct name *name = context;
    const char *text = (const char *)sqlite3_column_text(row, 0);

    snprintf(name->text, sizeof(name->text), "%s", text ? text : "");
    return 0;
}

/* A line that launches, by what is known of its calls: if it waits again and again, the GPU has
 * nothing queued, and no graph can take all of it. */
static int say_launching(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    struct gv_ledger_calls calls;
    struct name where = {""};
    char *text = finding->title;
    size_t size = sizeof(finding->title);
    int error;

    if (telling->kernels > 0)
        gv_format_add(text, size, "; kernels take %.1f us on average",
                      (double)telling->kernel_ns / 1e3 / (double)telling->kernels);
    if (!finding->place)
        return 0;
    error =
        gv_ledger_calls_at(telling->ledger, telling->rows, lane->process, finding->place, &calls);
    if (error || calls.launches_here <= calls.launches / HERE_LEAST)
        return error;
    gv_format_add(text, size, ", and about %.0f %% of the launches are here",
                  100 * calls.launches_here / calls.launches);
    if (calls.waits_here <= calls.launches_here / WAITS_LEAST)
        return 0;
    gv_format_add(text, size, ", with a wait for the GPU for each %.1f of them",
                  calls.launches_here / calls.waits_here);
    if (calls.wait_place != finding->place)
        error = gv_database_each(telling->ledger->trace, sql_place_words, &calls.wait_place, 1,
                                 take_name, &where);
    if (*where.text)
        gv_format_add(text, size, " (%s)", where.text);
    snprintf(finding->fix, sizeof(finding->fix),
             "Wait for the GPU less often %s (.item(), .cpu(), a copy, synchronize()): leave "
             "the values on the GPU and read them together. Then launch less: merge operations, "
             "or use larger batches or fused kernels.",
             *where.text ? "there" : "here");
    return error;
}

/* What runs on the host at the program's line may be a library's. */
static int say_callee(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                      int64_t stack)
{
    struct name name = {""};
    int error = 0;

    switch (finding->what) {
    case GV_ACCOUNT_PYTHON:
    case GV_ACCOUNT_NATIVE:
    case GV_ACCOUNT_HOST_CODE:
    case GV_ACCOUNT_LAUNCHING:
    case GV_ACCOUNT_THREAD_LOCK:
    case GV_ACCOUNT_NETWORK:
    case GV_ACCOUNT_IO:
        error = gv_database_each(telling->ledger->trace, sql_callee, &stack, 1, take_name, &name);
        if (*name.text)
            gv_format_add(finding->title, sizeof(finding->title), ", mostly %s", name.text);
        return error;
    default:
        return 0;
    }
}

static int is_backward(const struct gv_ledger_telling *telling, int64_t stack, bool *is)
{
    int64_t found = 0;
    int error = gv_database_number(telling->ledger->trace, sql_is_backward, &stack, 1, &found);

    *is = found != 0;
    return error;
}

/* A backward pass has no lines of its own: what it goes back through is what is launched elsewhere.
 */
int gv_ledger_tell_backward(const struct gv_ledger_telling *telling, struct gv_ledger_finding *list,
                            size_t count)
{
    struct gv_ledger_finding *forward = NULL;
    struct name where = {""};
    int64_t all_ns = 0;
    int error = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].what != GV_ACCOUNT_LAUNCHING || list[i].is_backward)
            continue;
        all_ns += list[i].lost_ns;
        if (list[i].place && (!forward || list[i].lost_ns > forward->lost_ns))
            forward = &list[i];
    }
    for (size_t i = 0; i < count && forward && !error; i++) {
        if (!list[i].is_backward || forward->lost_ns < list[i].lost_ns / FORWARD_LEAST ||
            forward->lost_ns <= all_ns / 2)
            continue;
        error = gv_database_each(telling->ledger->trace, sql_place_words, &forward->place, 1,
                                 take_name, &where);
        gv_format_add(list[i].title, sizeof(list[i].title),
                      "; it is mostly the backward pass of %s", where.text);
    }
    return error;
}

struct host_function {
    char name[128];
    int64_t stack;
};

static int take_host_function(void *context, sqlite3_stmt *row)
{
    struct host_function *function = context;

    snprintf(function->name, sizeof(function->name), "%s", gv_database_text(row, 0));
    function->stack = sqlite3_column_int64(row, 1);
    return 0;
}

/* What queued work waited for: a function that a stream ran on the CPU, or another process, whose
 * kernels take turns with these. */
static int say_queued(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    const int64_t borders[] = {lane->begin_ns, lane->main_ns, lane->main_end_ns, lane->end_ns};
    const int64_t from_ns = borders[finding->phase], to_ns = borders[finding->phase + 1];
    const int64_t on_host[] = {lane->process, from_ns, to_ns, finding->lost_ns};
    const int64_t values[] = {lane->process, lane->device, from_ns, to_ns};
    sqlite3 *trace = telling->ledger->trace;
    struct host_function function = {.stack = 0};
    struct name other = {""};
    int error =
        gv_database_each(trace, sql_host_function, on_host, 4, take_host_function, &function);

    if (!error && function.stack) {
        snprintf(finding->title, sizeof(finding->title),
                 "work that was queued waited while its stream ran %s on the CPU", function.name);
        snprintf(finding->fix, sizeof(finding->fix),
                 "Do this work in a thread that waits for an event, instead of in the stream "
                 "(cudaLaunchHostFunc, cudaStreamAddCallback), or in a stream of its own.");
        return gv_place_of_stack(trace, &telling->rows->places, function.stack, &finding->place);
    }
    if (!error)
        error = gv_database_each(trace, sql_sharing, values, 4, take_name, &other);
    if (error || !*other.text)
        return error;
    snprintf(finding->title, sizeof(finding->title),
             "queued work waited while another process also used the GPU: %s", other.text);
    snprintf(finding->fix, sizeof(finding->fix),
             "Kernels of two processes take turns: let it run alone on the GPU, and look again.");
    return 0;
}

/* Native code without a line of its own, and without one of Python: the finding's line is that of
 * the next call, and the code may be nearer to the last one. */
static int say_between(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                       const struct gv_ledger_row *most)
{
    const struct gv_ledger_pair *pair = &telling->ledger->pairs[most->pair];
    int64_t api = GV_LEDGER_API(pair->before), place = 0;
    struct name where = {""}, call = {""};
    int error = 0;

    if (most->pair && !most->borrowed && finding->place == most->place)
        error = gv_ledger_place_before(telling->ledger, telling->rows, most->pair, &place);
    if (error || !place || place == finding->place)
        return error;
    error = gv_database_each(telling->ledger->trace, sql_place_words, &place, 1, take_name, &where);
    if (!error)
        error = gv_database_each(telling->ledger->trace, "SELECT name FROM api WHERE id = ?", &api,
                                 1, take_name, &call);
    if (*where.text && *call.text)
        gv_format_add(finding->title, sizeof(finding->title), ", between %s (%s) and here",
                      where.text, call.text);
    return error;
}

/* While it works, or waits, one other thread or more wait for a lock: of threads that work one at a
 * time. */
static int say_waiting(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                       const struct gv_idle_lock *lock)
{
    bool is_own = 2 * lock->own > lock->looks, is_wanted = 2 * lock->wanted > lock->looks;
    int64_t others = (lock->waiting + lock->looks / 2) / lock->looks, place = 0;
    char *title = finding->title;
    size_t size = sizeof(finding->title);
    struct name where = {""};
    int error = lock->stack ? gv_place_of_stack(telling->ledger->trace, &telling->rows->places,
                                                lock->stack, &place)
                            : 0;

    if (!error && place)
        error =
            gv_database_each(telling->ledger->trace, sql_place_words, &place, 1, take_name, &where);
    if (others > 0)
        gv_format_add(title, size, ", while %s%lld other thread%s for a lock",
                      is_wanted ? "it and " : "", (long long)others,
                      others > 1  ? "s wait"
                      : is_wanted ? " wait"
                                  : " waits");
    else
        gv_format_add(title, size, ", for a lock");
    if (*where.text)
        gv_format_add(title, size, " (%s)", where.text);
    if (is_own)
        gv_format_add(title, size, " that this thread holds");
    else if (lock->what_votes && lock->what < GV_ACCOUNTS)
        gv_format_add(title, size, "; its holder: %s", gv_account_say(lock->what).meaning);
    snprintf(finding->fix, sizeof(finding->fix), "%s",
             is_own ? unlock
                    : "The threads take turns: hold the lock only for what needs it, or give "
                      "each thread its own copy of what it protects.");
    return error;
}

/* How many CPUs the process used in this time of the looks, if it was about one of many; 0: it was
 * not, or is not known. */
static double one_cpu(const struct gv_idle_cpus *cpus, double ns)
{
    return cpus->looks >= CPUS_LOOKS && cpus->may_use >= CPUS_LEAST && ns > 0 &&
                   cpus->process_ns < CPUS_MOST * ns
               ? cpus->process_ns / ns
               : 0;
}

/* Threads that are seen to run at one line, but never at once: a lock of Python's does not say who
 * has it, or waits. */
static void say_turns(struct gv_ledger_finding *finding, const struct gv_ledger_verdict *verdict)
{
    double used = one_cpu(&verdict->cpus, verdict->cpus.span_ns);

    if (!(used > 0) || verdict->threads < TURNS_LEAST || finding->phase != GV_LEDGER_MAIN)
        return;
    gv_format_add(
        finding->title, sizeof(finding->title),
        "; %d%s threads run that line, one at a time (the process uses %.1f of %lld CPUs)",
        verdict->threads, verdict->threads == GV_IDLE_THREADS_MOST ? " or more" : "", used,
        (long long)verdict->cpus.may_use);
    snprintf(finding->fix, sizeof(finding->fix),
             "Let them work at once: hold the lock only for what needs it, hand out several pieces "
             "of work at a time, or use processes.");
}

/* Native code that has all CPUs to itself, and uses one. */
static void say_one_cpu(struct gv_ledger_finding *finding, const struct gv_idle_cpus *cpus)
{
    double used = one_cpu(cpus, cpus->thread_ns);

    if (!(used > 0) || finding->phase != GV_LEDGER_MAIN || 2 * finding->lost_ns < finding->phase_ns)
        return;
    gv_format_add(finding->title, sizeof(finding->title), "; the process uses %.1f of %lld CPUs",
                  used, (long long)cpus->may_use);
    gv_format_add(finding->fix, sizeof(finding->fix),
                  " If this code can run in parallel, give it more threads (OMP_NUM_THREADS, "
                  "torch.set_num_threads()).");
}

/* Work on the CPU that a thread does while it has a lock, and others wait for that. */
static int say_lock(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                    const struct gv_ledger_verdict *verdict, uint32_t stack)
{
    const struct gv_idle_lock *lock = verdict ? &verdict->lock : NULL;
    const struct gv_ledger *ledger = telling->ledger;
    const struct gv_ledger_process *process =
        &ledger->processes[ledger->lanes[finding->lane].process];
    struct name where = {""};
    int error = 0;

    if (lock && lock->looks && lock->waiting + lock->wanted >= lock->looks &&
        finding->phase == GV_LEDGER_MAIN && finding->what != GV_ACCOUNT_NO_CPU &&
        (finding->what == GV_ACCOUNT_THREAD_LOCK || 2 * lock->own > lock->looks))
        return say_waiting(telling, finding, lock);
    if (finding->what == GV_ACCOUNT_THREAD_LOCK && verdict)
        say_turns(finding, verdict);
    if (finding->what != GV_ACCOUNT_NATIVE)
        return 0;
    for (size_t i = 0; i < GV_LEDGER_SEEN_AT && !error; i++) {
        const struct gv_ledger_seen_at *at = &process->locked_at[i];
        const int64_t stacks[] = {at->stack, stack};
        if (!at->looks || at->looks < process->rounds)
            continue;
        error = gv_database_each(ledger->trace, sql_lock_around, stacks, 2, take_name, &where);
        if (error || !*where.text)
            continue;
        gv_format_add(finding->title, sizeof(finding->title),
                      ", while %.1f threads wait for a lock that this thread holds (%s)",
                      (double)at->looks / process->rounds, where.text);
        snprintf(finding->fix, sizeof(finding->fix), "%s", unlock);
        return 0;
    }
    if (!error && verdict)
        say_one_cpu(finding, &verdict->cpus);
    return error;
}

/* A library's threads bring the arguments of a call to the device, for which this thread waits; or
 * each step copies what it works on to the device, and back. */
static int say_copies(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                      const struct gv_ledger_row *most)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    const int64_t values[] = {finding->place, lane->process, lane->steps}, stack = most->stack;
    int64_t copies = 0;
    struct name keeps = {""};
    int error = 0;

    if (finding->what == GV_ACCOUNT_THREAD_LOCK)
        copies = 2 * most->before_copy_ns >= most->total_ns;
    else if (lane->steps)
        error = gv_database_number(telling->ledger->trace, sql_copies_back, values, 3, &copies);
    if (!error && copies)
        error = gv_database_each(telling->ledger->trace, sql_keeps, &stack, 1, take_name, &keeps);
    if (error || !copies)
        return error;
    if (finding->what == GV_ACCOUNT_THREAD_LOCK) {
        snprintf(finding->title, sizeof(finding->title),
                 "waiting for another thread, which prepares data for copies to the GPU");
        snprintf(
            finding->fix, sizeof(finding->fix),
            "Copy the data to the GPU once, before the loop, and keep it there%s. Copy what is "
            "new in each step while the GPU computes.",
            keeps.text);
        return 0;
    }
    finding->saves_ns = finding->lost_ns; /* more than what is pinned saves */
    snprintf(finding->title, sizeof(finding->title),
             "copies to the GPU and back again and again, from and to pageable memory");
    snprintf(finding->fix, sizeof(finding->fix),
             "Copy the data to the GPU once, before the loop, and keep it there%s; copy back only "
             "what the host reads. Use pinned memory for what must move in each step.",
             keeps.text);
    return 0;
}

/* Why copies do not run beside kernels, and where most of them are. */
static int say_exposed(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    const int64_t values[] = {finding->place, lane->process};
    sqlite3 *trace = telling->ledger->trace;
    int64_t stack = 0, place = 0;
    struct name where = {""};
    int error = gv_database_number(trace, sql_copies_most, values, 2, &finding->place);

    if (!error && 2 * finding->awaited_ns >= finding->exposed_ns) {
        error = gv_database_number(trace, sql_copies_await, values, 2, &stack);
        if (!error && stack)
            error = gv_place_of_stack(trace, &telling->rows->places, stack, &place);
        if (!error && place)
            error = gv_database_each(trace, sql_place_words, &place, 1, take_name, &where);
        gv_format_add(finding->title, sizeof(finding->title),
                      "; their stream first waits for other streams%s%s",
                      *where.text ? ", at " : "", where.text);
        snprintf(finding->fix, sizeof(finding->fix),
                 "Let that stream wait only for the last work on the same buffer, with an event "
                 "recorded right after it, not for everything queued: the copies then run beside "
                 "kernels.");
    }
    if (lane->copies_save < LIMIT_LEAST)
        gv_format_add(
            finding->fix, sizeof(finding->fix),
            " Also copy less: the copies take longer than the work they can overlap with.");
    return error;
}

/* A line that reads what is on the device piece by piece waits for each, whoever brings it. */
static int say_reads(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    const int64_t values[] = {finding->place, lane->process};
    int64_t reads = 0;
    int error = gv_database_number(telling->ledger->trace, sql_reads, values, 2, &reads);

    if (error || reads < READS_LEAST * lane->steps)
        return error;
    gv_format_add(finding->title, sizeof(finding->title),
                  "; it reads from the GPU piece by piece: %lld small copies to the host a step",
                  (long long)(reads / lane->steps));
    snprintf(finding->fix, sizeof(finding->fix),
             "Copy all of it to the host at once, before the loop that reads it "
             "(numpy.asarray(), .cpu(), .tolist(), one cudaMemcpy), and read it there.");
    finding->keeps_fix = true;
    return 0;
}

int gv_ledger_tell_managed(sqlite3 *trace, struct gv_ledger_finding *finding)
{
    char fix[GV_LEDGER_TEXT_BYTES];
    int64_t has = 0;
    int error = gv_database_number(trace, sql_has_managed, NULL, 0, &has);

    if (error || !has)
        return error;
    gv_format_add(finding->title, sizeof(finding->title),
                  "; it may touch managed memory, whose pages then move");
    snprintf(fix, sizeof(fix), "%s",
             *finding->fix ? finding->fix : gv_account_say(finding->what).advice);
    snprintf(finding->fix, sizeof(finding->fix),
             "If this code touches managed memory, its pages move between the host and the GPU: "
             "copy only what is needed to a buffer of its own, or prefetch them "
             "(cudaMemPrefetchAsync).");
    gv_format_add(finding->fix, sizeof(finding->fix), " %s", fix);
    return 0;
}

/* What a thread does, or waits for, around each copy to the host. */
static bool may_read(uint32_t what)
{
    return what == GV_ACCOUNT_PYTHON || what == GV_ACCOUNT_NATIVE || what == GV_ACCOUNT_HOST_CODE ||
           what == GV_ACCOUNT_THREAD_LOCK || what == GV_ACCOUNT_WAITS ||
           what == GV_ACCOUNT_ROUND_TRIP;
}

static bool runs_on_host(uint32_t what)
{
    return what == GV_ACCOUNT_NATIVE || what == GV_ACCOUNT_HOST_CODE;
}

/* It waits about once for each start of a loader's workers: for the first that they read. */
static bool waits_for_starts(const struct gv_ledger_finding *finding,
                             const struct gv_ledger_verdict *verdict)
{
    return finding->what == GV_ACCOUNT_DATA && verdict && verdict->beside == GV_ACCOUNTS &&
           verdict->times >= STARTS_LEAST && finding->count <= 2 * (int64_t)verdict->times;
}

void gv_ledger_tell_then(const struct gv_ledger *ledger, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[finding->lane];
    int64_t main_ns = lane->main_end_ns - lane->main_ns;
    char time[64], now[64];

    if (finding->saves_ns > main_ns / THEN_LEAST && finding->phase == GV_LEDGER_MAIN &&
        lane->steps) {
        say_lane(lane, main_ns - finding->saves_ns, finding->phase, time, sizeof(time));
        say_lane(lane, main_ns, finding->phase, now, sizeof(now));
        snprintf(finding->then, sizeof(finding->then), "at best %s a step instead of %s%s", time,
                 now, finding->with_waits ? ", the waits for it included" : "");
    }
}

/* What it was, of the parts that one line claims. */
int gv_ledger_tell(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                   const struct gv_ledger_row *most, uint32_t stack)
{
    const struct gv_ledger_lane *lane = &telling->ledger->lanes[finding->lane];
    const struct gv_account_words words = gv_account_say(finding->what);
    const struct gv_ledger_verdict *verdict =
        finding->verdict ? &telling->ledger->verdicts[finding->verdict - 1] : NULL;
    const char *detail = verdict ? verdict->detail : NULL;
    int64_t api = most->api;
    struct name name = {""}, where = {""};
    int error = api ? gv_database_each(telling->ledger->trace, "SELECT name FROM api WHERE id = ?",
                                       &api, 1, take_name, &name)
                    : 0;

    if (!error && finding->then_place)
        error = gv_database_each(telling->ledger->trace, sql_place_words, &finding->then_place, 1,
                                 take_name, &where);

    /* At the end of a program, its collector frees what is left. */
    snprintf(finding->fix, sizeof(finding->fix), "%s",
             finding->what == GV_ACCOUNT_GC && finding->phase == GV_LEDGER_END ? ""
             : verdict && finding->what == GV_ACCOUNT_DATA && verdict->beside == GV_ACCOUNT_IMPORT
                 ? "Keep the workers from epoch to epoch (persistent_workers=True), instead of "
                   "restarting them, and import only what they need."
             : waits_for_starts(finding, verdict)
                 ? "Keep the workers from epoch to epoch (persistent_workers=True), instead of "
                   "restarting them, and do less when one starts."
             : verdict && verdict->beside < GV_ACCOUNTS ? gv_account_say(verdict->beside).advice
                                                        : words.advice);
    if (finding->what == GV_ACCOUNT_WAITS)
        snprintf(finding->title, sizeof(finding->title),
                 "the host waits %s%s, then the GPU is idle: %s%s%s",
                 *name.text ? "in " : "for the GPU", name.text,
                 gv_account_say(*where.text ? finding->then_what : most->what).meaning,
                 *where.text ? ", mostly at " : "", where.text);
    else if (finding->what == GV_ACCOUNT_GIL && detail && strncmp(detail, "thread ", 7) != 0)
        snprintf(finding->title, sizeof(finding->title),
                 "the thread that feeds the GPU waits for the GIL, held here: %s", detail);
    else if (detail || (*name.text && finding->what >= GV_ACCOUNTS))
        snprintf(finding->title, sizeof(finding->title), "%s%s%s", words.meaning,
                 detail ? ": " : ", in ", detail ? detail : name.text);
    else
        snprintf(finding->title, sizeof(finding->title), "%s%s", words.meaning,
                 finding->phase == GV_LEDGER_END ? ", at the program's end" : "");
    if (*where.text) {
        snprintf(finding->fix, sizeof(finding->fix),
                 "Do what the host does there on the GPU, less often, or while the GPU has other "
                 "work.");
        finding->keeps_fix = true;
    }
    if (waits_for_starts(finding, verdict))
        gv_format_add(finding->title, sizeof(finding->title),
                      "; mostly for workers to start, which happened %d times", verdict->times);
    if (!error && !detail)
        error = say_callee(telling, finding, most->stack);
    if (!error && finding->what == GV_ACCOUNT_LAUNCHING)
        error = say_launching(telling, finding);
    if (!error && finding->what == GV_ACCOUNT_LAUNCHING)
        error = is_backward(telling, most->stack, &finding->is_backward);
    if (!error && finding->what == GV_ACCOUNT_QUEUED)
        error = say_queued(telling, finding);
    if (!error && finding->what == GV_ACCOUNT_NATIVE)
        error = say_between(telling, finding, most);
    if (!error && finding->phase == GV_LEDGER_MAIN && !detail &&
        (finding->what == GV_ACCOUNT_THREAD_LOCK || finding->what == GV_ACCOUNT_COPY_PAGEABLE))
        error = say_copies(telling, finding, most);
    if (!error && finding->what == GV_ACCOUNT_COPY_EXPOSED)
        error = say_exposed(telling, finding);
    if (!error && finding->phase == GV_LEDGER_MAIN && lane->steps && finding->place &&
        may_read(finding->what))
        error = say_reads(telling, finding);
    if (!error && finding->lost_ns >= finding->phase_ns / LOCKED_LEAST)
        error = say_lock(telling, finding, verdict, most->stack);
    if (!error && finding->phase == GV_LEDGER_MAIN &&
        runs_on_host(finding->what == GV_ACCOUNT_WAITS ? most->what : finding->what))
        error = gv_ledger_tell_managed(telling->ledger->trace, finding);
    if (!error)
        error = gv_ledger_again_say(telling->ledger, finding, api, stack);
    gv_ledger_tell_then(telling->ledger, finding);
    return error;
}
