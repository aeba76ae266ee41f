/*
 * What other processes did while a call took long, and what such a call usually takes. Without
 * other processes there is nothing to read.
 */
#include "report/analyse/stalls/run.h"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>

/* The kernel driver needs so long for a process that starts or ends. */
#define LIFE_NS 1000000000
/* Processes outside the session are sampled so often. */
#define SAMPLED_NS 1000000000
/* A quarter of a call's kind took less; fewer calls say nothing. */
#define USUAL_PART  4
#define USUAL_LEAST 4

/* The place of a number's highest bit. */
static unsigned bits_of(int64_t number)
{
    return number > 0 ? 63u - (unsigned)__builtin_clzll((unsigned long long)number) : 0;
}

/* Adds what a process did at a time, which may have kept the driver busy from one time to another.
 */
static int add_life(struct gv_stall_others *others, struct gv_stall_life life,
                    enum gv_other_did did, int64_t at_ns, int64_t start_ns, int64_t end_ns)
{
    int error = gv_array_room(&others->lives, others->count, &others->room, sizeof(life));

    life.did = did;
    life.at_ns = at_ns;
    life.start_ns = start_ns;
    life.end_ns = end_ns;
    if (!error)
        others->lives[others->count++] = life;
    return error;
}

static int read_processes(struct gv_stall_run *run)
{
    struct gv_stall_others *others = &run->judge.others;
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_LIVES, &error);

    while (gv_stall_next(run, rows, &error)) {
        struct gv_stall_life life = {.process = sqlite3_column_int64(rows, 0)};
        int64_t start_ns = gv_time_column(rows, 1), end_ns = gv_time_column(rows, 2);
        const struct gv_stall_process *process =
            GV_STALL_ROW(run->processes, run->process_count, life.process);

        life.machine = process ? process->machine : 0;
        error = add_life(others, life, GV_OTHER_STARTED, start_ns, start_ns, start_ns + LIFE_NS);
        if (!error && sqlite3_column_type(rows, 2) != SQLITE_NULL)
            error =
                add_life(others, life, GV_OTHER_ENDED, end_ns, end_ns - LIFE_NS, end_ns + LIFE_NS);
    }
    return error;
}

static int read_outside(struct gv_stall_run *run)
{
    struct gv_stall_others *others = &run->judge.others;
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_OUTSIDE, &error);

    while (gv_stall_next(run, rows, &error)) {
        int64_t first_ns = gv_time_column(rows, 1), last_ns = gv_time_column(rows, 2);
        const struct gv_stall_life life = {.other = sqlite3_column_int64(rows, 0),
                                           .machine = sqlite3_column_int64(rows, 5)};

        error = add_life(others, life, GV_OTHER_USED, first_ns, first_ns, last_ns);
        if (!error && sqlite3_column_int(rows, 3) != 0)
            error = add_life(others, life, GV_OTHER_STARTED, first_ns, first_ns - SAMPLED_NS,
                             first_ns + LIFE_NS);
        if (!error && sqlite3_column_int(rows, 4) != 0)
            error = add_life(others, life, GV_OTHER_ENDED, last_ns, last_ns,
                             last_ns + SAMPLED_NS + LIFE_NS);
    }
    return error;
}

/* Counts calls by size and duration, in steps of two. */
static int count_call(struct gv_stall_run *run, sqlite3_stmt *row)
{
    struct gv_stall_others *others = &run->judge.others;
    int64_t id = sqlite3_column_int64(row, 0);
    const struct gv_stall_api *api = GV_STALL_ROW(run->apis, run->api_count, id);

    if (!api || !api->rule || !(api->rule->flags & GV_CALL_HELD_BY_OTHERS))
        return 0;
    if (!others->usual)
        others->usual = calloc(run->api_count, sizeof(*others->usual));
    if (others->usual && !others->usual[id])
        others->usual[id] = calloc(1, sizeof(*others->usual[id]));
    if (!others->usual || !others->usual[id])
        return -ENOMEM;
    others->usual[id]->count[bits_of(gv_time_column_duration(row, 1))]
                            [bits_of(gv_time_column_duration(row, 2))]++;
    return 0;
}

static int read_usual(struct gv_stall_run *run)
{
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_ALLOCATIONS, &error);

    while (gv_stall_next(run, rows, &error))
        error = count_call(run, rows);
    return error;
}

int gv_stall_others_open(struct gv_stall_run *run)
{
    struct gv_stall_others *others = &run->judge.others;
    int error = read_processes(run);

    others->api_count = run->api_count;
    if (!error)
        error = read_outside(run);
    if (!error && others->count > 0)
        error = read_usual(run);
    return error;
}

void gv_stall_others_close(struct gv_stall_run *run)
{
    struct gv_stall_others *others = &run->judge.others;

    for (size_t i = 0; others->usual && i < others->api_count; i++)
        free(others->usual[i]);
    free(others->usual);
    free(others->lives);
}

int64_t gv_stall_usual_ns(const struct gv_stall_others *others, const struct gv_stall_call *call)
{
    const struct gv_stall_usual *usual =
        others->usual && call->api > 0 && (uint64_t)call->api < others->api_count
            ? others->usual[call->api]
            : NULL;
    uint64_t all = 0, seen = 0;
    unsigned size = bits_of(call->bytes), time;

    if (!usual)
        return -1;
    /* Larger calls take no less. */
    for (unsigned s = size; s < GV_STALL_STEPS; s++)
        for (time = 0; time < GV_STALL_STEPS; time++)
            all += usual->count[s][time];
    if (all < USUAL_LEAST)
        return -1;
    for (time = 0; time < GV_STALL_STEPS; time++) {
        for (unsigned s = size; s < GV_STALL_STEPS; s++)
            seen += usual->count[s][time];
        if (seen * USUAL_PART >= all)
            break;
    }
    return time < 61 ? INT64_C(2) << time : INT64_MAX;
}
