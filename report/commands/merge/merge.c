#include "report/commands/merge/merge.h"

#include "report/analyse/jobs/collectives.h"
#include "report/analyse/stalls/analysis.h"
#include "report/store/time_sum.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse/facts/facts.h"
#include "report/commands/progress.h"
#include "report/commands/trace_open.h"
#include "report/commands_merge_merge.inc"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/schema.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MERGE_TEMPORARY "gpuverify-merge"
#define MERGE_APART_NS  1e18 /* gv_time_column */
#define MERGE_YEAR_NS   (365.25 * 86400e9)

/* A trace that is merged. */
struct merge_input {
    const char *path;
    struct stat status; /* when its facts were taken */
    char *host, *job;
    bool is_current, is_older, runs;
    int64_t processes, threshold_ns;
    int64_t from_ns, until_ns; /* those of its clock may become those of its machine */
};

struct merge {
    struct gv_merge_copy copy;
    struct merge_input *inputs;
    struct gv_trace_clock *clocks;
    size_t count;
};

/* ---- the inputs ---- */

static int take_facts(void *context, sqlite3_stmt *row)
{
    void *const *both = context;
    struct merge_input *input = both[0];
    struct gv_trace_clock *clock = both[1];
    const char *host = (const char *)sqlite3_column_text(row, 9);
    const char *job = (const char *)sqlite3_column_text(row, 10);

    clock->unix_offset_ns = sqlite3_column_int64(row, 0);
    clock->from_ns = input->from_ns = gv_time_column(row, 1);
    clock->until_ns = input->until_ns = gv_time_column(row, 2);
    input->is_current = sqlite3_column_int(row, 3) &&
                        sqlite3_column_int64(row, 4) == GV_STALLS_VERSION &&
                        sqlite3_column_int64(row, 6) == GV_SCHEMA_VERSION;
    input->runs = !sqlite3_column_int(row, 3);
    input->threshold_ns = sqlite3_column_int64(row, 5);
    input->is_older = sqlite3_column_int(row, 7) != 0;
    input->processes = sqlite3_column_int64(row, 8);
    input->host = host ? strdup(host) : NULL;
    input->job = job ? strdup(job) : NULL;
    clock->host = input->host;
    return (host && !input->host) || (job && !input->job) ? -ENOMEM : 0;
}

/* Nothing is merged of which more may follow, or nothing is known. */
static int check_input(const struct merge_input *input, sqlite3 *opened)
{
    bool lives = false;
    int error = input->runs ? gv_trace_open_lives(opened, &lives) : 0;

    if (error) {
        gv_message("cannot read %s: %s", gv_shown_path(input->path),
                   gv_trace_open_why(opened, error));
        return error;
    }
    if (lives) {
        gv_message(
            "the program of %s still runs: gpuverify snapshot makes a copy that can be merged",
            gv_shown_path(input->path));
        return -EAGAIN;
    }
    if (input->processes == 0) {
        gv_message("%s holds no process: its program did not use CUDA", gv_shown_path(input->path));
        return -ENODATA;
    }
    if (input->is_older)
        gv_message("%s: merges only the time recorded in full; leaves out the sums of earlier "
                   "minutes",
                   gv_shown_path(input->path));
    return 0;
}

/* -errno after a message. */
static int read_input(struct merge *merge, size_t i, struct gv_clocks *clocks)
{
    struct merge_input *input = &merge->inputs[i];
    void *both[] = {input, &merge->clocks[i]};
    sqlite3 *opened = NULL;
    int error = gv_trace_open_settled(input->path, &opened);
    bool is_said = error != 0;

    if (!error && stat(input->path, &input->status) < 0)
        error = -errno;
    if (!error)
        error = gv_database_each(opened, sql_facts, NULL, 0, take_facts, both);
    if (!error)
        is_said = (error = check_input(input, opened)) != 0;
    if (!error)
        error = gv_clocks_take(clocks, (int64_t)i, opened);
    if (error && !is_said)
        gv_message("cannot read %s: %s", gv_shown_path(input->path),
                   gv_trace_open_why(opened, error));
    sqlite3_close(opened);
    return error;
}

/* One after the other, so that their number is not limited by that of open files. */
static int read_inputs(struct merge *merge, const struct gv_merge_inputs *inputs)
{
    struct gv_clocks *clocks = NULL;
    int error;

    merge->count = inputs->count;
    merge->inputs = calloc(inputs->count, sizeof(*merge->inputs));
    merge->clocks = calloc(inputs->count, sizeof(*merge->clocks));
    error = merge->inputs && merge->clocks ? gv_clocks_open(&clocks) : -ENOMEM;
    if (error)
        gv_message("cannot merge: %s", strerror(-error));
    for (size_t i = 0; i < inputs->count && !error; i++) {
        merge->inputs[i].path = inputs->paths[i];
        error = read_input(merge, i, clocks);
    }
    if (!error && (error = gv_clocks_solve(clocks, merge->clocks, merge->count)) != 0)
        gv_message("cannot align the clocks: %s", strerror(-error));
    gv_clocks_close(clocks);
    return error;
}

/* On the reference clock. */
static double time_of(const struct merge *merge, size_t i, int64_t ns)
{
    return merge->clocks[i].offset_ns + (double)ns;
}

/* Whether the trace began after all that began before it had ended. */
static bool is_later(const struct merge *merge, size_t i)
{
    const double begin_ns = time_of(merge, i, merge->inputs[i].from_ns);
    bool is_first = true;

    for (size_t j = 0; j < merge->count; j++) {
        if (j == i || time_of(merge, j, merge->inputs[j].from_ns) > begin_ns)
            continue;
        if (time_of(merge, j, merge->inputs[j].until_ns) >= begin_ns)
            return false;
        is_first = false;
    }
    return !is_first;
}

/* 0; or -EXDEV after a message: these are several runs. */
static int check_one_run(const struct merge *merge)
{
    const char *job = merge->inputs[0].job;
    const struct merge_input *later = NULL;
    bool is_job = job != NULL;

    for (size_t i = 0; i < merge->count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        is_job = is_job && input->job && strcmp(input->job, job) == 0;
        later = is_later(merge, i) ? input : later;
    }
    if (is_job || !later)
        return 0;
    gv_message(
        "these traces are of different runs: the earlier ones ended before %s began. gpuverify "
        "diff compares runs; gpuverify merge puts them on one time line",
        gv_shown_path(later->path));
    return -EXDEV;
}

/* ---- the job ---- */

/* Time 0 of the job is that of the trace that begins first, so that no time is negative. Gives its
 * Unix time. 0; or -ERANGE after a message: times would not fit. */
static int choose_start(struct merge *merge, int64_t *start_ns)
{
    struct gv_trace_clock *clocks = merge->clocks;
    size_t earliest = 0, latest = 0;

    for (size_t i = 1; i < merge->count; i++) {
        if (clocks[i].offset_ns < clocks[earliest].offset_ns)
            earliest = i;
        if (clocks[i].offset_ns > clocks[latest].offset_ns)
            latest = i;
    }
    double apart_ns = clocks[latest].offset_ns - clocks[earliest].offset_ns;
    if (apart_ns > MERGE_APART_NS) {
        gv_message("%s begins %.0f years before %s: their times do not fit into one trace",
                   gv_shown_path(merge->inputs[earliest].path), apart_ns / MERGE_YEAR_NS,
                   gv_shown_path(merge->inputs[latest].path));
        return -ERANGE;
    }
    int64_t first_ns = (int64_t)clocks[earliest].offset_ns;
    for (size_t i = 0; i < merge->count; i++)
        clocks[i].offset_ns -= (double)first_ns;
    *start_ns = gv_time_sum(clocks[0].unix_offset_ns, first_ns);
    return 0;
}

static int begin_job(sqlite3 *job, int64_t start_ns, size_t traces)
{
    const int64_t values[] = {GV_SCHEMA_VERSION, start_ns, (int64_t)traces};

    return gv_database_script(job, sql_begin_meta, values, 3);
}

static int store_clock(struct merge *merge, size_t i, int64_t start_ns, int64_t last_process)
{
    const struct gv_trace_clock *clock = &merge->clocks[i];
    const int64_t processes[] = {(int64_t)i + 1, last_process};
    /* How far the trace's clock was behind when it began. */
    int64_t moved_ns = (int64_t)(clock->offset_ns + clock->drift * (double)clock->from_ns);
    int64_t behind_ns = gv_time_sum(gv_time_difference(start_ns, clock->unix_offset_ns), moved_ns);
    const int64_t numbers[] = {processes[0], behind_ns, (int64_t)(clock->drift * 1e9),
                               clock->error_ns, clock->matched};
    sqlite3_stmt *add = NULL;
    int result = sqlite3_prepare_v2(merge->copy.job.handle, sql_add_clock, -1, &add, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_bind_text(add, 6, gv_text_base(merge->inputs[i].path), -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(add, 7, clock->host, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(add, 8, gv_clock_method_name(clock->method), -1, SQLITE_STATIC);
    int error = result == SQLITE_OK ? gv_database_add(add, numbers, 5)
                                    : gv_database_error(merge->copy.job.handle, result);
    sqlite3_finalize(add);
    return error ? error
                 : gv_database_script(merge->copy.job.handle, sql_add_processes, processes, 2);
}

/* Makes a temporary trace of this schema with current results, as a merge of one. */
static int make_current(const struct merge_input *input, struct gv_output_file *current)
{
    const struct gv_trace_clock unmoved = {0};
    const int64_t threshold_ns =
        input->threshold_ns > 0 ? input->threshold_ns : gv_stalls_threshold_ns();
    struct gv_merge_copy copy = {0};
    struct gv_pass *pass = NULL;
    int error = gv_output_file_temporary(current, MERGE_TEMPORARY);

    if (error)
        return error;
    error = gv_merge_copy_open(&copy, current->part);
    if (!error)
        error = begin_job(copy.job.handle, 0, 1);
    if (!error)
        error = gv_merge_copy_trace(&copy, input->path, &unmoved);
    if (!error)
        error = gv_pass_open(&pass, copy.job.handle, 0);
    if (!error)
        error = gv_stalls_analyse(copy.job.handle, threshold_ns, pass);
    if (!error)
        error = gv_totals_keep(copy.job.handle, pass);
    gv_pass_close(pass);
    if (!error && input->runs) /* nobody has found the operations of its collectives */
        error = gv_collectives_settle(copy.job.handle);
    gv_database_close(&copy.job);
    if (error)
        gv_output_file_drop(current);
    return error;
}

/* -ESTALE: the trace is not the one whose facts were taken. */
static int check_unchanged(const struct merge_input *input)
{
    const struct stat *then = &input->status;
    struct stat now;

    if (stat(input->path, &now) < 0)
        return -errno;
    bool same = now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
                now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == then->st_mtim.tv_nsec;
    return same ? 0 : -ESTALE;
}

/* The trace itself, unless its results are not current. */
static int copy_input(struct merge *merge, size_t i)
{
    const struct merge_input *input = &merge->inputs[i];
    const struct gv_trace_clock *clock = &merge->clocks[i];
    struct gv_output_file current;

    if (input->is_current)
        return gv_merge_copy_trace(&merge->copy, input->path, clock);
    int error = make_current(input, &current);
    if (error)
        return error;
    error = gv_merge_copy_trace(&merge->copy, current.part, clock);
    gv_output_file_drop(&current);
    return error;
}

static int say_twice(void *context, sqlite3_stmt *row)
{
    const struct merge_input *input = context;

    gv_message("%s holds a process that %s holds too: merge each once", gv_shown_path(input->path),
               (const char *)sqlite3_column_text(row, 0));
    return 0;
}

static int copy_inputs(struct merge *merge)
{
    int64_t start_ns = 0;
    int error = choose_start(merge, &start_ns);

    if (!error && (error = begin_job(merge->copy.job.handle, start_ns, merge->count)) != 0)
        gv_message("cannot merge: %s", gv_trace_open_why(merge->copy.job.handle, error));
    for (size_t i = 0; i < merge->count && !error; i++) {
        struct merge_input *input = &merge->inputs[i];
        int64_t last = 0;
        error = gv_database_number(merge->copy.job.handle,
                                   "SELECT coalesce(max(id), 0) FROM process", NULL, 0, &last);
        if (!error)
            error = copy_input(merge, i);
        if (!error || error == -EPROTO || error == -EUCLEAN) {
            int changed = check_unchanged(input);
            error = changed ? changed : error;
        }
        if (!error)
            error = store_clock(merge, i, start_ns, last);
        if (error == -EEXIST)
            (void)gv_database_each(merge->copy.job.handle, sql_holding, NULL, 0, say_twice, input);
        else if (error == -ESTALE)
            gv_message("%s has changed while it was merged", gv_shown_path(input->path));
        else if (error)
            gv_message("cannot merge %s: %s", gv_shown_path(input->path),
                       gv_trace_open_why(merge->copy.job.handle, error));
    }
    return error;
}

/* Only the user knows whether that is right. */
static int say_rank_twice(void *context, sqlite3_stmt *row)
{
    (void)context;
    gv_message("rank %lld is in %s and in %s: if these are several runs, merge each by itself",
               (long long)sqlite3_column_int64(row, 0), (const char *)sqlite3_column_text(row, 1),
               (const char *)sqlite3_column_text(row, 2));
    return 0;
}

/* Nothing is lost that was recorded once. 0; or -errno after a message. */
static int check_replaced(struct merge *merge, const char *path)
{
    int64_t lacking = 0;
    int error = gv_merge_copy_lacks(&merge->copy, path, &lacking);

    if (error)
        gv_message("cannot read %s: %s", gv_shown_path(path),
                   gv_trace_open_why(merge->copy.job.handle, error));
    else if (lacking > 0)
        gv_message("%s is one of the traces, and would be replaced: name another file after -o",
                   gv_shown_path(path));
    return error ? error : lacking > 0 ? -EEXIST : 0;
}

/* Processes of one machine hold up each other, which their own traces could not tell. */
static int find_stalls(sqlite3 *job, struct gv_pass *pass)
{
    int64_t shares = 0, threshold_ns = 0;
    int error = gv_database_number(job, sql_shares_machine, NULL, 0, &shares);

    if (error || !shares)
        return error ? error : gv_stalls_advise(job);
    error = gv_database_script(job, sql_known_processes, NULL, 0);
    if (!error)
        error = gv_database_number(job, "SELECT value FROM meta WHERE key = 'stall_threshold_ns'",
                                   NULL, 0, &threshold_ns);
    return error ? error
                 : gv_stalls_analyse(
                       job, threshold_ns > 0 ? threshold_ns : gv_stalls_threshold_ns(), pass);
}

/* What is found of the whole job. */
static int analyse(struct merge *merge)
{
    const int64_t version = GV_STALLS_VERSION;
    sqlite3 *job = merge->copy.job.handle;
    struct gv_pass *pass = NULL;
    int error = gv_database_script(job, sql_rank_hosts, NULL, 0);

    if (!error)
        error = gv_database_each(job, sql_rank_twice, NULL, 0, say_rank_twice, NULL);
    if (!error)
        error = gv_database_script(job, sql_finish, &version, 1);
    if (!error)
        error = gv_pass_open(&pass, job, 0);
    if (!error)
        error = find_stalls(job, pass);
    if (!error)
        error = gv_totals_keep(job, pass);
    gv_pass_close(pass);
    if (!error)
        error = gv_collectives_keep(job);
    if (!error)
        error = gv_facts_keep(job);
    if (error)
        gv_message("cannot compare the ranks: %s", gv_trace_open_why(job, error));
    return error;
}

int gv_merge_make(const struct gv_merge_inputs *inputs, const char *into, const char *replaced)
{
    struct merge merge = {0};
    int error = read_inputs(&merge, inputs);

    if (!error && inputs->is_one_run)
        error = check_one_run(&merge);
    if (!error && (error = gv_merge_copy_open(&merge.copy, into)) != 0)
        gv_message("cannot write %s: %s", gv_shown_path(into), strerror(-error));
    if (!error) {
        gv_progress_begin(merge.copy.job.handle, "gpuverify: merging");
        error = copy_inputs(&merge);
        if (!error && replaced)
            error = check_replaced(&merge, replaced);
        if (!error)
            error = analyse(&merge);
        gv_progress_end(merge.copy.job.handle);
    }
    gv_database_close(&merge.copy.job);
    for (size_t i = 0; merge.inputs && i < merge.count; i++) {
        free(merge.inputs[i].host);
        free(merge.inputs[i].job);
    }
    free(merge.inputs);
    free(merge.clocks);
    return error;
}

int gv_merge_temporary(const char *word, struct gv_output_file *file)
{
    struct gv_merge_inputs inputs = {.is_one_run = true};
    int error = gv_merge_inputs_find(&inputs, &word, 1, NULL);

    if (!error && (error = gv_output_file_temporary(file, MERGE_TEMPORARY)) != 0)
        gv_message("cannot make a temporary file: %s", strerror(-error));
    if (!error) {
        if (inputs.count > 1)
            gv_message(
                "merging %zu traces for this command; gpuverify merge -o FILE keeps the result",
                inputs.count);
        error = gv_merge_make(&inputs, file->part, NULL);
        if (error)
            gv_output_file_drop(file);
    }
    gv_merge_inputs_free(&inputs);
    return error;
}
