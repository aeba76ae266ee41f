#include "report/look/tell.h"

#include "report/analyse/idle/where_words.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/stalls/advice.h"
#include "report/analyse/stalls/rule.h"
#include "report/show/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MOSTLY(looks, all) (4 * (looks) >= 3 * (all))
#define LOCKS_MOST         64u /* in a circle */
#define BUSY_PERCENT       90
#define IDLE_PERCENT       5

/* What a thread does in a call of a class. */
static const char *class_words(enum gv_api_class class)
{
    static const char *const words[GV_CLASS_COUNT] = {
        [GV_CLASS_SYNC] = "waits for the GPU in",
        [GV_CLASS_COLLECTIVE] = "meets other ranks in",
        [GV_CLASS_COPY] = "copies in",
        [GV_CLASS_LAUNCH] = "queues work in",
        [GV_CLASS_LOAD] = "loads code in",
        [GV_CLASS_UNLOAD] = "loads code in",
        [GV_CLASS_FUNCTION] = "loads code in",
        [GV_CLASS_ALLOC] = "allocates memory in",
        [GV_CLASS_FREE] = "frees memory in",
        [GV_CLASS_INIT] = "starts or ends CUDA in",
        [GV_CLASS_CONTEXT] = "starts or ends CUDA in",
        [GV_CLASS_GRAPH] = "works on a CUDA graph in",
    };

    return class < GV_CLASS_COUNT && words[class] ? words[class] : "is in";
}

/* What follows "is"; the ledger's words (accounts.def), where they do. */
static const char *account_words(unsigned what)
{
    switch (what) {
    case GV_ACCOUNT_GC:
        return "collecting Python's garbage";
    case GV_ACCOUNT_NO_REQUEST:
        return "waiting for requests";
    case GV_ACCOUNT_BENCHMARK:
        return "trying kernels in an autotuner";
    case GV_ACCOUNT_GPUVERIFY:
        return "inside gpuverify";
    case GV_ACCOUNT_UNKNOWN:
        return "waiting for something";
    default:
        return gv_account_say(what).meaning;
    }
}

static const struct gv_look_thread *find(const struct gv_look *look, uint32_t tid)
{
    for (size_t i = 0; i < look->threads; i++)
        if (tid && look->thread[i].tid == tid)
            return &look->thread[i];
    return NULL;
}

void gv_look_say(const struct gv_look *look, const struct gv_look_part *part, char *out,
                 size_t size)
{
    const struct gv_look_thread *other = find(look, part->waits_for);

    const char *at = part->where[0] ? " at " : "", *beside;
    char room[GV_LOOK_TEXT_BYTES];

    if (part->call[0])
        snprintf(out, size, "%s %s%s%s%s", class_words(part->class),
                 strchr(part->call, '.') ? "a call of " : "", part->call, at, part->where);
    else {
        beside = gv_idle_detail_beside(part->detail[0] ? part->detail : NULL, part->where, room,
                                       sizeof(room));
        snprintf(out, size, "is %s%s%s%s%s%s", account_words(part->what),
                 part->what == GV_ACCOUNT_GIL && at[0] ? ", held at " : at, part->where,
                 beside ? " (" : "", beside ? beside : "", beside ? ")" : "");
    }
    if (other && part->what != GV_ACCOUNT_GIL)
        gv_format_add(out, size, " (thread %u, %s, has the lock)", other->tid, other->name);
}

void gv_look_say_alone(const struct gv_look *look, const struct gv_look_part *part, char *out,
                       size_t size)
{
    gv_look_say(look, part, out, size);
    if (part->without_cpu)
        gv_format_add(out, size, " (without a CPU in %u)", part->without_cpu);
}

/* ---- which threads ---- */

static bool only_waits(const struct gv_look_thread *thread)
{
    return !thread->parts || thread->part[0].what == GV_ACCOUNT_THREAD_LOCK ||
           thread->part[0].what == GV_ACCOUNT_NO_REQUEST ||
           thread->part[0].what == GV_ACCOUNT_UNKNOWN;
}

const struct gv_look_thread *gv_look_focus(const struct gv_look *look)
{
    const struct gv_look_thread *focus = find(look, look->pid), *waits_for;

    for (size_t i = 0; i < look->threads; i++) {
        const struct gv_look_thread *thread = &look->thread[i];
        if (!thread->is_own && thread->in_calls && (!focus || thread->in_calls > focus->in_calls))
            focus = thread;
    }
    if (focus && focus->in_calls)
        return focus;
    /* The main thread has ended, or what it does is not known. */
    for (size_t i = 0; i < look->threads && (!focus || !focus->parts); i++)
        if (!look->thread[i].is_own && look->thread[i].parts)
            focus = &look->thread[i];
    waits_for = focus && focus->parts ? find(look, focus->part[0].waits_for) : NULL;
    /* One that works, while the main thread waits for anything. */
    for (size_t i = 0; i < look->threads && !waits_for && (!focus || only_waits(focus)); i++)
        if (look->thread[i].runs_python && !only_waits(&look->thread[i]))
            focus = &look->thread[i];
    return focus;
}

bool gv_look_matters(const struct gv_look *look, const struct gv_look_thread *focus,
                     const struct gv_look_thread *thread)
{
    if (thread->is_own || !thread->parts)
        return false;
    return thread->tid == look->pid || thread->runs_python || thread->in_calls ||
           thread->part[0].waits_for || thread == focus ||
           thread->part[0].what == GV_ACCOUNT_NATIVE || thread->part[0].what == GV_ACCOUNT_PYTHON;
}

/* ---- in one sentence ---- */

static void say_thread(const struct gv_look *look, const struct gv_look_thread *thread, char *out,
                       size_t size)
{
    if (thread->tid == look->pid)
        snprintf(out, size, "the main thread");
    else
        snprintf(out, size, "thread %u (%s)", thread->tid, thread->name);
}

/* Threads that wait for each other's locks. 0: none; else one of them. */
static uint32_t find_deadlock(const struct gv_look *look)
{
    for (size_t i = 0; i < look->threads; i++) {
        const struct gv_look_thread *at = &look->thread[i];
        for (size_t steps = 0; at && steps < LOCKS_MOST; steps++) {
            at = at->parts && at->part[0].what != GV_ACCOUNT_GIL &&
                         MOSTLY(at->part[0].looks, look->looks)
                     ? find(look, at->part[0].waits_for)
                     : NULL;
            if (at == &look->thread[i])
                return at->tid;
        }
    }
    return 0;
}

static void say_deadlock(const struct gv_look *look, uint32_t tid, char *out, size_t size)
{
    const struct gv_look_thread *first = find(look, tid), *at = first;
    char name[128];

    snprintf(out, size, "Hangs: threads wait for each other's locks");
    do {
        say_thread(look, at, name, sizeof(name));
        gv_format_add(
            out, size, "%s%s at %s waits for that of thread %u", at == first ? ": " : ", ", name,
            at->part[0].where[0] ? at->part[0].where : "an unknown line", at->part[0].waits_for);
        at = find(look, at->part[0].waits_for);
    } while (at && at != first);
    gv_format_add(out, size, ".");
}

/* What a wait for the GPU in its call is called. */
static enum gv_cause cause_of(const struct gv_look_part *part)
{
    return part->class == GV_CLASS_COUNT
               ? GV_CAUSE_UNKNOWN
               : gv_stall_rule_find(part->call, gv_api_class_rows[part->class].name)->cause;
}

/* Whether the program did not ask to wait in its call, but may do so: the driver itself is at work
 * there, not one of its compilers. */
static bool can_wait(const struct gv_look_part *part)
{
    return part->call[0] && MOSTLY(part->in_driver, part->looks) &&
           gv_cause_waits(cause_of(part)) && !gv_cause_is_expected(cause_of(part));
}

static const char *say_gpu(const struct gv_look_part *part, int busy)
{
    bool in_call = part->call[0] != '\0';

    if (can_wait(part) && busy < 0)
        return "The host is inside a CUDA call that can wait for the GPU";
    if (can_wait(part) && busy >= BUSY_PERCENT)
        return "The GPU is busy, and the host may wait for it";
    if (part->class == GV_CLASS_SYNC)
        return busy < 0               ? "The GPU is busy, or hangs"
               : busy >= BUSY_PERCENT ? "The GPU is busy"
               : busy <= IDLE_PERCENT ? "Hangs, or waits for another process: the GPU does nothing"
                                      : "The GPU is partly busy";
    return busy < 0
               ? in_call ? "The host is inside a CUDA call" : "The host does not wait for the GPU"
           : busy >= BUSY_PERCENT ? "The GPU is busy, and the host goes on meanwhile"
           : busy <= IDLE_PERCENT ? "The GPU is idle"
                                  : "The GPU is partly busy";
}

static void say_cause(enum gv_cause cause, char *out, size_t size)
{
    const char *why = gv_cause_why(cause);
    char advice[GV_ADVICE_BYTES];

    gv_advice_write(&(struct gv_advice_facts){.in_flight = true}, cause, advice);
    snprintf(out, size, "If it waits: %c%s.", tolower((unsigned char)why[0]), why + 1);
    if (advice[0])
        gv_format_add(out, size, " %s", advice);
}

static void say_advice(const struct gv_look_part *part, int busy, char *out, size_t size)
{
    if (part->class == GV_CLASS_SYNC)
        snprintf(out, size, "%s",
                 busy >= 0 && busy <= IDLE_PERCENT
                     ? "Nothing runs that this wait could end with: what was queued waits for an "
                       "event, a host function or another process that does not come."
                     : "If it is still there after the work before it should have ended, a kernel "
                       "or a collective does not end: look at the other ranks, and see which "
                       "kernel was queued last (gpuverify run, then gpuverify top).");
    else if (part->class == GV_CLASS_COLLECTIVE)
        snprintf(out, size,
                 "A collective ends when all ranks have come: look at the others, one of them is "
                 "elsewhere.");
    else if (can_wait(part) && (busy < 0 || busy > IDLE_PERCENT))
        say_cause(cause_of(part), out, size);
    else if (!part->call[0] && part->what != GV_ACCOUNT_UNKNOWN)
        snprintf(
            out, size, "%s",
            gv_account_say(2 * part->without_cpu > part->looks ? GV_ACCOUNT_NO_CPU : part->what)
                .advice);
}

void gv_look_sum_up(const struct gv_look *look, int busy, char summary[GV_LOOK_SAID_BYTES],
                    char advice[GV_LOOK_SAID_BYTES])
{
    const struct gv_look_thread *focus = gv_look_focus(look);
    uint32_t deadlock = find_deadlock(look);
    const struct gv_look_part *part = focus && focus->parts ? &focus->part[0] : NULL;
    char name[128], what[GV_LOOK_SAID_BYTES / 2];

    summary[0] = advice[0] = '\0';
    if (look->status.state == 'T' || look->status.state == 't')
        snprintf(summary, GV_LOOK_SAID_BYTES,
                 look->status.tracer ? "It is stopped by a debugger, process %u. "
                                     : "It is stopped: kill -CONT %u lets it go on. ",
                 look->status.tracer ? look->status.tracer : look->pid);
    if (deadlock) {
        say_deadlock(look, deadlock, summary, GV_LOOK_SAID_BYTES);
        snprintf(advice, GV_LOOK_SAID_BYTES, "Take locks in the same order everywhere.");
        return;
    }
    if (!part) {
        gv_format_add(summary, GV_LOOK_SAID_BYTES, "Nothing of its threads could be seen.");
        return;
    }
    say_thread(look, focus, name, sizeof(name));
    gv_look_say_alone(look, part, what, sizeof(what));
    gv_format_add(summary, GV_LOOK_SAID_BYTES, "%s: %s %s, in %u of %u look%s",
                  !look->uses_cuda                     ? "It does not use CUDA"
                  : part->class == GV_CLASS_COLLECTIVE ? "Waits for other ranks, or hangs"
                                                       : say_gpu(part, busy),
                  name, what, part->looks, look->looks, gv_format_plural(look->looks));
    if (focus->parts > 1 && !MOSTLY(part->looks, look->looks)) {
        gv_look_say_alone(look, &focus->part[1], what, sizeof(what));
        gv_format_add(summary, GV_LOOK_SAID_BYTES, "; it %s, in %u", what, focus->part[1].looks);
    }
    gv_format_add(summary, GV_LOOK_SAID_BYTES, ".");
    if (look->uses_cuda)
        say_advice(part, busy, advice, GV_LOOK_SAID_BYTES);
    else
        snprintf(advice, GV_LOOK_SAID_BYTES, "If it started the program: gpuverify look %u --tree.",
                 look->pid);
}
