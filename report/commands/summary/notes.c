#include "report/commands/summary/notes.h"

#include "report/analyse/names/kernel_name.h"
#include "report/commands/capture_note.h"
#include "report/commands/offer.h"
#include "report/commands/silence_note.h"
#include "report/commands/summary/error_notes.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <string.h>

#define GV_NOTES_NAME     120
#define GV_NOTES_BAD_ENDS 3
#define GV_NOTES_ERRORS   3

/* A note on the trace: what printf makes of a format. */
#define print_note(summary, ...)                                                                   \
    gv_text_say(((const struct gv_summary *)(summary))->out, 5, GV_SUMMARY_NOTE,                   \
                ((const struct gv_summary *)(summary))->columns, __VA_ARGS__)

/* How the process of a call in flight ended, if it has. */
static const char *flight_ended(const char *ended, int64_t signal, char *out, size_t size)
{
    if (ended && strcmp(ended, "killed") == 0 && signal)
        return gv_ended_say(signal, out, size);
    snprintf(out, size, "%s",
             !ended                         ? "is"
             : strcmp(ended, "killed") == 0 ? "was killed or crashed"
             : strcmp(ended, "exec") == 0   ? "called exec"
                                            : "ended");
    return out;
}

/* Calls in which processes ended, or still are. */
static int note_flight(void *context, sqlite3_stmt *row)
{
    const char *ended = (const char *)sqlite3_column_text(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);
    const char *kernel = (const char *)sqlite3_column_text(row, 3);
    bool known = sqlite3_column_type(row, 4) != SQLITE_NULL;
    char elapsed[GV_FORMAT_BYTES], how[64], launched[GV_NOTES_NAME];

    gv_kernel_name_short(kernel, launched, sizeof(launched));
    flight_ended(ended, sqlite3_column_int64(row, 5), how, sizeof(how));
    print_note(context, "process %" PRId64 " %s in %.100s%s%s%s%s",
               (int64_t)sqlite3_column_int64(row, 0), how, name ? name : "a call",
               kernel ? " of " : "", launched, known ? (ended ? " after " : " for ") : "",
               known ? gv_format_duration(elapsed, sqlite3_column_int64(row, 4)) : "");
    return 0;
}

struct gv_bad_ends {
    const struct gv_summary *summary;
    int64_t count;
};

static int note_bad_end(void *context, sqlite3_stmt *row)
{
    struct gv_bad_ends *ends = context;
    char how[64];

    if (++ends->count > GV_NOTES_BAD_ENDS)
        return 0;
    if (sqlite3_column_int64(row, 1) > 0)
        gv_ended_say(sqlite3_column_int64(row, 1), how, sizeof(how));
    else if (sqlite3_column_type(row, 2) != SQLITE_NULL)
        snprintf(how, sizeof(how), "exited with code %d", sqlite3_column_int(row, 2));
    else
        snprintf(how, sizeof(how), "was killed or crashed");
    print_note(ends->summary, "process %" PRId64 " %s", (int64_t)sqlite3_column_int64(row, 0), how);
    return 0;
}

/* Why the GPU's activity was not recorded, or what else to know of it. */
static int note_gpu_side(void *context, sqlite3_stmt *row)
{
    const char *mode = (const char *)sqlite3_column_text(row, 0);
    const char *why = (const char *)sqlite3_column_text(row, 1);
    int64_t count = sqlite3_column_int64(row, 2);
    char each[40] = "";

    if (!why && mode && strcmp(mode, "off") == 0)
        why = "GPUVERIFY_GPU=off";
    if (count > 1)
        snprintf(each, sizeof(each), " (%" PRId64 " processes)", count);
    print_note(context, "GPU activity %srecorded%s%.400s%s",
               mode && strcmp(mode, "cupti") == 0 ? "" : "not ", why ? ": " : "", why ? why : "",
               each);
    return 0;
}

/* Why stacks have only Python frames, if the recording gpuverify could not find others. */
static int note_no_native_frames(void *context, sqlite3_stmt *row)
{
    (void)row;
    print_note(context, "Stacks have no native frames: gpuverify was built without libunwind.");
    return 0;
}

/* When another profiler had the GPU side, or CUPTI's callbacks. */
static int note_other(void *context, sqlite3_stmt *row)
{
    int64_t count = sqlite3_column_int64(row, 2);
    const char *who = (const char *)sqlite3_column_text(row, 1);
    const char *times = count > 1 ? "these times" : "that time";
    char from[GV_FORMAT_BYTES], to[GV_FORMAT_BYTES], when[3 * GV_FORMAT_BYTES];

    gv_format_duration(from, sqlite3_column_int64(row, 3));
    if (count > 1)
        snprintf(when, sizeof(when), "In %" PRId64 " times, %s in all,", count,
                 gv_format_duration(to, sqlite3_column_int64(row, 5)));
    else if (sqlite3_column_type(row, 4) == SQLITE_NULL)
        snprintf(when, sizeof(when), "From %s on", from);
    else
        snprintf(when, sizeof(when), "From %s to %s", from,
                 gv_format_duration(to, sqlite3_column_int64(row, 4)));
    if (sqlite3_column_int(row, 0))
        print_note(context,
                   "%s GPU operations lack their calls, because %.100s has CUPTI's callbacks:"
                   " stalls of %s are inferred.",
                   when, who, times);
    else
        print_note(context, "%s %.100s had the GPU side: stalls of %s are inferred.", when, who,
                   times);
    return 0;
}

/* What CUPTI had not returned, and so from when on the GPU side is unknown. */
static int note_unseen(void *context, sqlite3_stmt *row)
{
    const struct gv_run_facts *facts = ((const struct gv_summary *)context)->facts;
    int64_t count = sqlite3_column_int64(row, 0), processes = sqlite3_column_int64(row, 1);
    char known[GV_FORMAT_BYTES], who[64];

    snprintf(who, sizeof(who), "process %" PRId64, (int64_t)sqlite3_column_int64(row, 2));
    if (processes > 1)
        snprintf(who, sizeof(who), "%" PRId64 " processes", processes);
    gv_format_duration(known, facts->gpu_known_ns - facts->first_ns);
    if (count > 0)
        print_note(context,
                   "GPU activity after %s is unknown: %s %s before CUPTI delivered %" PRId64
                   " operation%s.",
                   known, who, sqlite3_column_int(row, 3) ? "was killed" : "ended", count,
                   gv_format_plural(count));
    else
        print_note(context, "GPU activity after %s is unknown%s", known,
                   facts->complete && facts->untimed_operations > 0
                       ? ": what was launched had not ended when its process did."
                       : " so far: what was launched since has not ended, or CUPTI has not"
                         " delivered it.");
    return 0;
}

/* Takes the rows of a query, whose parameters are the process of which is known how it ended, and
 * its signal. */
static int take_each(const struct gv_summary *summary, const char *sql, gv_database_take *take,
                     void *context)
{
    const int64_t ended[] = {summary->ended->pid, summary->ended->signal};

    return gv_database_each(summary->trace, sql, ended, 2, take, context);
}

/* A note for each row. */
static int print_each(const struct gv_summary *summary, const char *sql, gv_database_take *note)
{
    return take_each(summary, sql, note, (void *)summary);
}

/* Processes that ended badly, other than in a call; also of one without a trace. */
static int print_bad_ends(const struct gv_summary *summary)
{
    struct gv_bad_ends ends = {.summary = summary};
    int error = take_each(summary, sql_ended_badly, note_bad_end, &ends);
    int64_t more = ends.count - GV_NOTES_BAD_ENDS;

    if (more > 0)
        print_note(summary, "%" PRId64 " more process%s ended badly", more, more == 1 ? "" : "es");
    return error;
}

/* Of months there are only sums. */
static void print_older(const struct gv_summary *summary, bool named)
{
    int64_t minutes = summary->facts->older.minutes, hours = minutes / 60, days = hours / 24;
    char see[GV_OFFER_BYTES];

    gv_offer_fill(see, sizeof(see), "gpuverify report FILE --section minutes --section changes",
                  summary->path, named);
    print_note(summary, "Older time: %" PRId64 " %s as sums by minute (%s)",
               days > 1    ? days
               : hours > 1 ? hours
                           : minutes,
               days > 1       ? "days"
               : hours > 1    ? "hours"
               : minutes == 1 ? "minute"
                              : "minutes",
               see);
}

static void print_failed(const struct gv_summary *summary, bool named)
{
    const struct gv_run_facts *facts = summary->facts;
    char see[GV_OFFER_BYTES];

    gv_offer_fill(see, sizeof(see), "gpuverify report FILE --section errors", summary->path, named);
    print_note(summary, "%" PRId64 " call%s failed%s%.100s (%s)", facts->failed,
               gv_format_plural(facts->failed), facts->failed == 1 ? ": " : ", most often ",
               facts->failed_most, see);
}

static void print_missing(const struct gv_summary *summary)
{
    int64_t launches = summary->facts->launches_missing;

    print_note(summary,
               "%" PRId64
               " launch%s succeeded, but CUPTI has no record of %s: kernel counts and GPU"
               " times are too low.",
               launches, launches == 1 ? "" : "es", launches == 1 ? "it" : "them");
}

static void print_whole_graphs(const struct gv_summary *summary)
{
    print_note(summary, "Most of the GPU's time is in graphs, of which only the whole is seen:"
                        " gpuverify run --graphs nodes shows the lines inside. A launch of a graph"
                        " then takes 2 to 9 times as long.");
}

static void print_lost(const struct gv_summary *summary, int64_t lost)
{
    print_note(summary, "%" PRId64 " record%s lost and %s missing from these numbers.%s", lost,
               lost == 1 ? " was" : "s were", lost == 1 ? "is" : "are",
               summary->facts->full > 0 ? " Shared memory was full: set GPUVERIFY_SPOOL_MB=1024."
                                        : "");
}

/* Results in words, except the one that a fact explains, and those of lost captures. */
static int print_errors(const struct gv_summary *summary, bool fatal, bool named, bool captures)
{
    const struct gv_run_facts *facts = summary->facts;
    struct gv_error_notes notes = {
        .path = summary->path,
        .named = named,
        .first = GV_SUMMARY_NOTE,
        .told = gv_run_facts_launches_failed(facts) ? facts->launch_result : facts->init_result,
        .most = GV_NOTES_ERRORS,
        .fatal = fatal,
        .other = !fatal,
        .captures = captures,
    };

    return gv_error_notes_print(summary->out, summary->trace, &notes, summary->columns);
}

int gv_summary_print_broken(const struct gv_summary *summary, bool named)
{
    return print_errors(summary, true, named, false);
}

int gv_summary_print_notes(const struct gv_summary *summary, bool named)
{
    const struct gv_run_facts *facts = summary->facts;
    int64_t lost = facts->lost - facts->operations_lost;
    bool failed = facts->failed > 0 && facts->init_result == 0, captures = false, silent;
    char until[GV_FORMAT_BYTES];
    int error = print_each(summary, sql_gpu_side, note_gpu_side);

    if (!error && facts->older.minutes > 0)
        print_older(summary, named);
    if (!error)
        error = print_each(summary, sql_no_native_frames, note_no_native_frames);
    if (!error)
        error = print_each(summary, sql_others, note_other);
    if (!error && facts->gpu_known_ns < facts->last_ns)
        error = print_each(summary, sql_unseen, note_unseen);
    else
        lost = facts->lost;
    if (!error && facts->in_flight > 0)
        error = print_each(summary, sql_flights, note_flight);
    if (!error)
        error = print_bad_ends(summary);
    if (failed)
        print_failed(summary, named);
    if (!error && failed)
        error = gv_capture_note_print(summary->out, summary->trace, GV_SUMMARY_NOTE,
                                      summary->columns, &captures);
    if (!error && failed)
        error = print_errors(summary, false, named, captures);
    if (facts->graph_time_ns > facts->kernel_time_ns)
        print_whole_graphs(summary);
    if (facts->launches_missing > 0)
        print_missing(summary);
    if (lost > facts->launches_missing)
        print_lost(summary, lost - facts->launches_missing);
    if (!error && !facts->complete && !facts->snapshot_ns && facts->whole)
        error = gv_silence_note_print(summary->out, summary->trace, GV_SUMMARY_NOTE,
                                      summary->columns, &silent);
    if (facts->snapshot_ns)
        print_note(summary, "Snapshot after %s: the program still ran.",
                   gv_format_duration(until, facts->snapshot_ns));
    else if (!facts->complete)
        print_note(summary, "The trace is not complete.");
    return error;
}
