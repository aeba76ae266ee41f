#include "report/commands/run/verdict_print.h"

#include "report/analyse/names/kernel_name.h"
#include "report/commands/doctor/driver_file.h"
#include "report/commands/error_notes.h"
#include "report/commands/silence_note.h"
#include "report/show/format.h"
#include "report/show/shown_path.h"
#include "report/show/text_lines.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define GV_VERDICT_INDENT 22
#define GV_VERDICT_NAME   120
/* In fewer columns the head is two lines. */
#define GV_VERDICT_NARROW 80

/* The program's name and how long it took. */
static int gv_print_head(FILE *out, sqlite3 *trace, const struct gv_run_facts *facts, int columns)
{
    sqlite3_stmt *row = NULL;
    char took[GV_FORMAT_BYTES];
    int result = sqlite3_prepare_v2(
        trace,
        "SELECT (SELECT value FROM meta WHERE key = 'program'), max(coalesce(max(end_ns), 0), ?1)"
        " FROM process",
        -1, &row, NULL);

    if (result == SQLITE_OK)
        sqlite3_bind_int64(row, 1, facts->last_ns);
    if (result == SQLITE_OK && (result = sqlite3_step(row)) == SQLITE_ROW) {
        fputs("gpuverify  ", out);
        gv_format_text(out, (const char *)sqlite3_column_text(row, 0), GV_VERDICT_NAME, 0);
        /* Not of a process that was killed before its first call. */
        if (sqlite3_column_int64(row, 1) > 0)
            fprintf(out, "  %s", gv_format_duration(took, sqlite3_column_int64(row, 1)));
        if (facts->device[0] || facts->simulated) {
            fputs(columns < GV_VERDICT_NARROW ? "\n  on " : " on ", out);
            gv_format_text(out, facts->simulated ? "a simulated GPU" : facts->device,
                           GV_VERDICT_NAME, 0);
        }
        if (facts->devices_used > 1)
            fprintf(out, " and %" PRId64 " more", facts->devices_used - 1);
        fputc('\n', out);
    }
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

static void gv_print_finding(FILE *out, size_t number, const struct gv_finding *finding,
                             const char *path, int columns)
{
    char first[64], next[GV_VERDICT_NEXT_BYTES];
    char text[GV_VERDICT_TEXT_BYTES + GV_VERDICT_NEXT_BYTES + 16];
    const char *name = gv_verdict_name(finding->class);

    snprintf(first, sizeof(first), "  %zu  %s", number, name);
    snprintf(text, sizeof(text), "%s. Next: %s.", finding->evidence,
             gv_verdict_next_of(finding, path, next));
    gv_text_lines(out, GV_VERDICT_INDENT, first, text, columns);
}

/* What else is to be known of the trace. */
static void gv_verdict_note(FILE *out, const char *text, int columns)
{
    gv_text_lines(out, 5, GV_VERDICT_NOTE, text, columns);
}

/* How the process of a call in flight ended, if it has. */
static const char *gv_flight_ended(const char *ended, int64_t signal, char *out, size_t size)
{
    if (ended && strcmp(ended, "killed") == 0 && signal)
        return gv_ended_say(signal, out, size);
    snprintf(out, size, "%s",
             !ended                         ? "is"
             : strcmp(ended, "killed") == 0 ? "was killed, or crashed,"
             : strcmp(ended, "exec") == 0   ? "ended, by exec,"
                                            : "ended");
    return out;
}

/* Calls in which processes ended, or still are. */
static int gv_print_flights(FILE *out, sqlite3 *trace, const struct gv_ended *end, int columns)
{
    sqlite3_stmt *rows = NULL;
    char text[512], elapsed[GV_FORMAT_BYTES], how[64], launched[GV_VERDICT_NAME];
    int result = gv_database_ask(
        trace,
        "SELECT p.pid, p.ended, f.name, f.kernel, f.elapsed_ns, coalesce(p.exit_signal, CASE p.pid"
        " WHEN ?1 THEN ?2 END) FROM in_flight f LEFT JOIN processes p ON p.id = f.process"
        " ORDER BY f.start_ns LIMIT 3",
        (const int64_t[]){end->pid, end->signal}, 2, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *ended = (const char *)sqlite3_column_text(rows, 1);
        const char *name = (const char *)sqlite3_column_text(rows, 2);
        const char *kernel = (const char *)sqlite3_column_text(rows, 3);
        bool known = sqlite3_column_type(rows, 4) != SQLITE_NULL;
        gv_kernel_name_short(kernel, launched, sizeof(launched));
        gv_flight_ended(ended, sqlite3_column_int64(rows, 5), how, sizeof(how));
        snprintf(text, sizeof(text), "process %" PRId64 " %s in %.100s%s%s%s%s",
                 (int64_t)sqlite3_column_int64(rows, 0), how, name ? name : "a call",
                 kernel ? " of " : "", launched, known ? (ended ? ", after " : ", for ") : "",
                 known ? gv_format_duration(elapsed, sqlite3_column_int64(rows, 4)) : "");
        gv_verdict_note(out, text, columns);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* Processes that ended badly, other than those in a call: of one that is in no trace, too. */
static int gv_print_ended_badly(FILE *out, sqlite3 *trace, const struct gv_ended *end, int columns)
{
    sqlite3_stmt *rows = NULL;
    char text[512], how[64];
    int64_t told = 0;
    int result = gv_database_ask(
        trace,
        "WITH ended AS (SELECT id, pid, coalesce(exit_signal, CASE pid WHEN ?1 THEN ?2 END) AS "
        "number,"
        "  ended, exit_code FROM processes WHERE ended = 'killed' OR ended = 'exit' AND exit_code "
        "<> 0"
        " UNION ALL SELECT NULL, ?1, ?2, 'killed', NULL WHERE ?2 > 0 AND NOT EXISTS (SELECT 1 FROM"
        "  processes WHERE pid = ?1 AND ended = 'killed')) SELECT pid, number, exit_code FROM ended"
        " WHERE id IS NULL OR ended = 'exit' OR id NOT IN (SELECT process FROM in_flight)"
        " ORDER BY id IS NULL DESC, ended = 'exit', id",
        (const int64_t[]){end->pid, end->signal}, 2, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        if (sqlite3_column_int64(rows, 1) > 0)
            gv_ended_say(sqlite3_column_int64(rows, 1), how, sizeof(how));
        else if (sqlite3_column_type(rows, 2) != SQLITE_NULL)
            snprintf(how, sizeof(how), "exited with code %d", sqlite3_column_int(rows, 2));
        else
            snprintf(how, sizeof(how), "was killed, or crashed");
        snprintf(text, sizeof(text), "process %" PRId64 " %s",
                 (int64_t)sqlite3_column_int64(rows, 0), how);
        if (++told <= 3)
            gv_verdict_note(out, text, columns);
    }
    if (told > 3) {
        snprintf(text, sizeof(text), "%" PRId64 " more process%s ended badly", told - 3,
                 told == 4 ? "" : "es");
        gv_verdict_note(out, text, columns);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* Why the GPU's side was not seen, or what else is to be known of it. */
static int gv_print_gpu_side(FILE *out, sqlite3 *trace, int columns)
{
    sqlite3_stmt *rows = NULL;
    char text[GV_VERDICT_TEXT_BYTES];
    int result = sqlite3_prepare_v2(
        trace,
        "SELECT gpu, gpu_why, count(*) FROM process WHERE gpu IS NOT NULL AND (gpu <> 'cupti' OR"
        " gpu_why IS NOT NULL) GROUP BY gpu, gpu_why ORDER BY min(id) LIMIT 3",
        -1, &rows, NULL);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(rows, 0);
        const char *why = (const char *)sqlite3_column_text(rows, 1);
        int64_t count = sqlite3_column_int64(rows, 2);
        bool off = mode && strcmp(mode, "off") == 0;
        bool seen = mode && strcmp(mode, "cupti") == 0;
        snprintf(text, sizeof(text), "GPU side: %s%s%.400s", seen ? "seen" : "host-only, not seen",
                 why || off ? ": " : "",
                 why   ? why
                 : off ? "GPUVERIFY_GPU=off"
                       : "");
        if (count > 1)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%" PRId64 " processes)",
                     count);
        gv_verdict_note(out, text, columns);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}

/* What CUPTI had not handed over, and so from when on the GPU's side is not known. */
static int gv_print_unseen(FILE *out, sqlite3 *trace, const struct gv_run_facts *facts, int columns)
{
    sqlite3_stmt *row = NULL;
    char text[256], known[GV_FORMAT_BYTES];
    int result = sqlite3_prepare_v2(
        trace,
        "SELECT CAST(total(count) AS INTEGER), count(*), max(p.pid), max(p.ended = 'killed') FROM"
        " loss l JOIN process p ON p.id = l.process WHERE l.what = 'GPU operation'",
        -1, &row, NULL);

    if (result == SQLITE_OK && (result = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t count = sqlite3_column_int64(row, 0);
        char who[64];
        snprintf(who, sizeof(who), "process %" PRId64, (int64_t)sqlite3_column_int64(row, 2));
        if (sqlite3_column_int64(row, 1) > 1)
            snprintf(who, sizeof(who), "%" PRId64 " processes",
                     (int64_t)sqlite3_column_int64(row, 1));
        gv_format_duration(known, facts->known_ns);
        if (count > 0)
            snprintf(
                text, sizeof(text),
                "After %s the GPU's side is not known: %s %s before CUPTI had handed over %" PRId64
                " operation%s.",
                known, who, sqlite3_column_int(row, 3) ? "was killed" : "ended", count,
                count == 1 ? "" : "s");
        else
            snprintf(text, sizeof(text), "After %s the GPU's side is not known%s", known,
                     facts->complete && facts->untimed_operations > 0
                         ? ": what was launched had not ended when its process did."
                         : " yet: what was launched since has not ended, or CUPTI has not handed"
                           " it over.");
        gv_verdict_note(out, text, columns);
    }
    sqlite3_finalize(row);
    return gv_database_error(trace, result);
}

static void gv_print_failed(FILE *out, const char *path, const struct gv_run_facts *facts,
                            int columns)
{
    char text[GV_VERDICT_TEXT_BYTES + 1000], word[GV_SHELL_WORD_BYTES];

    snprintf(text, sizeof(text),
             "%" PRId64 " call%s failed%s%.100s (gpuverify report %.900s --section errors)",
             facts->failed, facts->failed == 1 ? "" : "s",
             facts->failed == 1 ? ": " : ", most often ", facts->failed_most,
             gv_shown_word(word, path));
    gv_verdict_note(out, text, columns);
}

static void gv_print_missing(FILE *out, int64_t launches, int columns)
{
    char text[256];

    snprintf(text, sizeof(text),
             "%" PRId64
             " launch%s succeeded, but CUPTI has no record of %s: kernel counts and GPU times are"
             " too low.",
             launches, launches == 1 ? "" : "es", launches == 1 ? "it" : "them");
    gv_verdict_note(out, text, columns);
}

static void gv_print_lost(FILE *out, const struct gv_run_facts *facts, int64_t lost, int columns)
{
    char text[GV_VERDICT_TEXT_BYTES];

    snprintf(text, sizeof(text), "%" PRId64 " record%s got lost; the numbers here leave %s out.%s",
             lost, lost == 1 ? "" : "s", lost == 1 ? "it" : "them",
             facts->full > 0 ? " Shared memory was full: set GPUVERIFY_SPOOL_MB=1024." : "");
    gv_verdict_note(out, text, columns);
}

/* Results in words: those first, before all else, after which nothing on the GPU can go on. What
 * the verdict is about was said with it. */
static int gv_print_errors(FILE *out, sqlite3 *trace, const char *path,
                           const struct gv_run_facts *facts, bool fatal, int columns)
{
    struct gv_error_notes notes = {
        .path = path,
        .first = GV_VERDICT_NOTE,
        .told = gv_run_facts_launches_failed(facts) ? facts->launch_result : facts->init_result,
        .most = GV_VERDICT_TOLD,
        .fatal = fatal,
        .other = !fatal,
    };

    return gv_error_notes_print(out, trace, &notes, columns);
}

int gv_verdict_print_broken(FILE *out, sqlite3 *trace, const char *path,
                            const struct gv_run_facts *facts, int columns)
{
    return gv_print_errors(out, trace, path, facts, true, columns);
}

int gv_verdict_print_notes(FILE *out, sqlite3 *trace, const char *path,
                           const struct gv_run_facts *facts, const struct gv_ended *ended,
                           int columns)
{
    int64_t lost = facts->lost - facts->operations_lost;
    bool silent;
    int error = gv_print_gpu_side(out, trace, columns);

    if (!error && facts->known_ns < facts->window_ns)
        error = gv_print_unseen(out, trace, facts, columns);
    else
        lost = facts->lost;

    if (!error && facts->in_flight > 0)
        error = gv_print_flights(out, trace, ended, columns);
    if (!error)
        error = gv_print_ended_badly(out, trace, ended, columns);
    if (facts->failed > 0 && facts->init_result == 0)
        gv_print_failed(out, path, facts, columns);
    if (!error && facts->failed > 0 && facts->init_result == 0)
        error = gv_print_errors(out, trace, path, facts, false, columns);
    if (facts->launches_missing > 0)
        gv_print_missing(out, facts->launches_missing, columns);
    if (lost > facts->launches_missing)
        gv_print_lost(out, facts, lost - facts->launches_missing, columns);
    if (!error && !facts->complete && facts->whole)
        error = gv_silence_note_print(out, trace, GV_VERDICT_NOTE, columns, &silent);
    if (!facts->complete)
        gv_verdict_note(out, "This trace is not complete yet.", columns);
    return error;
}

int gv_verdict_print(FILE *out, sqlite3 *trace, const char *path, const struct gv_run_facts *facts,
                     const struct gv_verdict *verdict, const struct gv_ended *ended, int columns)
{
    int error = gv_print_head(out, trace, facts, columns);

    if (error)
        return error;
    gv_text_lines(out, 2, "  ", verdict->headline, columns);
    error = gv_verdict_print_broken(out, trace, path, facts, columns);
    if (error)
        return error;
    for (size_t i = 0; i < verdict->count && i < GV_VERDICT_TOLD; i++)
        gv_print_finding(out, i + 1, &verdict->findings[i], path, columns);
    return gv_verdict_print_notes(out, trace, path, facts, ended, columns);
}

void gv_verdict_print_more(FILE *out, const char *path)
{
    char word[GV_SHELL_WORD_BYTES];

    fprintf(out, "  more: gpuverify report %s\n", gv_shown_word(word, path));
}

/* The next step, with the program that was meant in the place of PROGRAM. */
static void gv_say_next(char *out, size_t size, const char *next, const char *program)
{
    const char *place = strstr(next, "PROGRAM");

    if (place)
        snprintf(out, size, "Next: %.*s%.200s%s.", (int)(place - next), next, program,
                 place + strlen("PROGRAM"));
    else
        snprintf(out, size, "Next: %s.", next);
}

void gv_verdict_print_without(FILE *out, const char *name, const char *program,
                              enum gv_verdict_class class, int columns)
{
    char text[GV_VERDICT_TEXT_BYTES], why[256];

    fputs("gpuverify  ", out);
    gv_format_text(out, name, GV_VERDICT_NAME, 0);
    fputc('\n', out);
    bool missing = class == GV_VERDICT_NOT_STARTED && !gv_driver_file_loads(why, sizeof(why));
    snprintf(text, sizeof(text), "%s %s%s",
             class == GV_VERDICT_NOT_RECORDED ? "There is no trace."
                                              : "No CUDA call was seen, so there is no trace.",
             gv_verdict_meaning(class),
             missing ? " NVIDIA's driver, libcuda.so.1, is not on this machine." : "");
    gv_text_lines(out, 2, "  ", text, columns);
    gv_say_next(text, sizeof(text), gv_verdict_next(class), program);
    gv_text_lines(out, 2, "  ", text, columns);
}
