#include "report/analyse/facts/text.h"

#include "report/show/error_words.h"
#include "report/show/format.h"

#include <inttypes.h>
#include <stdio.h>

/* CUDA_ERROR_NO_DEVICE */
#define NO_DEVICE 100

#define gv_say(out, ...) snprintf(out, GV_FACTS_SENTENCE_BYTES, __VA_ARGS__)

static const char *es(int64_t count)
{
    return count == 1 ? "" : "es";
}

/* Whether the GPU side is known only for a part of the time. */
static bool say_partly(const struct gv_run_facts *facts)
{
    return facts->known_ns < facts->window_ns;
}

/* That part: "the first 2.0 s". */
static const char *say_known(const struct gv_run_facts *facts, int64_t ns, char out[64])
{
    char known[GV_FORMAT_BYTES];

    snprintf(out, 64, facts->known_first ? "the first %s" : "the %s that were seen",
             gv_format_duration(known, ns));
    return out;
}

/* Whether operations are missing among the known ones. */
static bool say_gaps(const struct gv_run_facts *facts)
{
    return facts->gpu_lost > facts->operations_lost || gv_run_facts_lacks_launches(facts);
}

/* "3 runs of graphs", or after other runs " and 3 of graphs". */
static void add_graphs(char *out, size_t size, int64_t count, const char *what, const char *plural)
{
    bool is_first = !out[0];

    gv_format_add(out, size, "%s%" PRId64 "%s%s of %s", is_first ? "" : " and ", count,
                  is_first ? what : "", is_first ? plural : "", count == 1 ? "a graph" : "graphs");
}

/* "10 runs of 1 kernel and 3 of graphs". */
static void say_work(const struct gv_run_facts *facts, char *out, size_t size)
{
    out[0] = '\0';
    if (facts->kernels_run > 0)
        gv_format_add(out, size, "%s%" PRId64 " run%s of %" PRId64 " kernel%s",
                      say_partly(facts) || say_gaps(facts) ? "at least " : "", facts->kernels_run,
                      gv_format_plural(facts->kernels_run), facts->kernel_names,
                      gv_format_plural(facts->kernel_names));
    if (facts->graphs > 0)
        add_graphs(out, size, facts->graphs, " run", gv_format_plural(facts->graphs));
}

/* A statement about a part is not about the run. */
static const char *say_part(const struct gv_run_facts *facts)
{
    return facts->whole               ? ""
           : facts->older.minutes > 0 ? " in the time that is kept in full"
           : facts->stopped           ? " while recording was on"
                                      : " in this part of the trace";
}

/* Nor is one about a run that continues. */
static const char *say_where(const struct gv_run_facts *facts)
{
    return facts->whole && !facts->complete ? " so far" : say_part(facts);
}

static const char *say_gpu(const struct gv_run_facts *facts)
{
    return facts->simulated ? "simulated GPU" : "GPU";
}

/* For nothing in a part, or so far. */
static const char *say_not_run(const struct gv_run_facts *facts)
{
    if (!facts->whole || !facts->complete)
        return "";
    return facts->simulated ? ": the simulated GPU did not run your code"
                            : ": the GPU did not run your code";
}

/* How busy it was, the ledger says. */
static void say_seen(const struct gv_run_facts *facts, char *out)
{
    char work[128], devices[64] = "", known[64], rest[160] = "";

    say_work(facts, work, sizeof(work));
    if (facts->kernels_run + facts->graphs == 0) {
        gv_say(out, "The %s ran no kernel that was recorded%s: %" PRId64 " launch%s.",
               say_gpu(facts), say_where(facts), facts->launch_calls, es(facts->launch_calls));
        return;
    }
    if (facts->devices_used > 1)
        snprintf(devices, sizeof(devices), ", on %" PRId64 " devices", facts->devices_used);
    if (say_partly(facts))
        snprintf(rest, sizeof(rest), " These are of %s; what it did %s is unknown.",
                 say_known(facts, facts->known_ns, known),
                 facts->known_first ? "after that" : "in the rest");
    gv_say(out, "The %s%s ran your code%s: %s%s.%s", say_gpu(facts),
           facts->devices_used > 1 ? "s" : "", say_where(facts), work, devices, rest);
}

/* "CUDA_ERROR_NO_BINARY_FOR_GPU (209)": the most frequent error of launches. */
static void say_launch_result(const struct gv_run_facts *facts, char *out, size_t size)
{
    const char *name = gv_format_result(facts->launch_failed_most, facts->launch_result);

    snprintf(out, size, "%s (%" PRId64 ")", name ? name : "error", facts->launch_result);
}

/* "3 launches of 1 kernel and 5 of graphs, 1 of which failed, and captured 2 more into graphs", or
 * "5 launches of graphs, and captured 2 launches of 1 kernel into graphs". */
static void say_launches(const struct gv_run_facts *facts, char *out, size_t size)
{
    char kernels[64];
    int64_t graphs = facts->graph_launches, captured = facts->captured_launches;
    int64_t launches = facts->launch_calls - captured - graphs;

    snprintf(kernels, sizeof(kernels), " of %" PRId64 " kernel%s", facts->launched_kernels,
             gv_format_plural(facts->launched_kernels));
    out[0] = '\0';
    if (launches > 0 || graphs <= 0)
        gv_format_add(out, size, "%" PRId64 " launch%s%s", launches, es(launches), kernels);
    if (graphs > 0)
        add_graphs(out, size, graphs, " launch", es(graphs));
    if (facts->launch_failed > 0)
        gv_format_add(out, size, ", %" PRId64 " of which failed", facts->launch_failed);
    if (captured > 0 && launches <= 0 && graphs > 0)
        gv_format_add(out, size, ", and captured %" PRId64 " launch%s%s into graphs", captured,
                      es(captured), kernels);
    else if (captured > 0)
        gv_format_add(out, size, ", and captured %" PRId64 " %sinto graphs", captured,
                      launches > 0 ? "more " : "");
}

/* Why nothing says how busy the GPU was; empty: something does. Events that have ended are read
 * each 20 to 160 ms, and at the process's end; those of a context that ends before are not. */
static const char *say_unknown(const struct gv_run_facts *facts, char out[160])
{
    bool is_over = facts->complete && facts->older.minutes == 0;
    bool is_measured = facts->gpu_full <= 0 && facts->measured_calls > 0 && is_over;

    out[0] = '\0';
    if (facts->sampled_calls > 0)
        return out;
    if (is_measured && facts->measured_calls == 1)
        gv_format_add(out, 160, " The one measured call gave no time");
    else if (is_measured)
        gv_format_add(out, 160, " None of the %" PRId64 " measured calls gave a time",
                      facts->measured_calls);
    else
        gv_format_add(out, 160, "%s",
                      facts->gpu_full > 0
                          ? " Records of the GPU's activity were lost: shared memory was full"
                      : facts->sampled_processes > 0 && facts->own_costs > 0 && is_over
                          ? " No call was measured"
                          : " GPU activity was not recorded");
    gv_format_add(out, 160, ", so how busy the GPU was is unknown%s.",
                  is_measured ? ": let the program run longer" : "");
    return out;
}

static void say_launched(const struct gv_run_facts *facts, char *out)
{
    char launches[256], unknown[160];

    say_launches(facts, launches, sizeof(launches));
    if (gv_run_facts_launches_failed(facts)) {
        say_launch_result(facts, launches, sizeof(launches));
        gv_say(out, "Every launch%s failed, with %s%s.", say_where(facts), launches,
               say_not_run(facts));
    } else if (gv_run_facts_not_run(facts)) {
        gv_say(out, "Your code made %s. The %s %s.", launches, say_gpu(facts),
               facts->launch_calls == 1 ? "did not finish it" : "finished none of them");
    } else {
        gv_say(out, "Your code made %s%s.%s", launches, say_where(facts),
               say_unknown(facts, unknown));
    }
}

/* What these calls put on the GPU may run before and after others': how busy it was is not theirs.
 */
static void say_ranges(const struct gv_run_facts *facts, char *out)
{
    char work[128] = "no kernel", busy[GV_FORMAT_BYTES], time[64] = "";

    if (facts->kernels_run + facts->graphs > 0)
        say_work(facts, work, sizeof(work));
    else if (!facts->gpu_seen)
        snprintf(work, sizeof(work), "%" PRId64 " launch%s", facts->launch_calls,
                 es(facts->launch_calls));
    if (facts->operations > 0)
        snprintf(time, sizeof(time), ", %s of the GPU's time",
                 gv_format_duration(busy, facts->busy_ns));
    gv_say(out, "Only what the calls in %s, did: %" PRId64 " call%s, %s%s.", facts->ranges,
           facts->calls, gv_format_plural(facts->calls), work, time);
}

void gv_facts_say_headline(const struct gv_run_facts *facts, char *out)
{
    if (facts->ranges[0])
        say_ranges(facts, out);
    else if (facts->calls == 0 && facts->older.minutes > 0)
        gv_say(out, "Of this time only sums by minute are kept.");
    else if (facts->calls == 0)
        gv_say(out, "No CUDA call was %s%s.", facts->stopped ? "made" : "recorded",
               say_where(facts));
    else if (facts->init_result != 0)
        gv_say(out, "CUDA could not be initialised: nothing ran on a GPU.");
    else if (facts->launch_calls == 0 && facts->kernels_run == 0)
        gv_say(out, "No kernel was launched%s.",
               facts->whole && facts->complete ? say_not_run(facts) : say_where(facts));
    else if (facts->operations > 0 && !gv_run_facts_launches_failed(facts) &&
             !gv_run_facts_not_run(facts))
        say_seen(facts, out);
    else
        say_launched(facts, out);
}

void gv_facts_say_launch_failed(const struct gv_run_facts *facts, char *out)
{
    const struct gv_error_words *words = gv_error_words_of("launch", facts->launch_result);
    char result[128];

    say_launch_result(facts, result, sizeof(result));
    gv_say(out, "%" PRId64 " launch%s failed, %s%.60s with %s%s%s", facts->launch_failed,
           es(facts->launch_failed), facts->launch_failed == 1 ? "" : "mostly ",
           facts->launch_failed_most, result, words ? ": " : "", words ? words->meaning : "");
}

void gv_facts_say_not_run(const struct gv_run_facts *facts, char *out)
{
    char launches[256];

    say_launches(facts, launches, sizeof(launches));
    gv_say(out, "%s, and no kernel or graph ended on the GPU", launches);
}

/* "3 loaded code", or "2 loaded code (1 failed)". */
static void say_done(int64_t calls, int64_t failed, const char *done, char *out, size_t size)
{
    int64_t well = calls > failed ? calls - failed : 0;

    if (failed > 0)
        snprintf(out, size, "%" PRId64 " %s (%" PRId64 " failed)", well, done, failed);
    else
        snprintf(out, size, "%" PRId64 " %s", well, done);
}

void gv_facts_say_no_kernel(const struct gv_run_facts *facts, char *out)
{
    char load[64], copy[64];

    if (facts->init_result == 0 && facts->load_calls + facts->copy_calls == 0) {
        gv_say(out, "no launch, no load of code and no copy in %" PRId64 " call%s", facts->calls,
               gv_format_plural(facts->calls));
        return;
    }
    if (facts->init_result == 0) {
        say_done(facts->load_calls, facts->load_failed, "loaded code", load, sizeof(load));
        say_done(facts->copy_calls, facts->copy_failed, "copied data", copy, sizeof(copy));
        gv_say(out, "%" PRId64 " call%s: %s, %s, none launched", facts->calls,
               gv_format_plural(facts->calls), load, copy);
        return;
    }
    const char *name = gv_format_result("cu", facts->init_result);
    const struct gv_error_words *error = gv_error_words_of("init", facts->init_result);
    if (facts->init_result == NO_DEVICE && facts->hidden_devices[0]) {
        gv_say(out, "%s (%" PRId64 "): %.64s hides all devices; unset it", name ? name : "error",
               facts->init_result, facts->hidden_devices);
        return;
    }
    if (error) {
        gv_say(out, "%s (%" PRId64 "): %s; %s", name ? name : "error", facts->init_result,
               error->meaning, error->remedy);
        return;
    }
    gv_say(out, "%s (%" PRId64 ")", name ? name : "error", facts->init_result);
}

/* ". train.py:41 forward held 61.0 GiB of the device's 79.2 GiB; 3.1 GiB were outside ..." */
static void say_held(const struct gv_run_facts *facts, char *out, size_t size)
{
    char held[GV_FORMAT_BYTES], of[GV_FORMAT_BYTES], peak[GV_FORMAT_BYTES];
    char besides[GV_FORMAT_BYTES];

    if (facts->device_bytes > 0 && facts->refused_bytes > facts->device_bytes) {
        snprintf(out, size, ": the device has %s", gv_format_size(of, facts->device_bytes));
        return;
    }
    if (facts->held_bytes == 0)
        return;
    gv_format_size(of, facts->device_bytes);
    gv_format_add(out, size, ". At the peak, %.150s held %s of %s%s",
                  facts->held_where[0] ? facts->held_where : "one call without a known line",
                  gv_format_size(held, facts->held_bytes),
                  facts->device_bytes > 0 ? "the device's " : "what was allocated",
                  facts->device_bytes > 0 ? of : "");
    if (facts->peak_bytes > facts->held_bytes)
        gv_format_add(out, size, ", other lines %s",
                      gv_format_size(peak, facts->peak_bytes - facts->held_bytes));
    if (facts->other_bytes > 0)
        gv_format_add(out, size, ", other processes %s",
                      gv_format_size(besides, facts->other_bytes));
    if (facts->outside_bytes > 0)
        gv_format_add(out, size, ", contexts, code and pools %s",
                      gv_format_size(besides, facts->outside_bytes));
}

void gv_facts_say_full(const struct gv_run_facts *facts, double used, char *out)
{
    char held[400] = "", of[GV_FORMAT_BYTES];

    say_held(facts, held, sizeof(held));
    gv_say(out, "%.0f %% of the device's %s was in use%s", 100 * used,
           gv_format_size(of, facts->device_bytes), held);
}

void gv_facts_say_refused(const struct gv_run_facts *facts, bool went_on, char *out)
{
    char size[GV_FORMAT_BYTES], held[400] = "", times[64] = "";

    say_held(facts, held, sizeof(held));
    if (facts->memory_refused > 1)
        snprintf(times, sizeof(times), ", the last of %" PRId64 " times", facts->memory_refused);
    gv_say(out, "%.60s of %s failed%s%.200s%s%s%s", facts->refused,
           gv_format_size(size, facts->refused_bytes), facts->refused_where[0] ? " at " : "",
           facts->refused_where, times,
           !went_on                           ? ""
           : facts->memory_still_refused == 0 ? ", and succeeded later"
                                              : ", and the program went on without it",
           held);
}

void gv_facts_say_blocking(const struct gv_run_facts *facts, char *out)
{
    char took[GV_FORMAT_BYTES];

    gv_say(out,
           "%.64s makes each launch wait until the GPU has done it: %" PRId64 " launch%s took %s",
           facts->launch_blocking, facts->blocking_launches, es(facts->blocking_launches),
           gv_format_duration(took, facts->blocking_ns));
}

void gv_facts_say_unfinished(const struct gv_run_facts *facts, char *out)
{
    char flight[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES];

    gv_say(out, "%.100s %s, %s %s of %s", facts->flight,
           facts->flight_running ? "has not returned" : "had not returned when its process ended",
           facts->flight_running ? "for" : "after", gv_format_duration(flight, facts->flight_ns),
           gv_format_duration(window, facts->window_ns));
}

void gv_facts_say_growth(const struct gv_run_facts *facts, char *out)
{
    char size[GV_FORMAT_BYTES];

    gv_say(out, "%.300s allocates throughout the run; %s from %" PRId64 " calls was never freed",
           facts->grown_where[0] ? facts->grown_where : "one line",
           gv_format_size(size, facts->grown_bytes), facts->grown_times);
}

void gv_facts_say_late_rank(const struct gv_run_facts *facts, char *out)
{
    const struct gv_late_rank *late = &facts->late;
    char by[GV_FORMAT_BYTES], total[GV_FORMAT_BYTES];

    gv_say(out,
           "rank %" PRId64 " is late by %s in %.0f %% of %s: %.300s; the others waited %s for it",
           late->rank, gv_format_duration(by, late->late_ns),
           100 * (double)late->steps / (double)late->of, late->are_steps ? "steps" : "collectives",
           late->text, gv_format_duration(total, late->total_ns));
}
