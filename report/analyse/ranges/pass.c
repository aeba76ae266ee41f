#include "report/analyse/ranges/pass.h"

#include "report/analyse/ranges/run.h"
#include "report/store/time_sum.h"
#include "report/analyse/totals/memory_log.h"
#include "report/analyse_ranges_ranges.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

enum stall_column { STALL_START, STALL_CALL, STALL_LOST };
enum load_column { LOAD_START, LOAD_CALL, LOAD_COUNT, LOAD_DURATION };
enum late_column { LATE_CALL, LATE_THREAD, LATE_PROCESS, LATE_START, LATE_GPU, LATE_CONSUMERS };

void gv_range_sums_add(struct gv_range_sums *sums, const struct gv_range_sums *more)
{
#define GV_RANGE_SUM(name)  sums->name = gv_time_sum(sums->name, more->name);
#define GV_RANGE_MOST(name) sums->name = sums->name > more->name ? sums->name : more->name;
#include "report/analyse/ranges/sums.def"
}

static int begin(struct gv_range_pass *pass)
{
    int error;

    if (pass->begun)
        return 0;
    pass->begun = true;
    pass->known = calloc(GV_RANGE_PASS_CALLS, sizeof(*pass->known));
    error = pass->known ? gv_id_table_read(&pass->apis, pass->trace,
                                           "SELECT id, coalesce(gpu_work, 0) <> 0, memory FROM api")
                        : -ENOMEM;
    if (!error)
        error = gv_beside_ask(&pass->stalls, pass->trace, sql_stalls);
    if (!error)
        error = gv_beside_ask(&pass->loads, pass->trace, sql_loads);
    if (!error)
        error = gv_database_compile(pass->trace, "INSERT INTO temp.range_late VALUES (?, ?, ?)",
                                    &pass->late);
    return error;
}

/* ---- the operations ---- */

int gv_range_pass_operation(struct gv_range_pass *pass, int64_t call, int64_t duration_ns)
{
    const struct gv_range_sums did = {.gpu_ns = duration_ns};
    int64_t late = 0; /* a bit for each consumer */
    int error = pass ? begin(pass) : 0;

    if (!pass || call <= 0 || error)
        return error;
    const struct gv_range_known *known = &pass->known[(uint64_t)call % GV_RANGE_PASS_CALLS];
    for (size_t i = 0; i < pass->consumer_count && error >= 0; i++) {
        const struct gv_range_consumer *consumer = &pass->consumers[i];
        error = known->call != call ? GV_RANGE_FORGOTTEN
                : known->buckets[i] ? consumer->add(consumer->context, known->buckets[i], &did)
                                    : 0;
        late |= error == GV_RANGE_FORGOTTEN ? 1 << i : 0;
    }
    if (error < 0 || !late)
        return error < 0 ? error : 0;
    pass->are_late = true;
    return gv_database_add(pass->late, (const int64_t[]){call, did.gpu_ns, late}, 3);
}

static int take_late(void *context, sqlite3_stmt *row)
{
    struct gv_range_pass *pass = context;
    const struct gv_range_call call = {
        .id = sqlite3_column_int64(row, LATE_CALL),
        .thread = sqlite3_column_int64(row, LATE_THREAD),
        .process = sqlite3_column_int64(row, LATE_PROCESS),
        .start_ns = gv_time_column(row, LATE_START),
    };
    const struct gv_range_sums did = {.gpu_ns = gv_time_column_duration(row, LATE_GPU)};
    int64_t late = sqlite3_column_int64(row, LATE_CONSUMERS), bucket;
    int error = 0;

    for (size_t i = 0; i < pass->consumer_count && !error; i++) {
        const struct gv_range_consumer *consumer = &pass->consumers[i];
        if (!(late >> i & 1))
            continue;
        error = consumer->place(consumer->context, &call, &bucket);
        if (!error && bucket)
            error = consumer->add(consumer->context, bucket, &did);
    }
    return error;
}

/* ---- the calls ---- */

static int did_of(struct gv_range_pass *pass, const struct gv_range_pass_row *row,
                  struct gv_range_sums *did)
{
    int64_t space = gv_id_table_get(&pass->apis, row->api, 1);
    bool works = row->result == 0 && gv_id_table_get(&pass->apis, row->api, 0);
    bool allocates = row->result == 0 && (space == GV_MEMORY_DEVICE || space == GV_MEMORY_PHYSICAL);
    bool stalls, loads = false;
    int error = gv_beside_find(&pass->stalls, row->call.start_ns, row->call.id, &stalls);

    if (!error)
        error = gv_beside_find(&pass->loads, row->call.start_ns, row->call.id, &loads);
    *did = (struct gv_range_sums){
        .calls = row->count,
        .launches = works,
        .allocations = allocates,
        .allocated_bytes = allocates && row->bytes > 0 ? row->bytes : 0,
    };
    if (stalls) {
        did->stalls = 1;
        did->stall_ns = did->max_stall_ns = gv_time_column_duration(pass->stalls.rows, STALL_LOST);
    }
    if (loads) {
        did->loads = sqlite3_column_int64(pass->loads.rows, LOAD_COUNT);
        did->load_ns = gv_time_column_duration(pass->loads.rows, LOAD_DURATION);
        if (did->load_ns > row->duration_ns)
            did->load_ns = row->duration_ns;
    }
    return error;
}

int gv_range_pass_call(struct gv_range_pass *pass, const struct gv_range_pass_row *row)
{
    struct gv_range_known known = {.call = row->call.id};
    struct gv_range_sums did;
    int error = pass ? begin(pass) : 0;

    if (!pass)
        return 0;
    if (!error)
        error = did_of(pass, row, &did);
    for (size_t i = 0; i < pass->consumer_count && !error; i++) {
        const struct gv_range_consumer *consumer = &pass->consumers[i];
        error = consumer->place(consumer->context, &row->call, &known.buckets[i]);
        if (!error && known.buckets[i])
            error = consumer->add(consumer->context, known.buckets[i], &did);
    }
    if (!error && did.launches)
        pass->known[(uint64_t)row->call.id % GV_RANGE_PASS_CALLS] = known;
    return error;
}

static void end_statements(struct gv_range_pass *pass)
{
    sqlite3_finalize(pass->stalls.rows);
    sqlite3_finalize(pass->loads.rows);
    sqlite3_finalize(pass->late);
    pass->stalls.rows = pass->loads.rows = pass->late = NULL;
}

int gv_range_pass_end(struct gv_range_pass *pass)
{
    const struct gv_totals_part *part = pass ? &pass->part : NULL;
    int error = pass ? begin(pass) : 0;

    if (!pass)
        return 0;
    end_statements(pass);
    for (size_t i = 0; i < pass->consumer_count && pass->are_late && !error; i++)
        if (pass->consumers[i].again)
            error = pass->consumers[i].again(pass->consumers[i].context);
    if (!error && pass->are_late)
        error = gv_database_each(
            pass->trace, sql_late,
            (const int64_t[]){part->process, part->thread, part->from_ns, part->to_ns}, 4,
            take_late, pass);
    return error ? error : gv_database_script(pass->trace, "DROP TABLE temp.range_late", NULL, 0);
}

/* ---- from the start to the end ---- */

int gv_range_pass_open(struct gv_range_pass **made, sqlite3 *trace,
                       const struct gv_totals_part *part)
{
    struct gv_range_pass *pass = *made = calloc(1, sizeof(*pass));

    if (!pass)
        return -ENOMEM;
    pass->trace = trace;
    pass->part = *part;
    /* A table cannot be made while the calls are read. */
    return gv_database_script(trace, sql_late_table, NULL, 0);
}

void gv_range_pass_add(struct gv_range_pass *pass, struct gv_range_consumer consumer)
{
    pass->consumers[pass->consumer_count++] = consumer;
}

void gv_range_pass_close(struct gv_range_pass *pass)
{
    if (!pass)
        return;
    end_statements(pass);
    gv_range_idle_free(&pass->idle);
    gv_id_table_free(&pass->apis);
    free(pass->known);
    free(pass);
}
