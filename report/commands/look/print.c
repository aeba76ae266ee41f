#include "report/commands/look/print.h"

#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/look/tell.h"
#include "report/show/format.h"
#include "report/show/json.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOOK_FRAMES 40u
#define LOOK_PARTS  4u /* what a thread did, in rows; the rest has one together */

/* ---- for people ---- */

static void print_head(const struct gv_look *look, FILE *out)
{
    char age[GV_FORMAT_BYTES] = "";

    /* The system counts hundredths of a second. */
    if (look->age_ns > 0)
        gv_format_duration(age, look->age_ns);
    gv_text_say(out, 0, "", gv_terminal_columns(out),
                "%s: pid %u%s%s%s, looked at %u time%s in %.1f s%s%s", look->command, look->pid,
                age[0] ? ", started " : "", age, age[0] ? " ago" : "", look->looks,
                gv_format_plural(look->looks), look->seconds,
                look->has_changed ? "; it began another program meanwhile" : "",
                look->has_ended ? "; it has ended meanwhile" : "");
}

/* `name` NULL: more of the thread above. */
static void print_part(struct gv_rows *rows, const struct gv_look_thread *thread, const char *name,
                       unsigned looks, const char *what)
{
    char share[64];

    snprintf(share, sizeof(share), "%u of %u", looks, thread->looks);
    gv_rows_known(rows, name ? thread->tid : 0);
    gv_rows_text(rows, name);
    gv_rows_text(rows, share);
    gv_rows_text(rows, what);
}

/* With those behind it that say the same. */
static void print_thread(const struct gv_look *look, struct gv_rows *rows, size_t first,
                         bool *wanted)
{
    const struct gv_look_thread *thread = &look->thread[first];
    char what[GV_LOOK_SAID_BYTES], other[GV_LOOK_SAID_BYTES], name[128];
    unsigned same = 0, others = thread->looks - thread->part[0].looks;

    gv_look_say(look, &thread->part[0], what, sizeof(what));
    for (size_t i = first; i < look->threads; i++) {
        if (!wanted[i])
            continue;
        gv_look_say(look, &look->thread[i].part[0], other, sizeof(other));
        if (i != first && (strcmp(what, other) != 0 || look->thread[i].tid == look->pid))
            continue;
        wanted[i] = false;
        same++;
    }
    snprintf(name, sizeof(name), "%s", thread->name);
    if (same > 1)
        gv_format_add(name, sizeof(name), " and %u more", same - 1);
    if (same == 1)
        gv_look_say_alone(look, &thread->part[0], what, sizeof(what));
    print_part(rows, thread, name, thread->part[0].looks, what);
    for (size_t i = 1; i < thread->parts && i < LOOK_PARTS && same == 1; i++) {
        gv_look_say_alone(look, &thread->part[i], what, sizeof(what));
        print_part(rows, thread, NULL, thread->part[i].looks, what);
        others -= thread->part[i].looks;
    }
    if (others && same == 1)
        print_part(rows, thread, NULL, others, "others");
}

static int print_threads(const struct gv_look *look, FILE *out)
{
    static const struct gv_column columns[] = {
        {"thread", GV_COLUMN_NUMBER},
        {"name", GV_COLUMN_TEXT},
        {"looks", GV_COLUMN_TEXT},
        {"what it did", GV_COLUMN_TEXT},
    };
    const struct gv_look_thread *focus = gv_look_focus(look);
    bool wanted[GV_OUTSIDE_THREADS];
    size_t own = 0, others = 0;
    struct gv_rows rows;
    int error;

    fputc('\n', out);
    gv_rows_begin(&rows, out, GV_FORMAT_TABLE, columns, sizeof(columns) / sizeof(columns[0]), NULL);
    for (size_t i = 0; i < look->threads; i++) {
        wanted[i] = gv_look_matters(look, focus, &look->thread[i]);
        own += look->thread[i].is_own;
        others += !look->thread[i].is_own && !wanted[i];
    }
    for (size_t i = 0; i < look->threads; i++)
        if (wanted[i])
            print_thread(look, &rows, i, wanted);
    error = gv_rows_end(&rows);
    if (own + others)
        fprintf(out, "Not listed: %zu of CUDA's own threads, %zu others that wait.\n", own, others);
    return error;
}

static void print_gil(const struct gv_look *look, FILE *out)
{
    const struct gv_look_thread *most = NULL;

    for (size_t i = 0; i < look->threads; i++)
        if (look->thread[i].with_gil > (most ? most->with_gil : 0))
            most = &look->thread[i];
    if (most)
        fprintf(out, "The GIL: thread %u had it in %u of %u look%s.\n", most->tid, most->with_gil,
                look->looks, gv_format_plural(look->looks));
}

struct frames {
    FILE *out;
    struct gv_json *json;
    unsigned count;
};

static int print_frame(void *context, sqlite3_stmt *row)
{
    struct frames *frames = context;
    char text[GV_LOOK_SAID_BYTES];
    const struct gv_frame_names names = {
        .function = (const char *)sqlite3_column_text(row, 1),
        .library = (const char *)sqlite3_column_text(row, 2),
        .file = (const char *)sqlite3_column_text(row, 3),
        .line = sqlite3_column_int64(row, 4),
        .address = sqlite3_column_int64(row, 5),
    };

    if (frames->count++ == LOOK_FRAMES)
        return 1;
    if (frames->json) {
        gv_json_open(frames->json, NULL, '{');
        gv_json_text(frames->json, "kind", (const char *)sqlite3_column_text(row, 0));
        gv_json_text(frames->json, "function", names.function);
        gv_json_text(frames->json, "library", names.library);
        gv_json_text(frames->json, "file", names.file);
        gv_json_known(frames->json, "line", names.line, names.line > 0);
        gv_json_close(frames->json, '}');
        return 0;
    }
    gv_frame_text(&names, text, sizeof(text));
    fputs("  ", frames->out);
    gv_format_text(frames->out, text, gv_terminal_columns(frames->out) - 2, 0);
    fputc('\n', frames->out);
    return 0;
}

static int each_frame(const struct gv_look *look, int64_t stack, struct frames *frames)
{
    int ended = gv_database_each(look->trace.handle,
                                 "SELECT kind, function, library, file, line, address FROM frames"
                                 " WHERE stack = ?1 ORDER BY depth",
                                 &stack, 1, print_frame, frames);

    return ended < 0 ? ended : 0;
}

static int print_stack(const struct gv_look *look, FILE *out)
{
    const struct gv_look_thread *focus = gv_look_focus(look);
    struct frames frames = {.out = out};

    if (!focus || !focus->parts || !focus->part[0].stack)
        return 0;
    fprintf(out, "\nStack of %u, innermost first, in %u of %u look%s:\n", focus->tid,
            focus->part[0].looks, look->looks, gv_format_plural(look->looks));
    return each_frame(look, focus->part[0].stack, &frames);
}

static void known(struct gv_rows *rows, int64_t number)
{
    if (number < 0)
        gv_rows_null(rows);
    else
        gv_rows_number(rows, number);
}

/* Those of the process `pid`; all, if that is 0, or the driver names none. */
static int print_gpus(const struct gv_look_gpus *gpus, uint32_t pid, FILE *out,
                      struct gv_json *json)
{
    static const struct gv_column columns[] = {
        {"gpu", GV_COLUMN_NUMBER},
        {"name", GV_COLUMN_TEXT},
        {"busy_percent", GV_COLUMN_NUMBER},
        {"sm_mhz", GV_COLUMN_NUMBER},
        {"memory_total_bytes", GV_COLUMN_SIZE},
        {"memory_used_bytes", GV_COLUMN_SIZE},
        {"own_bytes", GV_COLUMN_SIZE},
        {"processes", GV_COLUMN_NUMBER},
    };
    static const struct gv_column words[] = {
        {"GPU", GV_COLUMN_NUMBER}, {"name", GV_COLUMN_TEXT},        {"busy %", GV_COLUMN_NUMBER},
        {"MHz", GV_COLUMN_NUMBER}, {"memory", GV_COLUMN_SIZE},      {"used", GV_COLUMN_SIZE},
        {"by it", GV_COLUMN_SIZE}, {"processes", GV_COLUMN_NUMBER},
    };
    bool knows = false;
    struct gv_rows rows;

    for (uint32_t i = 0; i < gpus->count; i++)
        knows |= pid && gv_look_gpu_is_of(&gpus->gpu[i], pid, NULL);
    if (!json && !gpus->count)
        return 0;
    gv_rows_begin(&rows, out, json ? GV_FORMAT_JSON : GV_FORMAT_TABLE, json ? columns : words,
                  sizeof(columns) / sizeof(columns[0]), json);
    for (uint32_t i = 0; i < gpus->count; i++) {
        const struct gv_look_gpu *gpu = &gpus->gpu[i];
        int64_t bytes = -1;
        if (!gv_look_gpu_is_of(gpu, pid, &bytes) && knows)
            continue;
        gv_rows_number(&rows, i);
        gv_rows_text(&rows, gpu->name);
        known(&rows, gpu->busy);
        known(&rows, gpu->sm_mhz);
        known(&rows, gpu->total_bytes);
        known(&rows, gpu->used_bytes);
        known(&rows, bytes);
        gv_rows_number(&rows, gpu->users);
    }
    return gv_rows_end(&rows);
}

static void print_notes(const struct gv_look *look, FILE *out, int columns)
{
    if (look->may_not_stop)
        gv_text_say(out, 2, "  ", columns,
                    "What running threads do natively is not known: they may not be stopped "
                    "(ptrace) here.");
    if (look->status.threads > GV_OUTSIDE_THREADS)
        gv_text_say(out, 2, "  ", columns, "It has %u threads: only %u of them were looked at.",
                    look->status.threads, GV_OUTSIDE_THREADS);
    if (look->python_unknown)
        gv_text_say(out, 2, "  ", columns,
                    "It has an interpreter of Python that is not known here: no lines of it.");
    if (look->is_recorded)
        gv_text_say(out, 2, "  ", columns, "gpuverify records it: gpuverify top %u says more.",
                    look->pid);
}

int gv_look_print(const struct gv_look *look, const struct gv_look_gpus *gpus, FILE *out)
{
    char summary[GV_LOOK_SAID_BYTES], advice[GV_LOOK_SAID_BYTES];
    int columns = gv_terminal_columns(out), error;

    print_head(look, out);
    fputc('\n', out);
    gv_look_sum_up(look, gv_look_gpus_busy(gpus, look->pid), summary, advice);
    gv_text_lines(out, 0, "", summary, columns);
    if (advice[0])
        gv_text_lines(out, 2, "  ", advice, columns);
    print_notes(look, out, columns);
    if (gpus->count)
        fputc('\n', out);
    error = print_gpus(gpus, look->pid, out, NULL);
    if (!error)
        error = print_threads(look, out);
    print_gil(look, out);
    if (!error)
        error = print_stack(look, out);
    return error ? error : fflush(out) ? -errno : 0;
}

/* ---- JSON ---- */

static int json_part(const struct gv_look *look, const struct gv_look_part *part,
                     struct gv_json *json)
{
    struct frames frames = {.json = json};
    char text[GV_LOOK_SAID_BYTES];
    int error;

    gv_look_say(look, part, text, sizeof(text));
    gv_json_open(json, NULL, '{');
    gv_json_number(json, "looks", part->looks);
    gv_json_number(json, "without_cpu", part->without_cpu);
    gv_json_text(json, "text", text);
    gv_json_text(json, "call", part->call[0] ? part->call : NULL);
    gv_json_text(json, "account", part->call[0] ? NULL : gv_account_say(part->what).name);
    gv_json_text(json, "detail", part->detail[0] ? part->detail : NULL);
    gv_json_text(json, "where", part->where[0] ? part->where : NULL);
    gv_json_known(json, "waits_for", part->waits_for, part->waits_for);
    gv_json_open(json, "frames", '[');
    error = part->stack ? each_frame(look, part->stack, &frames) : 0;
    gv_json_close(json, ']');
    gv_json_close(json, '}');
    return error;
}

int gv_look_print_json(const struct gv_look *look, const struct gv_look_gpus *gpus, FILE *out)
{
    char summary[GV_LOOK_SAID_BYTES], advice[GV_LOOK_SAID_BYTES];
    const struct gv_look_thread *focus = gv_look_focus(look);
    struct gv_json json;
    int error = 0;

    gv_look_sum_up(look, gv_look_gpus_busy(gpus, look->pid), summary, advice);
    gv_json_begin(&json, out, '{');
    gv_json_number(&json, "pid", look->pid);
    gv_json_text(&json, "command", look->command);
    gv_json_known(&json, "age_ns", look->age_ns, look->age_ns >= 0);
    gv_json_number(&json, "looks", look->looks);
    gv_json_real(&json, "seconds", look->seconds);
    gv_json_bool(&json, "ended", look->has_ended);
    gv_json_bool(&json, "began_another", look->has_changed);
    gv_json_bool(&json, "uses_cuda", look->uses_cuda);
    gv_json_text(&json, "summary", summary);
    gv_json_text(&json, "advice", advice[0] ? advice : NULL);
    gv_json_known(&json, "thread", focus ? focus->tid : 0, focus);
    gv_json_open(&json, "gpus", '[');
    error = print_gpus(gpus, look->pid, out, &json);
    gv_json_close(&json, ']');
    gv_json_open(&json, "threads", '[');
    for (size_t i = 0; i < look->threads && !error; i++) {
        const struct gv_look_thread *thread = &look->thread[i];
        gv_json_open(&json, NULL, '{');
        gv_json_number(&json, "tid", thread->tid);
        gv_json_text(&json, "name", thread->name);
        gv_json_number(&json, "looks", thread->looks);
        gv_json_number(&json, "in_calls", thread->in_calls);
        gv_json_number(&json, "with_gil", thread->with_gil);
        gv_json_bool(&json, "is_cuda_own", thread->is_own);
        gv_json_open(&json, "did", '[');
        for (size_t k = 0; k < thread->parts && !error; k++)
            error = json_part(look, &thread->part[k], &json);
        gv_json_close(&json, ']');
        gv_json_close(&json, '}');
    }
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return error ? error : fflush(out) ? -errno : 0;
}

/* ---- several processes ---- */

static int print_table(const struct gv_look_processes *processes, FILE *out, struct gv_json *json)
{
    static const struct gv_column columns[] = {
        {"pid", GV_COLUMN_NUMBER},     {"rank", GV_COLUMN_NUMBER},
        {"gpu_bytes", GV_COLUMN_SIZE}, {"looks", GV_COLUMN_NUMBER},
        {"text", GV_COLUMN_TEXT},      {"command", GV_GIVES_WAY(1, GV_COLUMN_TEXT)},
    };
    static const struct gv_column words[] = {
        {"pid", GV_COLUMN_NUMBER},        {"rank", GV_COLUMN_NUMBER},
        {"GPU memory", GV_COLUMN_SIZE},   {"looks", GV_COLUMN_NUMBER},
        {"what it does", GV_COLUMN_TEXT}, {"command", GV_COLUMN_TEXT},
    };
    struct gv_rows rows;

    gv_rows_begin(&rows, out, json ? GV_FORMAT_JSON : GV_FORMAT_TABLE, json ? columns : words,
                  sizeof(columns) / sizeof(columns[0]), json);
    /* Command lines may have any length. */
    if (!json && rows.width == 0)
        rows.width = (unsigned int)gv_terminal_columns(out);
    for (size_t i = 0; i < processes->count; i++) {
        const struct gv_look_process *process = &processes->process[i];
        gv_rows_number(&rows, process->pid);
        known(&rows, process->rank);
        known(&rows, process->bytes);
        gv_rows_number(&rows, process->looks);
        gv_rows_text(&rows, process->did[0] ? process->did : process->said);
        gv_rows_text(&rows, process->command);
    }
    return gv_rows_end(&rows);
}

int gv_look_print_processes(const struct gv_look_processes *processes,
                            const struct gv_look_gpus *gpus, bool is_job, bool is_json, FILE *out)
{
    char summary[GV_LOOK_SAID_BYTES] = "";
    struct gv_json json;
    int error;

    if (is_job)
        gv_look_ranks_say(processes, summary);
    if (is_json) {
        gv_json_begin(&json, out, '{');
        gv_json_text(&json, "summary", summary[0] ? summary : NULL);
        gv_json_open(&json, "gpus", '[');
    } else if (summary[0]) {
        gv_text_lines(out, 0, "", summary, gv_terminal_columns(out));
        fputc('\n', out);
    }
    error = print_gpus(gpus, 0, out, is_json ? &json : NULL);
    if (is_json) {
        gv_json_close(&json, ']');
        gv_json_open(&json, "processes", '[');
    } else if (gpus->count) {
        fputc('\n', out);
    }
    if (!error)
        error = print_table(processes, out, is_json ? &json : NULL);
    if (is_json) {
        gv_json_close(&json, ']');
        gv_json_end(&json, '}');
    } else {
        fputs("gpuverify look PID shows one of them in full.\n", out);
    }
    return error ? error : fflush(out) ? -errno : 0;
}
