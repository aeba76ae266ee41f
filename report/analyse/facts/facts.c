#include "report/analyse/facts/facts.h"

#include "report/analyse/totals/totals.h"
#include "report/analyse_facts_facts.inc"
#include "report/show/error_words.h"
#include "report/show/format.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <errno.h>
#include <stdlib.h>

/* From these on it is worth saying. */
#define MEMORY_FULL     0.95
#define UNFINISHED_PART 10 /* one tenth of the time */
#define LATE_PART       20
#define ACCELERATED     2

static const struct {
    const char *text, *next;
} words[] = {
#define GV_FACT(name, text, next) {text, next},
#include "report/analyse/facts/facts.def"
};

static struct gv_fact *add(struct gv_fact_list *list, const struct gv_run_facts *run,
                           enum gv_fact_name name)
{
    struct gv_fact *fact = &list->facts[list->count++];

    *fact = (struct gv_fact){.name = name,
                             .process = run->processes == 1 ? run->first_process : 0,
                             .text = words[name].text,
                             .next = words[name].next};
    return fact;
}

/* A program may ask for less after a failure, and end well. */
static void add_memory(struct gv_fact_list *list, const struct gv_run_facts *run)
{
    bool went_on = run->memory_still_refused == 0 || run->refused_ended_well;
    int64_t used_bytes =
        gv_time_sum(gv_time_sum(run->peak_bytes, run->outside_bytes), run->other_bytes);
    double used = run->device_bytes > 0 ? (double)used_bytes / (double)run->device_bytes : 0;

    if (run->memory_refused > 0)
        gv_facts_say_refused(
            run, went_on,
            add(list, run, went_on ? GV_FACT_MEMORY_FULL : GV_FACT_OUT_OF_MEMORY)->detail);
    else if (used >= MEMORY_FULL)
        gv_facts_say_full(run, used < 1 ? used : 1, add(list, run, GV_FACT_MEMORY_FULL)->detail);
}

/* Nothing ran. The rest of a part, or of a run that goes on, may have launched. */
static void add_nothing(struct gv_fact_list *list, const struct gv_run_facts *run)
{
    const struct gv_error_words *error;
    struct gv_fact *fact;

    if (run->init_result != 0) {
        gv_facts_say_no_kernel(run, add(list, run, GV_FACT_NO_CUDA)->detail);
    } else if (gv_run_facts_launches_failed(run)) {
        fact = add(list, run, GV_FACT_NO_KERNEL);
        gv_facts_say_launch_failed(run, fact->detail);
        error = gv_error_words_of("launch", run->launch_result);
        fact->next = error ? error->remedy
                           : "see what the launches returned, and whether the program checks it: "
                             "gpuverify report FILE --section errors";
    } else if (gv_run_facts_not_run(run)) {
        fact = add(list, run, GV_FACT_NO_KERNEL);
        gv_facts_say_not_run(run, fact->detail);
        fact->next = "check whether they were captured into a graph that was never launched, "
                     "whether the program exited without waiting for them, and what failed: "
                     "gpuverify report FILE --section errors";
    } else if (run->kernels_run + run->graphs + run->launch_calls == 0 && run->whole &&
               run->complete) {
        fact = add(list, run, GV_FACT_NO_KERNEL);
        gv_facts_say_no_kernel(run, fact->detail);
        if (run->killed > 0)
            fact->next = "find out why the program crashed, or was killed, before it launched "
                         "anything";
        else if (run->failed > 0)
            fact->next = "fix what failed: gpuverify report FILE --section errors";
    }
}

static void say_accelerated(const struct gv_run_facts *run, char *out)
{
    char computing[GV_FORMAT_BYTES], lived[GV_FORMAT_BYTES];

    snprintf(out, GV_FACTS_SENTENCE_BYTES, "the GPU computed for %s of the %s that the run took%s",
             gv_format_duration(computing, run->kernel_ns / run->devices_used),
             gv_format_duration(lived, run->lived_ns),
             run->devices_used > 1 ? ", on average of its devices" : "");
}

void gv_facts_make(const struct gv_run_facts *run, struct gv_fact_list *list)
{
    struct gv_fact *fact;

    list->count = 0;
    if (run->ranges[0]) /* between two ranges, the program does other things */
        return;
    add_memory(list, run);
    add_nothing(list, run);
    if (run->blocking_launches > 0)
        gv_facts_say_blocking(run, add(list, run, GV_FACT_LAUNCH_BLOCKING)->detail);
    if (run->flight_ns > 0 && run->flight_ns >= run->window_ns / UNFINISHED_PART) {
        fact = add(list, run, GV_FACT_UNFINISHED);
        fact->process = run->flight_process;
        gv_facts_say_unfinished(run, fact->detail);
    }
    if (run->whole && run->grown_bytes > 0)
        gv_facts_say_growth(run, add(list, run, GV_FACT_MEMORY_GROWS)->detail);
    if (run->late.process && run->late.total_ns >= run->window_ns / LATE_PART) {
        fact = add(list, run, GV_FACT_LATE_RANK);
        fact->process = run->late.process;
        gv_facts_say_late_rank(run, fact->detail);
    }
    /* A rank that waits for another one computes nothing meanwhile: its collective does. */
    if (!run->late.process && run->gpu_whole && run->devices_used > 0 &&
        run->kernel_ns >= gv_time_product(run->lived_ns, run->devices_used) / ACCELERATED)
        say_accelerated(run, add(list, run, GV_FACT_ACCELERATED)->detail);
}

/* kept: by gv_totals_keep(), in a trace that is about to be finished. */
static int store(sqlite3 *trace, bool kept)
{
    const struct gv_totals_part all = GV_TOTALS_ALL;
    struct gv_run_facts *run = malloc(sizeof(*run));
    struct gv_fact_list *list = malloc(sizeof(*list));
    sqlite3_stmt *statement = NULL;
    int error = !run || !list ? -ENOMEM
                : kept        ? gv_run_facts_read_made(trace, &all, run)
                              : gv_run_facts_read(trace, &all, run);

    if (!error && kept)
        run->complete = run->snapshot_ns == 0;
    if (!error)
        gv_facts_make(run, list);
    if (!error)
        error = gv_database_script(trace, "DELETE FROM run_fact", NULL, 0);
    if (!error)
        error = gv_database_compile(trace, sql_add, &statement);
    for (size_t i = 0; !error && i < list->count; i++) {
        sqlite3_bind_int64(statement, 1, list->facts[i].process);
        sqlite3_bind_text(statement, 2, list->facts[i].text, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, list->facts[i].detail, -1, SQLITE_STATIC);
        error = gv_database_step(statement);
    }
    sqlite3_finalize(statement);
    free(run);
    free(list);
    return error;
}

int gv_facts_keep(sqlite3 *trace)
{
    int error = gv_range_choice_install(NULL, trace);

    if (!error)
        error = gv_database_begin_writing(trace);
    if (!error)
        error = store(trace, true);
    return gv_database_end_writing(trace, error);
}

int gv_facts_ensure(sqlite3 *trace)
{
    int kept = gv_totals_are_kept(trace);

    return kept < 0 ? kept : kept ? 0 : store(trace, false);
}
