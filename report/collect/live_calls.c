/* Sums of calls: by class, the slow ones, those that stand for a line. */
#include "report/collect/live.h"

#include "report/analyse/names/stack_text.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <string.h>

/* Of a call, waiting for a CPU, that explains it. */
#define LIVE_DELAYED_PERCENT 80
/* Operations that a stream holds, nearly: docs/stalls.md. */
#define LIVE_QUEUE 900

static const char *const work_words[] = {
    [GV_GPU_WORK_KERNEL] = "kernel",
    [GV_GPU_WORK_GRAPH] = "graph",
    [GV_GPU_WORK_MOVE] = "copy or set",
};

void gv_live_know_api(struct gv_live *live, const char *name, const char *class_name,
                      struct gv_live_api *api)
{
    *api = (struct gv_live_api){.rule = gv_stall_rule_find(name, class_name),
                                .of_nccl = strcmp(class_name, "collective") == 0};
    if (!live)
        return;
    api->calls = gv_live_find(live, GV_LIVE_call, class_name, NULL);
    snprintf(api->class_name, sizeof(api->class_name), "%s", class_name);
    if (api->rule->work != GV_GPU_WORK_NONE)
        api->launches = gv_live_find(live, GV_LIVE_launch, work_words[api->rule->work], NULL);
    if (api->rule->work == GV_GPU_WORK_MOVE)
        api->bytes = gv_live_find(live, GV_LIVE_bytes, class_name, NULL);
}

/* ---- one call ---- */

/* Of a process whose GPU side is not recorded: it has no work from the return of a call that waited
 * for it to the next call that gives it some. */
static void host_idle(struct gv_live_process *process, const struct gv_live_api *api,
                      const struct gv_live_call *call)
{
    const struct gv_stall_rule *rule = api->rule;
    bool waits = rule->flags & GV_CALL_DRAINS && !(rule->flags & GV_CALL_OF_EVENT) &&
                 (rule->cause == GV_CAUSE_EXPLICIT_SYNC || rule->cause == GV_CAUSE_SYNC_COPY);

    if (rule->work != GV_GPU_WORK_NONE) {
        if ((!process->worked && !process->resumed) || process->waited)
            gv_live_idle(process->live,
                         &(struct gv_live_gap){
                             .thread = call->thread,
                             .start_ns = process->worked ? process->waited_ns : process->start_ns,
                             .end_ns = call->start_ns,
                         });
        process->worked = true;
        process->waited = false;
        process->thread = call->thread;
    }
    if (waits && process->worked && !process->waited) {
        process->waited = true;
        process->waited_ns = call->end_ns;
    }
}

static void settle_first(struct gv_live *live);

static void keep_slow(struct gv_live_process *process, const struct gv_live_api *api,
                      const struct gv_live_call *call)
{
    struct gv_live *live = process->live;

    if (live->slow_count == GV_LIVE_SLOW)
        settle_first(live);
    live->slow_ids[(uint64_t)call->id % GV_LIVE_SAMPLED] = call->id;
    live->slow[live->slow_count++] = (struct gv_live_slow){
        .call = *call,
        .process = *process,
        .rule = api->rule,
        .what = gv_account_of_class(gv_api_class_find(api->class_name)),
    };
}

void gv_live_take_call(struct gv_live_process *process, const struct gv_live_api *api,
                       const struct gv_live_call *call)
{
    struct gv_live *live = process->live;
    int64_t ns = call->end_ns - call->start_ns;

    if (!live)
        return;
    gv_live_add(api->calls, call->count, ns);
    if (gv_result_is_failure(api->of_nccl, call->result))
        gv_live_add(gv_live_find(live, GV_LIVE_failed, api->class_name, NULL), call->count, ns);
    else
        gv_live_add(api->launches, call->count, ns);
    if (api->bytes && call->bytes > 0)
        gv_live_add(api->bytes, call->bytes, 0);
    live->calls[(uint64_t)call->id % GV_LIVE_CALLS] = *call;
    live->calls[(uint64_t)call->id % GV_LIVE_CALLS].rule = api->rule;
    live->called[(uint64_t)call->thread % GV_LIVE_THREADS].thread = call->thread;
    live->called[(uint64_t)call->thread % GV_LIVE_THREADS].end_ns = call->end_ns;
    if (call->end_ns > live->page.call_ns)
        live->page.call_ns = call->end_ns;
    if (!process->gpu_seen && call->result == 0)
        host_idle(process, api, call);
    if (ns >= live->threshold_ns && call->result != GV_RESULT_NOT_READY &&
        !gv_cause_is_expected(api->rule->cause))
        keep_slow(process, api, call);
}

/* Only what gives a GPU work has a line. */
void gv_live_stack(struct gv_live *live, int64_t call, int64_t stack, int64_t weight)
{
    const struct gv_live_call *known = live ? &live->calls[(uint64_t)call % GV_LIVE_CALLS] : NULL;

    if (known && known->id == call && known->rule->work != GV_GPU_WORK_NONE && weight > 0)
        live->sampled[(uint64_t)call % GV_LIVE_SAMPLED] = (struct gv_live_sampled){
            .call = call, .stack = stack, .weight = weight, .count = weight};
}

void gv_live_load(struct gv_live *live, const char *kind, int64_t ns)
{
    if (live)
        gv_live_add(gv_live_find(live, GV_LIVE_load, kind, NULL), 1, ns);
}

void gv_live_take_jit(const struct gv_live_process *process, int64_t start_ns, int64_t end_ns)
{
    struct gv_live *live = process->live;

    if (live)
        live->jits[live->jit_next++ % GV_LIVE_JITS] =
            (struct gv_live_jit){process->id, start_ns, end_ns};
}

void gv_live_loads(struct gv_live *live, int64_t call)
{
    const struct gv_live_call *known = live ? &live->calls[(uint64_t)call % GV_LIVE_CALLS] : NULL;
    struct gv_live_slow *slow;

    /* A call that is there to load has a record of its own. */
    if (!call || !known || known->id != call || known->rule->cause == GV_CAUSE_MODULE_LOAD)
        return;
    gv_live_load(live, "lazy", known->end_ns - known->start_ns);
    slow = gv_live_slow_of(live, call);
    if (slow)
        slow->loads = true;
}

/* ---- lines ---- */

/* The line of the program that a stack stands for. NULL: it is not known, or not yet. */
static const struct gv_live_known *line_of(struct gv_live *live, int64_t stack)
{
    struct gv_live_known *known = &live->known[(uint64_t)stack % GV_LIVE_KNOWN];
    char text[2 * GV_LIVE_TEXT_BYTES] = "";

    if (stack == 0 || !live->trace)
        return NULL;
    if (known->stack == stack)
        return known;
    if ((!live->line && gv_stack_line_prepare(live->trace, &live->line) != 0) ||
        gv_stack_line(live->line, stack, text, sizeof(text)) != 0 || !text[0])
        return NULL;
    known->stack = stack;
    gv_live_text(known->text, text);
    return known;
}

static void settle_sampled(struct gv_live *live)
{
    for (size_t i = 0; i < GV_LIVE_SAMPLED; i++) {
        struct gv_live_sampled *one = &live->sampled[i];
        const struct gv_live_known *line =
            one->count || one->gpu_ns ? line_of(live, one->stack) : NULL;
        if (!line)
            continue;
        gv_live_add(gv_live_find(live, GV_LIVE_line, line->text, NULL), one->count, one->gpu_ns);
        one->count = one->gpu_ns = 0;
    }
}

/* ---- slow calls ---- */

static int64_t number_of(const struct gv_live *live, const char *sql, int64_t call)
{
    int64_t number = 0;

    if (!live->trace || gv_database_number(live->trace, sql, &call, 1, &number) != 0)
        return 0;
    return number;
}

static const char *place_of(struct gv_live *live, const struct gv_live_slow *slow)
{
    const struct gv_live_known *line = line_of(
        live, number_of(live, "SELECT stack FROM call_stack WHERE call = ?", slow->call.id));

    return line ? line->text : "";
}

static void tell_slow(struct gv_live *live, struct gv_live_slow *slow)
{
    int64_t ns = slow->call.end_ns - slow->call.start_ns;
    char name[GV_LIVE_TEXT_BYTES] = "";

    slow->told = true;
    if (ns < GV_LIVE_CALL_NS)
        return;
    gv_live_ask(live, "SELECT name FROM api WHERE id = ?", slow->call.api, name, sizeof(name));
    gv_live_longest(gv_live_find(live, GV_LIVE_slow, name, place_of(live, slow)),
                    slow->call.start_ns, ns);
}

/* For how long other threads' calls held the driver's lock meanwhile, at least. */
static int64_t locked_ns(const struct gv_live *live, const struct gv_live_slow *slow)
{
    int64_t most_ns = 0;

    for (uint32_t i = 0; slow->rule->flags & GV_CALL_HELD && i < live->slow_count; i++) {
        const struct gv_live_slow *other = &live->slow[i];
        int64_t ns = gv_time_overlap(slow->call.start_ns, slow->call.end_ns, other->call.start_ns,
                                     other->call.end_ns);
        if (other->process.id == slow->process.id && other->call.thread != slow->call.thread &&
            other->rule->flags & GV_CALL_HOLDS && ns > most_ns)
            most_ns = ns;
    }
    return most_ns;
}

static int64_t jit_ns(const struct gv_live *live, const struct gv_live_slow *slow)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < GV_LIVE_JITS; i++)
        if (live->jits[i].process == slow->process.id)
            sum_ns += gv_time_overlap(slow->call.start_ns, slow->call.end_ns,
                                      live->jits[i].start_ns, live->jits[i].end_ns);
    return sum_ns;
}

/* GV_CAUSE_COUNT: it did its own work. */
static enum gv_cause cause_of(const struct gv_live *live, const struct gv_live_slow *slow,
                              int64_t *wait_ns)
{
    const struct gv_stall_rule *rule = slow->rule;
    int64_t ns = slow->call.end_ns - slow->call.start_ns, delay_ns;
    int64_t compiled_ns = jit_ns(live, slow);

    *wait_ns = slow->process.gpu_seen ? gv_live_busy_ns(live, slow->process.id, slow->call.start_ns,
                                                        slow->call.end_ns) -
                                            (rule->flags & GV_CALL_DRAINS ? slow->own_ns : 0)
               : slow->process.worked && !slow->process.waited ? ns
                                                               : 0;
    *wait_ns -= compiled_ns < *wait_ns ? compiled_ns : *wait_ns;
    if (*wait_ns < live->threshold_ns && compiled_ns >= live->threshold_ns) {
        *wait_ns = compiled_ns;
        return GV_CAUSE_JIT;
    }
    if (*wait_ns >= live->threshold_ns && slow->loads)
        return GV_CAUSE_LAZY_LOAD;
    if (*wait_ns >= live->threshold_ns && rule->cause != GV_CAUSE_UNKNOWN &&
        (rule->cause != GV_CAUSE_QUEUE_FULL || slow->ahead >= LIVE_QUEUE))
        return rule->cause;
    if ((*wait_ns = locked_ns(live, slow)) >= live->threshold_ns)
        return GV_CAUSE_LOCK;
    delay_ns = number_of(live, "SELECT delay_ns FROM call_delay WHERE call = ?", slow->call.id);
    *wait_ns = ns;
    if (delay_ns >= ns / 100 * LIVE_DELAYED_PERCENT)
        return GV_CAUSE_DESCHEDULED;
    return rule->flags & GV_CALL_WORKS || slow->loads ? GV_CAUSE_COUNT : GV_CAUSE_UNKNOWN;
}

static void settle_slow(struct gv_live *live, const struct gv_live_slow *slow)
{
    int64_t wait_ns;
    enum gv_cause cause = cause_of(live, slow, &wait_ns);
    const char *place = place_of(live, slow);

    if (cause != GV_CAUSE_COUNT)
        gv_live_add(gv_live_find(live, GV_LIVE_stall, gv_cause_name(cause), place[0] ? place : "?"),
                    1, wait_ns);
}

/* Without a line: there are more than have room. */
static void settle_first(struct gv_live *live)
{
    settle_slow(live, &live->slow[0]);
    memmove(live->slow, live->slow + 1, --live->slow_count * sizeof(live->slow[0]));
}

static bool is_settled(const struct gv_live_slow *slow, int64_t until_ns, int64_t process)
{
    return slow->call.end_ns <= until_ns || slow->process.id == process;
}

void gv_live_calls_settle(struct gv_live *live, int64_t until_ns, int64_t process)
{
    uint32_t kept = 0;

    settle_sampled(live);
    for (uint32_t i = 0; i < live->slow_count; i++) {
        struct gv_live_slow *slow = &live->slow[i];
        if (!slow->told)
            tell_slow(live, slow);
        if (is_settled(slow, until_ns, process))
            settle_slow(live, slow);
    }
    /* Those that are settled go now: others may have waited for their locks. */
    for (uint32_t i = 0; i < live->slow_count; i++)
        if (!is_settled(&live->slow[i], until_ns, process))
            live->slow[kept++] = live->slow[i];
    live->slow_count = kept;
}
