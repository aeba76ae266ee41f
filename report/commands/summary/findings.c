#include "report/commands/summary/findings.h"

#include "report/analyse/stalls/causes.h"
#include "report/analyse/stalls/sums.h"
#include "report/commands/offer.h"
#include "report/show/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines of stalls to tell. */
#define GV_SUMMARY_STALLS 3u

#define add(text, ...) gv_format_add(text, GV_SUMMARY_TEXT_BYTES, __VA_ARGS__)

/* In short; nothing if the evidence is short. */
static void item_say(const struct gv_run_facts *facts, const struct gv_finding *finding, char *out)
{
    char one[GV_FORMAT_BYTES], two[GV_FORMAT_BYTES], three[GV_FORMAT_BYTES];
    int64_t loading_ns = facts->loading_ns - facts->compiling_ns;

    switch (finding->class) {
    case GV_VERDICT_UNFINISHED:
        add(out, "%.100s %s", facts->flight,
            facts->flight_running ? "has not returned" : "had not returned when its process ended");
        break;
    case GV_VERDICT_DESCHEDULED:
        add(out, "%" PRId64 " call%s: the thread was ready to run, but waited for a CPU",
            facts->delays, gv_format_plural(facts->delays));
        break;
    case GV_VERDICT_UNEXPLAINED:
        add(out, "%" PRId64 " call%s took too long; nothing recorded explains it", facts->unknowns,
            gv_format_plural(facts->unknowns));
        break;
    case GV_VERDICT_LOAD:
        if (facts->gpu_whole)
            add(out, "starting CUDA %s, loading code %s, compiling it %s",
                gv_format_duration(one, facts->start_ns),
                gv_format_duration(two, loading_ns > 0 ? loading_ns : 0),
                gv_format_duration(three, facts->compiling_ns));
        else
            add(out, "starting CUDA %s, loading or compiling code %s",
                gv_format_duration(one, facts->start_ns),
                gv_format_duration(two, gv_time_sum(facts->loading_ns, facts->unsure_ns)));
        break;
    case GV_VERDICT_TRANSFER:
        if (facts->operations > 0)
            add(out, "%s between host and device in %" PRId64 " cop%s%s%s",
                gv_format_size(one, facts->copied_bytes), facts->copies,
                facts->copies == 1 ? "y" : "ies", facts->copy_where[0] ? ": " : "",
                facts->copy_where);
        break;
    case GV_VERDICT_LAUNCH:
        if (facts->operations > 0 && facts->launch_gaps > 0)
            add(out, "%s kernels of %s each, %s apart", gv_format_count(one, facts->kernels_run),
                gv_format_duration(two, facts->kernel_time_ns / facts->kernels_run),
                gv_format_duration(three, facts->launch_gaps_ns / facts->launch_gaps));
        break;
    case GV_VERDICT_UNDERFILLED:
        if (facts->least_blocks > 0 && facts->least_blocks < facts->multiprocessors)
            add(out, "%" PRId64 " block%s on %" PRId64 " multiprocessors: %.200s",
                facts->least_blocks, gv_format_plural(facts->least_blocks), facts->multiprocessors,
                facts->top_kernel);
        else
            add(out, "kernels had fewer blocks than the GPU's %" PRId64 " multiprocessors",
                facts->multiprocessors);
        break;
    case GV_VERDICT_IDLE_LINE:
        add(out, "i%" PRId64 " %s%s", facts->idle[finding->idle].id,
            facts->idle[finding->idle].text,
            facts->idle[finding->idle].inferred ? " (at least)" : "");
        break;
    case GV_VERDICT_IDLE:
        if (gv_run_facts_idle_call_is_known(facts))
            add(out, "no work for the GPU; the host was in CUDA calls, most in %.80s",
                facts->gap_call);
        else if (gv_run_facts_idle_in_calls(facts))
            add(out, "no work for the GPU; the host was in CUDA calls");
        else
            add(out, "no work for the GPU; the host was outside of CUDA for %s%s%s",
                gv_format_duration(one, gv_run_facts_outside_ns(facts)),
                facts->idle_lack ? "; the reason is unknown: " : "",
                facts->idle_lack ? facts->idle_lack : "");
        break;
    case GV_VERDICT_ACCELERATED:
        add(out, "the GPU computed, most in %.200s",
            facts->graph_time_ns > facts->kernel_time_ns ? "graphs" : facts->top_kernel);
        break;
    default:
        break;
    }
}

static void item_make(const struct gv_summary *summary, const struct gv_finding *finding,
                      struct gv_summary_item *item)
{
    char fix[GV_OFFER_BYTES];

    *item = (struct gv_summary_item){
        .name = gv_verdict_name(finding->class),
        .cost_ns = gv_summary_cost(summary->facts, finding),
        .saves_ns = gv_summary_saves(summary->facts, finding),
        .good = finding->class == GV_VERDICT_ACCELERATED || finding->class == GV_VERDICT_HOST,
        .may = finding->class == GV_VERDICT_UNEXPLAINED ||
               (finding->class == GV_VERDICT_LOAD && summary->facts->unsure_ns > 0) ||
               (finding->class == GV_VERDICT_IDLE_LINE &&
                summary->facts->idle[finding->idle].inferred),
    };
    /* The evidence has all that the short text says, except an idle time's name. */
    if (finding->class == GV_VERDICT_IDLE_LINE) {
        item->idle = summary->facts->idle[finding->idle].id;
        item->evidence = strstr(finding->evidence, "meanwhile "); /* not its text again */
    }
    if (!summary->evidence || item->evidence)
        item_say(summary->facts, finding, item->text);
    if (!item->text[0])
        add(item->text, "%s", finding->evidence);
    snprintf(item->fix, sizeof(item->fix), "%s: %s", item->good ? "next" : "fix",
             gv_offer_fill(fix, sizeof(fix), finding->next, summary->path, false));
}

static void item_of_line(const struct gv_summary *summary, const struct gv_stall_line *line,
                         const char *evidence, struct gv_summary_item *item)
{
    const struct gv_stall_row *worst = line->worst;
    char lost[GV_FORMAT_BYTES];
    bool inferred = worst->confidence && strcmp(worst->confidence, "inferred") == 0;

    *item = (struct gv_summary_item){
        .stall = worst->id,
        .name = gv_verdict_name(GV_VERDICT_STALLED),
        .cost_ns = line->lost_ns,
        .saves_ns = gv_summary_saves_of_wait(summary->facts, line->lost_ns),
        .may = inferred || worst->unsure,
        .evidence = evidence,
    };
    add(item->text, "s%" PRId64 " %.40s: ", worst->id, worst->cause ? worst->cause : "?");
    if (line->holder && line->count > 1)
        add(item->text, "%" PRId64 " calls", line->count);
    else
        add(item->text, "%.200s", worst->name ? worst->name : "a call");
    if (line->holder)
        add(item->text, " behind %.200s", line->holder);
    else if (line->kernel)
        add(item->text, " of %.200s", line->kernel);
    if (line->where[0])
        add(item->text, ", %.600s", line->where);
    if (!line->holder && line->count > 1)
        add(item->text, " (%" PRId64 " calls)", line->count);
    if (!line->holder && line->behind_count > 0)
        add(item->text, "; %" PRId64 " call%s behind %s lost %s", line->behind_count,
            gv_format_plural(line->behind_count), line->count > 1 ? "them" : "it",
            gv_format_duration(lost, line->behind_ns));
    if (worst->advice)
        snprintf(item->fix, sizeof(item->fix), "fix: %s", worst->advice);
}

/* ---- in their order ---- */

/* The findings of a summary, one after the other. */
struct gv_summary_walk {
    const struct gv_summary *summary;
    gv_summary_visit *visit;
    void *context;
    struct gv_summary_next next;
};

/* Some causes have a finding of their own; `waits`: so does compiling. */
static bool line_is_wait(const struct gv_stall_line *line, bool waits)
{
    enum gv_cause cause = gv_cause_find(line->worst->cause ? line->worst->cause : "");

    return !line->waits_behind && !(waits && line->worst->wait_ns == 0) &&
           cause != GV_CAUSE_LAUNCH_BLOCKING && cause != GV_CAUSE_DESCHEDULED &&
           cause != GV_CAUSE_UNKNOWN;
}

/* Returns the first of them; 0: there is none. */
static int64_t walk_stalls(const struct gv_summary_walk *walk, const char *evidence)
{
    const struct gv_summary *summary = walk->summary;
    struct gv_stall_lines lines;
    struct gv_summary_item *item = malloc(sizeof(*item));
    int error = gv_stall_lines_read(summary->trace, summary->part, &lines);
    bool waits = evidence != NULL;
    size_t told = 0, found = 0;
    int64_t first = 0;
    char see[GV_OFFER_BYTES];

    for (size_t i = 0; i < summary->verdict->count && i < GV_VERDICT_TOLD; i++)
        waits |= summary->verdict->findings[i].class == GV_VERDICT_LOAD;
    for (size_t i = 0; item && !error && i < lines.count; i++) {
        if (!line_is_wait(&lines.lines[i], waits) || ++found > GV_SUMMARY_STALLS)
            continue;
        item_of_line(summary, &lines.lines[i], told ? NULL : evidence, item);
        walk->visit(walk->context, item);
        if (told++ == 0)
            first = lines.lines[i].worst->id;
    }
    if (found > told && told > 0 && summary->facts->whole) {
        *item = (struct gv_summary_item){.name = ""};
        snprintf(item->text, sizeof(item->text), "and %zu more: %s", found - told,
                 gv_offer_fill(see, sizeof(see), "gpuverify query FILE stall-lines", summary->path,
                               true));
        walk->visit(walk->context, item);
    }
    gv_stall_lines_free(&lines);
    free(item);
    return first;
}

/* The stalls of a run that has no such finding, unless they cost little. */
static void walk_small_stalls(struct gv_summary_walk *walk)
{
    const struct gv_summary *summary = walk->summary;
    const struct gv_verdict *verdict = summary->verdict;
    struct gv_stall_sums sums;
    int64_t first;

    if (!summary->facts->whole || gv_stall_sums_read(summary->trace, &sums) != 0 ||
        gv_stall_sums_are_small(&sums))
        return;
    first = walk_stalls(walk, NULL);
    /* After a run, the whole report comes before a stall that is no finding, unless nothing else
     * held up the GPU. */
    if (summary->evidence || verdict->count == 0 ||
        verdict->findings[0].class == GV_VERDICT_ACCELERATED)
        walk->next.stall = first;
}

struct gv_summary_next gv_summary_each(const struct gv_summary *summary, gv_summary_visit *visit,
                                       void *context)
{
    struct gv_summary_walk walk = {.summary = summary, .visit = visit, .context = context};
    const struct gv_verdict *verdict = summary->verdict;
    bool told = false; /* of the stalls */
    struct gv_summary_item *item = malloc(sizeof(*item));

    for (size_t i = 0; item && i < verdict->count && i < GV_VERDICT_TOLD; i++) {
        const struct gv_finding *finding = &verdict->findings[i];
        if (finding->class == GV_VERDICT_UNEXPLAINED && !told) {
            walk_small_stalls(&walk);
            told = true;
        }
        walk.next.flight |= finding->class == GV_VERDICT_UNFINISHED;
        /* Which device a stall is about is not known. */
        if (finding->class == GV_VERDICT_STALLED && summary->part->device < 0) {
            walk.next.stall = walk_stalls(&walk, finding->evidence);
            told = true;
        }
        if (finding->class == GV_VERDICT_STALLED && walk.next.stall)
            continue;
        if (finding->class == GV_VERDICT_IDLE_LINE && !walk.next.stall && !walk.next.idle)
            walk.next.idle = summary->facts->idle[finding->idle].id;
        item_make(summary, finding, item);
        visit(context, item);
    }
    free(item);
    if (!told)
        walk_small_stalls(&walk);
    return walk.next;
}
