#include "report/analyse/verdict/text.h"

#include "report/store/time_sum.h"
#include "report/show/error_words.h"
#include "report/show/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* CUDA_ERROR_NO_DEVICE */
#define NO_DEVICE 100

__attribute__((format(printf, 2, 3))) static void gv_say(char *out, const char *format, ...)
{
    va_list values;

    if (!out)
        return;
    va_start(values, format);
    vsnprintf(out, GV_VERDICT_TEXT_BYTES, format, values);
    va_end(values);
}

static const char *s(int64_t count)
{
    return count == 1 ? "" : "s";
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

/* "10 runs of 1 kernel and 3 of graphs". */
static void say_work(const struct gv_run_facts *facts, char *out, size_t size)
{
    int length = 0;

    out[0] = '\0';
    if (facts->kernels_run > 0)
        length =
            snprintf(out, size, "%s%" PRId64 " run%s of %" PRId64 " kernel%s",
                     say_partly(facts) || say_gaps(facts) ? "at least " : "", facts->kernels_run,
                     s(facts->kernels_run), facts->kernel_names, s(facts->kernel_names));
    if (facts->graphs > 0 && length >= 0 && (size_t)length < size)
        snprintf(out + length, size - (size_t)length, "%s%" PRId64 "%s of %s",
                 length ? " and " : "", facts->graphs,
                 length               ? ""
                 : facts->graphs == 1 ? " run"
                                      : " runs",
                 facts->graphs == 1 ? "a graph" : "graphs");
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
               say_gpu(facts), say_where(facts), facts->launch_calls,
               facts->launch_calls == 1 ? "" : "es");
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

/* "3 launches of 1 kernel, 1 of which failed". */
static void say_launches(const struct gv_run_facts *facts, char *out, size_t size)
{
    char failed[64] = "";

    if (facts->launch_failed > 0)
        snprintf(failed, sizeof(failed), ", %" PRId64 " of which failed", facts->launch_failed);
    snprintf(out, size, "%" PRId64 " launch%s of %" PRId64 " kernel%s%s", facts->launch_calls,
             facts->launch_calls == 1 ? "" : "es", facts->launched_kernels,
             s(facts->launched_kernels), failed);
}

static void say_launched(const struct gv_run_facts *facts, char *out)
{
    char launches[160];

    say_launches(facts, launches, sizeof(launches));
    if (gv_run_facts_launches_failed(facts)) {
        say_launch_result(facts, launches, sizeof(launches));
        gv_say(out, "Every launch%s failed, with %s%s.", say_where(facts), launches,
               say_not_run(facts));
    } else if (gv_run_facts_not_run(facts)) {
        gv_say(out, "Your code made %s. The %s %s.", launches, say_gpu(facts),
               facts->launch_calls == 1 ? "did not finish it" : "finished none of them");
    } else {
        gv_say(out, "Your code made %s%s. %s, so how busy the GPU was is unknown.", launches,
               say_where(facts),
               facts->gpu_full > 0
                   ? "Records of the GPU's activity were lost: shared memory was full"
                   : "GPU activity was not recorded");
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
                 facts->launch_calls == 1 ? "" : "es");
    if (facts->operations > 0)
        snprintf(time, sizeof(time), ", %s of the GPU's time",
                 gv_format_duration(busy, facts->busy_ns));
    gv_say(out, "Only what the calls in %s, did: %" PRId64 " call%s, %s%s.", facts->ranges,
           facts->calls, s(facts->calls), work, time);
}

void gv_verdict_say_headline(const struct gv_run_facts *facts, char *out)
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

void gv_verdict_say_launch_failed(const struct gv_run_facts *facts, char *out)
{
    const struct gv_error_words *words = gv_error_words_of("launch", facts->launch_result);
    char result[128];

    say_launch_result(facts, result, sizeof(result));
    gv_say(out, "%" PRId64 " launch%s failed, %s%.60s with %s%s%s", facts->launch_failed,
           facts->launch_failed == 1 ? "" : "es", facts->launch_failed == 1 ? "" : "mostly ",
           facts->launch_failed_most, result, words ? ": " : "", words ? words->meaning : "");
}

void gv_verdict_say_not_run(const struct gv_run_facts *facts, char *out)
{
    char launches[160];

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

void gv_verdict_say_no_kernel(const struct gv_run_facts *facts, char *out)
{
    char load[64], copy[64];

    if (facts->init_result == 0 && facts->load_calls + facts->copy_calls == 0) {
        gv_say(out, "no launch, no load of code and no copy in %" PRId64 " call%s", facts->calls,
               s(facts->calls));
        return;
    }
    if (facts->init_result == 0) {
        say_done(facts->load_calls, facts->load_failed, "loaded code", load, sizeof(load));
        say_done(facts->copy_calls, facts->copy_failed, "copied data", copy, sizeof(copy));
        gv_say(out, "%" PRId64 " call%s: %s, %s, none launched", facts->calls, s(facts->calls),
               load, copy);
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
    int length;

    if (facts->device_bytes > 0 && facts->refused_bytes > facts->device_bytes) {
        snprintf(out, size, ": the device has %s", gv_format_size(of, facts->device_bytes));
        return;
    }
    if (facts->held_bytes == 0)
        return;
    gv_format_size(of, facts->device_bytes);
    length = snprintf(out, size, ". At the peak, %.150s held %s of %s%s",
                      facts->held_where[0] ? facts->held_where : "one call without a known line",
                      gv_format_size(held, facts->held_bytes),
                      facts->device_bytes > 0 ? "the device's " : "what was allocated",
                      facts->device_bytes > 0 ? of : "");
    if (length > 0 && (size_t)length < size && facts->peak_bytes > facts->held_bytes)
        length += snprintf(out + length, size - (size_t)length, ", other lines %s",
                           gv_format_size(peak, facts->peak_bytes - facts->held_bytes));
    if (length > 0 && (size_t)length < size && facts->other_bytes > 0)
        length += snprintf(out + length, size - (size_t)length, ", other processes %s",
                           gv_format_size(besides, facts->other_bytes));
    if (length > 0 && (size_t)length < size && facts->outside_bytes > 0)
        snprintf(out + length, size - (size_t)length, ", contexts, code and pools %s",
                 gv_format_size(besides, facts->outside_bytes));
}

void gv_verdict_say_full(const struct gv_run_facts *facts, double used, char *out)
{
    char held[400] = "", of[GV_FORMAT_BYTES];

    say_held(facts, held, sizeof(held));
    gv_say(out, "%.0f %% of the device's %s was in use%s", 100 * used,
           gv_format_size(of, facts->device_bytes), held);
}

void gv_verdict_say_refused(const struct gv_run_facts *facts, bool went_on, char *out)
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

void gv_verdict_say_blocking(const struct gv_run_facts *facts, char *out)
{
    char took[GV_FORMAT_BYTES];

    gv_say(out,
           "%.64s makes each launch wait until the GPU has done it: %" PRId64 " launch%s took %s",
           facts->launch_blocking, facts->blocking_launches,
           facts->blocking_launches == 1 ? "" : "es", gv_format_duration(took, facts->blocking_ns));
}

void gv_verdict_say_unfinished(const struct gv_run_facts *facts, char *out)
{
    char flight[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES];

    gv_say(out, "%.100s %s, %s %s of %s", facts->flight,
           facts->flight_running ? "has not returned" : "had not returned when its process ended",
           facts->flight_running ? "for" : "after", gv_format_duration(flight, facts->flight_ns),
           gv_format_duration(window, facts->window_ns));
}

/* The GPU must do its work in any case. */
static void say_gain(const struct gv_run_facts *facts, char *out, size_t size)
{
    int64_t idle_ns = facts->window_ns - facts->busiest_ns;
    char idle[GV_FORMAT_BYTES];

    out[0] = '\0';
    if (!facts->gpu_known || facts->devices_used == 0 || idle_ns >= facts->wait_ns / 2)
        return;
    snprintf(out, size, ". Fixing this saves at most %s: the GPU was busy the rest of the time",
             gv_format_duration(idle, idle_ns > 0 ? idle_ns : 0));
}

void gv_verdict_say_stalled(const struct gv_run_facts *facts, char *out)
{
    char wait[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES], top[GV_FORMAT_BYTES];
    const char *inferred = facts->gpu_seen ? "" : ", inferred from the calls";
    char compiled[96] = "", jit[GV_FORMAT_BYTES], gain[256];
    bool unsure = facts->unsure_ns > facts->wait_ns / 10;

    say_gain(facts, gain, sizeof(gain));

    /* A list of stalls counts both. */
    if (facts->wait_jit_ns > facts->wait_ns / 1000)
        snprintf(compiled, sizeof(compiled), "; besides, %s compiled for %s",
                 facts->waits == 1 ? "it" : "they", gv_format_duration(jit, facts->wait_jit_ns));
    gv_format_duration(wait, facts->wait_ns);
    gv_format_duration(window, facts->window_ns);
    if (facts->waits == facts->top_stall_count)
        gv_say(out, "%" PRId64 " call%s waited%s for %s of %s ('%.40s'%s)%s%s", facts->waits,
               s(facts->waits), unsure ? ", or compiled new PTX," : "", wait, window,
               facts->top_stall, inferred, compiled, gain);
    else
        gv_say(out,
               "%" PRId64 " calls waited%s for %s of %s, most for '%.40s': %s in %" PRId64
               " call%s%s%s%s",
               facts->waits, unsure ? ", or compiled new PTX," : "", wait, window, facts->top_stall,
               gv_format_duration(top, facts->top_stall_ns), facts->top_stall_count,
               s(facts->top_stall_count), inferred, compiled, gain);
}

void gv_verdict_say_delayed(const struct gv_run_facts *facts, char *out)
{
    char delay[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES];

    gv_say(out, "%" PRId64 " call%s delayed for %s of %s: %s ready to run, but waited for a CPU",
           facts->delays, facts->delays == 1 ? " was" : "s were",
           gv_format_duration(delay, facts->delay_ns), gv_format_duration(window, facts->window_ns),
           facts->delays == 1 ? "its thread was" : "their threads were");
}

void gv_verdict_say_unexplained(const struct gv_run_facts *facts, char *out)
{
    char unknown[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES];

    gv_say(out, "%" PRId64 " call%s took %s of %s; nothing recorded explains it", facts->unknowns,
           s(facts->unknowns), gv_format_duration(unknown, facts->unknown_ns),
           gv_format_duration(window, facts->window_ns));
}

/* Estimates the run with CUDA started and all code loaded: what it spent otherwise, and no less
 * than its work takes. */
static void say_second(const struct gv_run_facts *facts, char *out, size_t size)
{
    int64_t again_ns = gv_time_product(facts->launch_median_ns, facts->launch_calls);
    int64_t rest_ns = gv_time_difference(facts->window_ns, facts->first_use_ns);
    char again[GV_FORMAT_BYTES];

    out[0] = '\0';
    if (facts->processes > 1)
        again_ns /= facts->processes;
    if (facts->busiest_ns > again_ns)
        again_ns = facts->busiest_ns;
    if (rest_ns > again_ns)
        again_ns = rest_ns;
    if (facts->gpu_known && facts->kernels_run + facts->graphs > 0)
        snprintf(out, size, "; without that, the run takes about %s",
                 gv_format_duration(again, again_ns));
}

void gv_verdict_say_load(const struct gv_run_facts *facts, char *out)
{
    char sum[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES], start[GV_FORMAT_BYTES];
    char loading[GV_FORMAT_BYTES], compiling[GV_FORMAT_BYTES], second[128];
    char unsure[128] = "";
    int64_t own_ns = facts->loading_ns - facts->compiling_ns;
    int64_t compiling_ns =
        facts->compiling_ns < facts->first_use_ns ? facts->compiling_ns : facts->first_use_ns;

    if (facts->unsure_ns > 0)
        snprintf(unsure, sizeof(unsure),
                 "; up to %s more went into compiling new PTX or waiting for the GPU",
                 gv_format_duration(compiling, facts->unsure_ns));
    say_second(facts, second, sizeof(second));
    gv_format_duration(sum, facts->first_use_ns);
    gv_format_duration(window, facts->window_ns);
    gv_format_duration(start, facts->start_ns);
    gv_format_duration(loading, own_ns > 0 ? own_ns : 0);
    if (facts->gpu_whole)
        gv_say(out,
               "%s of %s went into starting CUDA (%s), loading code (%s) and compiling it (%s)%s",
               sum, window, start, loading, gv_format_duration(compiling, compiling_ns), second);
    else
        gv_say(out, "%s of %s went into starting CUDA (%s) and loading or compiling code (%s)%s",
               sum, window, start, gv_format_duration(loading, facts->loading_ns), unsure);
}

void gv_verdict_say_transfer(const struct gv_run_facts *facts, char *out)
{
    char size[GV_FORMAT_BYTES], copying[GV_FORMAT_BYTES], computing[GV_FORMAT_BYTES];
    char pageable[GV_FORMAT_BYTES], part[64] = "", gap[GV_FORMAT_BYTES], gaps[96] = "";

    if (facts->copy_gap_ns > facts->host_copy_ns / 10)
        snprintf(gaps, sizeof(gaps), " on the GPU and %s more in gaps caused by these calls",
                 gv_format_duration(gap, facts->copy_gap_ns));
    if (facts->pageable_bytes > 0)
        snprintf(part, sizeof(part), ", %s of it pageable",
                 facts->pageable_bytes == facts->copied_bytes
                     ? "all"
                     : gv_format_size(pageable, facts->pageable_bytes));
    gv_say(out,
           "%s copied between host and device%s, in %" PRId64
           " cop%s: %s%s, for %s of computing%s%.100s%s",
           gv_format_size(size, facts->copied_bytes), part, facts->copies,
           facts->copies == 1 ? "y" : "ies", gv_format_duration(copying, facts->host_copy_ns), gaps,
           gv_format_duration(computing, facts->kernel_ns), facts->copy_where[0] ? " (" : "",
           facts->copy_where, facts->copy_where[0] ? ")" : "");
}

/* Calls of several threads overlap. */
static const char *say_thread(const struct gv_run_facts *facts)
{
    return facts->threads > 1 ? " in the busiest thread" : "";
}

void gv_verdict_say_transfer_calls(const struct gv_run_facts *facts, char *out)
{
    char copying[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES];

    gv_say(out,
           "%" PRId64
           " copy calls took %s of %s%s, not counting the stalls that were found; how much of it"
           " was waiting for kernels is unknown",
           facts->copy_calls, gv_format_duration(copying, facts->thread_copy_ns),
           gv_format_duration(window, facts->window_ns), say_thread(facts));
}

void gv_verdict_say_launch(const struct gv_run_facts *facts, char *out)
{
    char kernel[GV_FORMAT_BYTES], gap[GV_FORMAT_BYTES], launch[GV_FORMAT_BYTES];

    gv_say(out, "%" PRId64 " kernels of %s each, with %s between them: a launch takes the host %s",
           facts->kernels_run,
           gv_format_duration(kernel, facts->kernel_time_ns / facts->kernels_run),
           gv_format_duration(gap, facts->launch_gaps_ns / facts->launch_gaps),
           gv_format_duration(launch, facts->launch_median_ns));
}

void gv_verdict_say_launch_calls(const struct gv_run_facts *facts, char *out)
{
    char launching[GV_FORMAT_BYTES], window[GV_FORMAT_BYTES], launch[GV_FORMAT_BYTES];

    gv_say(out,
           "%" PRId64
           " launches took the host %s of %s%s, not counting the stalls that were found; half of"
           " them took %s or less",
           facts->launch_calls, gv_format_duration(launching, facts->thread_launch_ns),
           gv_format_duration(window, facts->window_ns), say_thread(facts),
           gv_format_duration(launch, facts->launch_median_ns));
}

void gv_verdict_say_underfilled(const struct gv_run_facts *facts, char *out)
{
    double share = 100 * gv_run_facts_underfilled(facts);
    double filled = 100 * gv_run_facts_filled(facts);
    const char *whose = facts->graphs > 0 ? "kernels' and graphs'" : "kernels'";
    int decimals = filled < 9.95 ? 1 : 0;

    if (facts->least_blocks > 0 && facts->least_blocks < facts->multiprocessors)
        gv_say(out,
               "%" PRId64 " block%s on %" PRId64
               " multiprocessors in %s; %.0f %% of the %s time was"
               " in such launches, which filled %.*f %% of the GPU on average",
               facts->least_blocks, s(facts->least_blocks), facts->multiprocessors,
               facts->top_kernel, share, whose, decimals, filled);
    else
        gv_say(out,
               "%.0f %% of the %s time was in launches of fewer blocks than the GPU's %" PRId64
               " multiprocessors, which filled %.*f %% of it on average",
               share, whose, facts->multiprocessors, decimals, filled);
}

/* Who computes or waits: "it", or several. */
static const char *say_devices(const struct gv_run_facts *facts, char out[GV_FORMAT_BYTES])
{
    if (facts->devices_used > 1)
        snprintf(out, GV_FORMAT_BYTES, "%" PRId64 " devices", facts->devices_used);
    else
        snprintf(out, GV_FORMAT_BYTES, "the GPU");
    return out;
}

void gv_verdict_say_idle_line(const struct gv_run_facts *facts, const struct gv_facts_idle *idle,
                              char *out)
{
    char ns[GV_FORMAT_BYTES], run[GV_FORMAT_BYTES], total[GV_FORMAT_BYTES], all[96] = "";

    if (idle->total_ns > idle->saves_ns)
        snprintf(all, sizeof(all), " (%s over all devices)",
                 gv_format_duration(total, idle->total_ns));
    gv_say(out, "%.300s; meanwhile %s had no work for %s%s of %s%s, in %" PRId64 " gap%s",
           idle->text, facts->devices_used > 1 ? "a device" : "the GPU",
           idle->inferred ? "at least " : "", gv_format_duration(ns, idle->saves_ns),
           gv_format_duration(run, facts->run_ns), all, idle->gaps, s(idle->gaps));
}

void gv_verdict_say_late_rank(const struct gv_run_facts *facts, char *out)
{
    const struct gv_late_rank *late = &facts->late;
    char by[GV_FORMAT_BYTES], total[GV_FORMAT_BYTES];

    gv_say(out,
           "rank %" PRId64 " is late by %s in %.0f %% of %s: %.300s; the others waited %s for it",
           late->rank, gv_format_duration(by, late->late_ns),
           100 * (double)late->steps / (double)late->of, late->are_steps ? "steps" : "collectives",
           late->text, gv_format_duration(total, late->total_ns));
}

void gv_verdict_say_host(const struct gv_run_facts *facts, char *out)
{
    char busy[GV_FORMAT_BYTES], run[GV_FORMAT_BYTES], ns[GV_FORMAT_BYTES];
    const struct gv_facts_idle *most = NULL;

    for (int64_t i = 0; i < facts->idle_lines && !most; i++)
        if (facts->idle[i].own && facts->idle[i].total_ns >= facts->own_idle_ns / 10)
            most = &facts->idle[i];
    gv_format_duration(busy, facts->busiest_ns);
    gv_format_duration(run, facts->run_ns);
    if (most)
        gv_say(out,
               "the GPU had work for %s of %s; the largest part of the host's work: %.300s (%s)",
               busy, run, most->text, gv_format_duration(ns, most->saves_ns));
    else
        gv_say(out, "the GPU had work for %s of %s; the rest was the program's own work", busy,
               run);
}

void gv_verdict_say_idle(const struct gv_run_facts *facts, char *out)
{
    int64_t devices_ns = gv_run_facts_device_ns(facts);
    char idle[GV_FORMAT_BYTES], whole[64], outside[GV_FORMAT_BYTES];
    char devices[GV_FORMAT_BYTES], call[GV_FORMAT_BYTES], most[160] = "";
    const char *most_idle = say_gaps(facts) ? "at most " : "";

    if (say_partly(facts)) {
        gv_say(out, "%s had nothing to do for %s%s of %s%s", say_devices(facts, devices), most_idle,
               gv_format_duration(idle, devices_ns - facts->busy_ns),
               say_known(facts, devices_ns, whole), facts->devices_used > 1 ? " together" : "");
        return;
    }
    if (gv_run_facts_idle_call_is_known(facts))
        snprintf(most, sizeof(most), "; in its longest gaps it was in %.80s for %s",
                 facts->gap_call, gv_format_duration(call, facts->gap_call_ns));
    else if (!gv_run_facts_idle_in_calls(facts) && facts->idle_lack)
        snprintf(most, sizeof(most), "; the reason is unknown: %s", facts->idle_lack);
    else if (!gv_run_facts_idle_in_calls(facts) && facts->idle_lines > 0)
        snprintf(most, sizeof(most), "; longest %.100s (%s)", facts->idle[0].text,
                 gv_format_duration(call, facts->idle[0].saves_ns));
    gv_say(out, "%s had nothing to do for %s%s of %s%s; the host was outside of CUDA for %s%s",
           say_devices(facts, devices), most_idle,
           gv_format_duration(idle, devices_ns - facts->busy_ns),
           gv_format_duration(whole, devices_ns), facts->devices_used > 1 ? " together" : "",
           gv_format_duration(outside, gv_run_facts_outside_ns(facts)), most);
}

void gv_verdict_say_accelerated(const struct gv_run_facts *facts, char *out)
{
    int64_t devices_ns = gv_run_facts_device_ns(facts);
    int64_t computing_ns = facts->kernel_ns < devices_ns ? facts->kernel_ns : devices_ns;
    char computing[GV_FORMAT_BYTES], whole[64], devices[GV_FORMAT_BYTES];

    gv_say(out, "%s computed for %s of %s%s, most of it in %s", say_devices(facts, devices),
           gv_format_duration(computing, computing_ns),
           say_partly(facts) ? say_known(facts, devices_ns, whole)
                             : gv_format_duration(whole, devices_ns),
           facts->devices_used > 1 ? " together" : "",
           facts->graph_time_ns > facts->kernel_time_ns ? "graphs" : facts->top_kernel);
}
