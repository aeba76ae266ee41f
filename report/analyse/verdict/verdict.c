#include "report/analyse/verdict/verdict.h"

#include "report/analyse/idle/reason_words.h"
#include "report/store/time_sum.h"
#include "report/show/error_words.h"
#include "report/show/shown_path.h"

#include <stdlib.h>
#include <string.h>

enum gv_verdict_limit {
#define GV_VERDICT_LIMIT(class, name, value, unit, before, after) GV_VERDICT_LIMIT_##name = (value),
#include "report/analyse/verdict/limits.def"
};

struct gv_verdict_row {
    const char *name;
    double threshold;
    const char *of;
    const char *meaning;
    const char *next;
};

static const struct gv_verdict_row verdict_rows[] = {
#define GV_VERDICT(name, text, threshold, of, meaning, next) {text, threshold, of, meaning, next},
#include "report/analyse/verdict/verdict.def"
};

const char *gv_verdict_name(enum gv_verdict_class class)
{
    return verdict_rows[class].name;
}

double gv_verdict_threshold(enum gv_verdict_class class)
{
    return verdict_rows[class].threshold;
}

const char *gv_verdict_of(enum gv_verdict_class class)
{
    return verdict_rows[class].of;
}

const char *gv_verdict_meaning(enum gv_verdict_class class)
{
    return verdict_rows[class].meaning;
}

const char *gv_verdict_next(enum gv_verdict_class class)
{
    return verdict_rows[class].next;
}

const char *gv_verdict_next_of(const struct gv_finding *finding, const char *path,
                               char out[GV_VERDICT_NEXT_BYTES])
{
    const char *place = strstr(finding->next, "FILE");
    char word[GV_SHELL_WORD_BYTES];

    if (place)
        snprintf(out, GV_VERDICT_NEXT_BYTES, "%.*s%.1000s%s", (int)(place - finding->next),
                 finding->next, gv_shown_word(word, path), place + strlen("FILE"));
    else
        snprintf(out, GV_VERDICT_NEXT_BYTES, "%s", finding->next);
    return out;
}

/* Never more than all of it. */
static double verdict_share(int64_t part_ns, int64_t whole_ns)
{
    double share = whole_ns > 0 && part_ns > 0 ? (double)part_ns / (double)whole_ns : 0;

    return share < 1 ? share : 1;
}

/* The share of the used devices' time. */
static double verdict_device_share(const struct gv_run_facts *facts, int64_t part_ns)
{
    return verdict_share(part_ns, gv_run_facts_device_ns(facts));
}

/* The share of the GPU's work that is missing: it may have filled as much of the idle time. Any
 * lost record may have been an operation. */
static double verdict_missing(const struct gv_run_facts *facts)
{
    int64_t records = facts->gpu_lost - facts->operations_lost; /* all that is in known_ns */
    double of_launches = verdict_share(
        facts->launches_missing, facts->launches_missing + facts->kernels_run + facts->graphs);
    double of_records = verdict_share(records, records + facts->operations);

    return of_launches > of_records ? of_launches : of_records;
}

/* The gaps that no missing operation can have filled. */
static int64_t verdict_gap_ns(const struct gv_run_facts *facts, int64_t gap_ns)
{
    gap_ns -= (int64_t)(verdict_missing(facts) * (double)gv_run_facts_device_ns(facts));
    return gap_ns > 0 ? gap_ns : 0;
}

static double verdict_thousandths(enum gv_verdict_limit limit)
{
    return (double)limit / 1000;
}

/* Returns the buffer for the evidence. */
static char *verdict_add(struct gv_verdict *verdict, enum gv_verdict_class class, double weight)
{
    struct gv_finding *finding = &verdict->findings[verdict->count];

    if (verdict->count == GV_VERDICT_MOST)
        return NULL;
    verdict->count++;
    finding->class = class;
    finding->weight = weight;
    finding->next = gv_verdict_next(class);
    return finding->evidence;
}

/* What ended the run, or may end the next one, comes first, then what slows every launch down;
 * unexplained stalls last. */
static int verdict_turn(enum gv_verdict_class class)
{
    switch (class) {
    case GV_VERDICT_OUT_OF_MEMORY:
    case GV_VERDICT_MEMORY_FULL:
        return 0;
    case GV_VERDICT_LAUNCH_BLOCKING:
        return 1;
    case GV_VERDICT_UNFINISHED:
        return 2;
    case GV_VERDICT_UNEXPLAINED:
        return 4;
    default:
        return 3;
    }
}

static int verdict_compare(const void *left, const void *right)
{
    const struct gv_finding *one = left, *other = right;
    int turn = verdict_turn(one->class) - verdict_turn(other->class);

    if (turn)
        return turn;
    if (one->weight != other->weight)
        return one->weight > other->weight ? -1 : 1;
    return (int)one->class - (int)other->class;
}

/* Pinned memory helps if some is pageable, larger pieces if they are small, overlap if there is
 * computing to do meanwhile. */
static const char *verdict_transfer_next(const struct gv_run_facts *facts)
{
    bool pinned = facts->pinned_bytes >= facts->copied_bytes;
    bool large = facts->copied_bytes / facts->copies >= GV_VERDICT_LIMIT_LARGE_COPY;

    if (!pinned && !large)
        return gv_verdict_next(GV_VERDICT_TRANSFER);
    if (!pinned)
        return "keep the data on the GPU from one kernel to the next, copy it from pinned memory";
    if (!large)
        return "keep the data on the GPU from one kernel to the next, copy it in larger pieces";
    if (facts->kernel_ns >= facts->host_copy_ns / GV_VERDICT_LIMIT_LITTLE_COMPUTING)
        return "keep the data on the GPU from one kernel to the next; copy the rest on a stream of "
               "its "
               "own, while kernels work on other data";
    return "keep the data on the GPU from one kernel to the next, copy less of it, or compute on "
           "the "
           "CPU: the GPU has little to compute";
}

/* However short the launches are: without the variable, the program would work meanwhile. */
static void verdict_blocking(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    if (facts->blocking_launches > 0)
        gv_verdict_say_blocking(facts,
                                verdict_add(verdict, GV_VERDICT_LAUNCH_BLOCKING,
                                            verdict_share(facts->blocking_ns, facts->window_ns)));
}

/* A program may ask for less after a failure, and end well. */
static void verdict_memory(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    bool went_on = facts->memory_still_refused == 0 || facts->refused_ended_well;
    double used = verdict_share(
        gv_time_sum(gv_time_sum(facts->peak_bytes, facts->outside_bytes), facts->other_bytes),
        facts->device_bytes);

    if (facts->memory_refused > 0)
        gv_verdict_say_refused(
            facts, went_on,
            verdict_add(verdict, went_on ? GV_VERDICT_MEMORY_FULL : GV_VERDICT_OUT_OF_MEMORY, 1));
    else if (used >= gv_verdict_threshold(GV_VERDICT_MEMORY_FULL))
        gv_verdict_say_full(facts, used, verdict_add(verdict, GV_VERDICT_MEMORY_FULL, used));
}

/* A finding about a part of the whole time, if it is large enough. */
static void verdict_part(const struct gv_run_facts *facts, struct gv_verdict *verdict,
                         enum gv_verdict_class class, int64_t part_ns,
                         void (*say)(const struct gv_run_facts *facts, char *out))
{
    double share = verdict_share(part_ns, facts->window_ns);

    if (share >= gv_verdict_threshold(class))
        say(facts, verdict_add(verdict, class, share));
}

/* The fix depends on which of the three it is. */
static const char *verdict_load_next(const struct gv_run_facts *facts)
{
    int64_t half_ns = facts->first_use_ns / 2;

    if (facts->unsure_ns > facts->first_use_ns)
        return "if it compiled, ship machine code (SASS) for this GPU, not PTX; only CUPTI shows "
               "whether"
               " it did (gpuverify doctor)";
    if (facts->start_ns >= half_ns && facts->compiling_ns >= facts->first_use_ns / 10)
        return "keep the process alive: CUDA starts once in each; ship machine code (SASS) for this"
               " GPU, not PTX";
    if (facts->start_ns >= half_ns)
        return "CUDA starts once in each process: keep the process alive, and give it more to do";
    if (facts->compiling_ns >= half_ns)
        return "ship machine code (SASS) for this GPU, not PTX; keep compiled code: the JIT "
               "cache (CUDA_CACHE_PATH), Numba's cache=True";
    return gv_verdict_next(GV_VERDICT_LOAD);
}

static void verdict_load(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    double share =
        verdict_share(gv_time_sum(facts->first_use_ns, facts->unsure_ns), facts->window_ns);

    if (share < gv_verdict_threshold(GV_VERDICT_LOAD))
        return;
    gv_verdict_say_load(facts, verdict_add(verdict, GV_VERDICT_LOAD, share));
    verdict->findings[verdict->count - 1].next = verdict_load_next(facts);
}

static void verdict_add_transfer(const struct gv_run_facts *facts, struct gv_verdict *verdict,
                                 double share)
{
    gv_verdict_say_transfer(facts, verdict_add(verdict, GV_VERDICT_TRANSFER, share));
    verdict->findings[verdict->count - 1].next = verdict_transfer_next(facts);
}

static void verdict_transfer(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    int64_t copying_ns =
        gv_time_sum(facts->host_copy_ns, verdict_gap_ns(facts, facts->copy_gap_ns));
    double share = verdict_device_share(facts, copying_ns);

    if (facts->operations > 0) {
        if (share >= verdict_thousandths(GV_VERDICT_LIMIT_COPYING) && facts->copies > 0 &&
            (double)copying_ns >=
                gv_verdict_threshold(GV_VERDICT_TRANSFER) * (double)facts->kernel_ns)
            verdict_add_transfer(facts, verdict, share);
        return;
    }
    share = verdict_share(facts->thread_copy_ns, facts->window_ns);
    if (share > verdict_thousandths(GV_VERDICT_LIMIT_UNSEEN_COPYING))
        gv_verdict_say_transfer_calls(facts, verdict_add(verdict, GV_VERDICT_TRANSFER, share));
}

static void verdict_launch(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    double share = verdict_device_share(facts, verdict_gap_ns(facts, facts->launch_gap_ns));

    if (facts->operations > 0) {
        if (facts->kernels_run >= GV_VERDICT_LIMIT_KERNELS &&
            facts->launch_gaps >= GV_VERDICT_LIMIT_KERNELS &&
            facts->kernel_time_ns / facts->kernels_run < GV_VERDICT_LIMIT_KERNEL_NS &&
            share >= gv_verdict_threshold(GV_VERDICT_LAUNCH))
            gv_verdict_say_launch(facts, verdict_add(verdict, GV_VERDICT_LAUNCH, share));
        return;
    }
    share = verdict_share(facts->thread_launch_ns, facts->window_ns);
    if (facts->launch_calls >= GV_VERDICT_LIMIT_KERNELS &&
        share > verdict_thousandths(GV_VERDICT_LIMIT_UNSEEN_LAUNCHING))
        gv_verdict_say_launch_calls(facts, verdict_add(verdict, GV_VERDICT_LAUNCH, share));
}

/* Simultaneous small kernels may fill the device together. */
static bool verdict_underfilled(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    double share = gv_run_facts_underfilled(facts);
    double filled = gv_run_facts_filled(facts);

    if (share < gv_verdict_threshold(GV_VERDICT_UNDERFILLED) ||
        filled >= verdict_thousandths(GV_VERDICT_LIMIT_FILLED))
        return false;
    gv_verdict_say_underfilled(
        facts, verdict_add(verdict, GV_VERDICT_UNDERFILLED,
                           verdict_thousandths(GV_VERDICT_LIMIT_UNDERFILLED_WEIGHT) * share *
                               (1 - filled) * verdict_device_share(facts, facts->kernel_ns)));
    return true;
}

static bool verdict_is_told(const struct gv_verdict *verdict, enum gv_verdict_class class)
{
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].class == class)
            return true;
    return false;
}

/* Whether the GPU's work is a small part of the run, and the rest mostly the program's own. */
static bool verdict_is_host(const struct gv_run_facts *facts)
{
    return facts->gpu_known &&
           verdict_share(facts->run_ns - facts->busiest_ns, facts->run_ns) >=
               gv_verdict_threshold(GV_VERDICT_HOST) &&
           (double)facts->own_idle_ns >=
               verdict_thousandths(GV_VERDICT_LIMIT_OWN_IDLE) * (double)facts->idle_ns &&
           facts->own_idle_ns > 0;
}

/* The most that the run gets shorter without this idle time: the busiest device has its work to do
 * in any case. */
static int64_t verdict_idle_saves(const struct gv_run_facts *facts,
                                  const struct gv_facts_idle *idle)
{
    int64_t most_ns = gv_time_difference(facts->run_ns, facts->busiest_ns);

    return idle->saves_ns < most_ns ? idle->saves_ns : most_ns > 0 ? most_ns : 0;
}

int64_t gv_verdict_idle_saves(const struct gv_run_facts *facts, const struct gv_finding *finding)
{
    return verdict_idle_saves(facts, &facts->idle[finding->idle]);
}

/* Idle time by reason and line. Returns how much of the time of all devices between the first call
 * and the last one is explained by these findings. */
static int64_t verdict_idle_lines(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    bool host = verdict_is_host(facts);
    int64_t told_ns = 0;

    for (int64_t i = 0; i < facts->idle_lines; i++) {
        const struct gv_facts_idle *idle = &facts->idle[i];
        double share = verdict_share(idle->saves_ns, facts->run_ns) - verdict_missing(facts);
        if (share < gv_verdict_threshold(GV_VERDICT_IDLE_LINE) || (host && idle->own) ||
            /* the gaps of which another finding tells */
            (verdict_is_told(verdict, GV_VERDICT_LAUNCH) && idle->gaps > 0 &&
             idle->total_ns / idle->gaps < GV_VERDICT_LIMIT_SHORT_GAP_NS))
            continue;
        const struct gv_idle_reason_words *words = gv_idle_reason_find(idle->reason);
        gv_verdict_say_idle_line(
            facts, idle,
            verdict_add(verdict, GV_VERDICT_IDLE_LINE,
                        verdict_share(verdict_idle_saves(facts, idle), facts->run_ns)));
        verdict->findings[verdict->count - 1].idle = (size_t)i;
        if (words)
            verdict->findings[verdict->count - 1].next = words->advice;
        told_ns = gv_time_sum(told_ns, idle->inside_ns);
    }
    if (host) {
        gv_verdict_say_host(
            facts,
            verdict_add(verdict, GV_VERDICT_HOST,
                        verdict_thousandths(GV_VERDICT_LIMIT_HOST_WEIGHT) *
                            verdict_share(facts->own_idle_ns, facts->idle_ns) *
                            verdict_share(facts->run_ns - facts->busiest_ns, facts->run_ns)));
        for (int64_t i = 0; i < facts->idle_lines; i++)
            told_ns = gv_time_sum(told_ns, facts->idle[i].own ? facts->idle[i].inside_ns : 0);
    }
    return told_ns;
}

/* Idle time that no other finding explains. */
static void verdict_idle(const struct gv_run_facts *facts, struct gv_verdict *verdict,
                         int64_t told_ns)
{
    int64_t devices_ns = gv_run_facts_device_ns(facts);
    double share = verdict_share(devices_ns - facts->busy_ns, devices_ns);

    if (verdict_is_told(verdict, GV_VERDICT_LAUNCH))
        share -= verdict_device_share(facts, facts->launch_gap_ns);
    if (verdict_is_told(verdict, GV_VERDICT_TRANSFER))
        share -= verdict_device_share(facts, facts->copy_gap_ns);
    if (verdict_is_told(verdict, GV_VERDICT_LOAD))
        share -= verdict_share(facts->first_use_ns, facts->known_ns);
    share -= verdict_missing(facts) + verdict_device_share(facts, told_ns);
    if (!facts->gpu_seen || facts->kernels_run + facts->graphs == 0 ||
        share < gv_verdict_threshold(GV_VERDICT_IDLE) || verdict_is_told(verdict, GV_VERDICT_HOST))
        return;
    gv_verdict_say_idle(facts, verdict_add(verdict, GV_VERDICT_IDLE, share));
    if (gv_run_facts_idle_in_calls(facts))
        verdict->findings[verdict->count - 1].next =
            "see which CUDA calls the host was in: gpuverify report FILE --section gaps";
    else if (facts->idle_lack)
        verdict->findings[verdict->count - 1].next =
            "look at what the program does between its CUDA calls: reading and preparing data, "
            "code that stayed on the CPU";
}

/* If the GPU side is known only in part, a finding is about no more than that part. */
static void verdict_weigh_seen(const struct gv_run_facts *facts, struct gv_verdict *verdict,
                               size_t from)
{
    for (size_t i = from; facts->operations > 0 && i < verdict->count; i++)
        verdict->findings[i].weight *= verdict_share(facts->known_ns, facts->window_ns);
}

static void verdict_launch_failed(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    const struct gv_error_words *words = gv_error_words_of("launch", facts->launch_result);

    gv_verdict_say_launch_failed(facts, verdict_add(verdict, GV_VERDICT_LAUNCH_FAILED, 1));
    if (words)
        verdict->findings[verdict->count - 1].next = words->remedy;
}

void gv_verdict_make(const struct gv_run_facts *facts, struct gv_verdict *verdict)
{
    bool ran = facts->kernels_run > 0 || facts->graphs > 0 || facts->launch_calls > 0;
    double computed = verdict_device_share(facts, facts->kernel_ns);
    size_t before;

    *verdict = (struct gv_verdict){0};
    gv_verdict_say_headline(facts, verdict->headline);
    if (facts->ranges[0]) /* between two ranges, the program does other things */
        return;
    verdict_memory(facts, verdict);
    verdict_blocking(facts, verdict);
    /* Independent of other calls of the process. */
    verdict_part(facts, verdict, GV_VERDICT_UNFINISHED, facts->flight_ns,
                 gv_verdict_say_unfinished);
    if (!ran) {
        bool failed = facts->init_result != 0;
        /* The rest of the run may have launched, or may still launch. */
        if (!failed && !(facts->whole && facts->complete))
            return;
        gv_verdict_say_no_kernel(
            facts, verdict_add(verdict, failed ? GV_VERDICT_INIT_FAILED : GV_VERDICT_NO_KERNEL, 1));
        if (!failed && facts->killed > 0)
            verdict->findings[verdict->count - 1].next =
                "find out why the program crashed, or was killed, before it launched anything";
        else if (!failed && facts->failed > 0)
            verdict->findings[verdict->count - 1].next =
                "fix what failed: gpuverify report FILE --section errors";
        return;
    }
    if (gv_run_facts_launches_failed(facts)) {
        verdict_launch_failed(facts, verdict);
        return;
    }
    if (gv_run_facts_not_run(facts)) {
        gv_verdict_say_not_run(facts, verdict_add(verdict, GV_VERDICT_NOT_RUN, 1));
        return;
    }
    verdict_part(facts, verdict, GV_VERDICT_STALLED, facts->wait_ns, gv_verdict_say_stalled);
    if (facts->late.process)
        verdict_part(facts, verdict, GV_VERDICT_LATE_RANK, facts->late.total_ns,
                     gv_verdict_say_late_rank);
    verdict_part(facts, verdict, GV_VERDICT_DESCHEDULED, facts->delay_ns, gv_verdict_say_delayed);
    verdict_part(facts, verdict, GV_VERDICT_UNEXPLAINED, facts->unknown_ns,
                 gv_verdict_say_unexplained);
    verdict_load(facts, verdict);
    before = verdict->count;
    verdict_transfer(facts, verdict);
    verdict_launch(facts, verdict);
    verdict_idle(facts, verdict, verdict_idle_lines(facts, verdict));
    if (!verdict_underfilled(facts, verdict) &&
        computed >= gv_verdict_threshold(GV_VERDICT_ACCELERATED))
        gv_verdict_say_accelerated(
            facts,
            verdict_add(verdict, GV_VERDICT_ACCELERATED,
                        verdict_thousandths(GV_VERDICT_LIMIT_ACCELERATED_WEIGHT) * computed));
    verdict_weigh_seen(facts, verdict, before);
    qsort(verdict->findings, verdict->count, sizeof(verdict->findings[0]), verdict_compare);
}
