#include "report/analyse/ranges/totals.h"

#include "report/analyse/ranges/membership.h"
#include "report/analyse/ranges/range_name.h"
#include "report/store/time_sum.h"
#include "report/analyse_ranges_ranges.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Totals of ranges that are known without a query; a power of two. */
#define RANGES_KNOWN 4096u
/* Sets of names at the same time. */
#define SETS_MOST 65536u

enum said_column {
    SAID_KIND,
    SAID_DOMAIN,
    SAID_TEXT,
    SAID_TIMES,
    SAID_COUNT,
    SAID_ENDED,
    SAID_TOTAL,
    SAID_RECORDED,
    SAID_DOMAIN_TEXT,
    SAID_MESSAGE,
    SAID_COLUMNS,
};

struct range_total {
    struct gv_range_sums sums;
    bool recorded;                     /* the GPU side, of a process that has such ranges */
    int64_t min_ns, median_ns, max_ns; /* -1: none has ended */
    int64_t ended, read;
};

/* A set of names is another set with one more name; set 0 is empty. */
struct range_set {
    uint32_t without, total;
};

struct gv_range_totals {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_membership *membership;
    struct range_total *totals; /* by id */
    size_t total_count, total_room;
    sqlite3_stmt *total_of;
    struct {
        int64_t range, total;
    } known[RANGES_KNOWN];
    struct range_set *sets;
    size_t set_count, set_room;
    struct gv_key_map set_of; /* set and name -> set */
    uint32_t era;             /* goes up when all sets were forgotten */
    struct gv_id_table threads;
    int64_t *last; /* by thread: where its last call was */
};

/* ---- names ---- */

static int bind_copy(sqlite3_stmt *to, int parameter, sqlite3_stmt *from, int column)
{
    return sqlite3_bind_value(to, parameter, sqlite3_column_value(from, column));
}

static int add_said(void *context, sqlite3_stmt *row)
{
    sqlite3_stmt *add = context;
    char folded[GV_RANGE_NAME_BYTES];
    const char *text = (const char *)sqlite3_column_text(row, SAID_MESSAGE);
    int result = SQLITE_OK;

    gv_range_name_fold(text ? text : "", folded, sizeof(folded));
    for (int i = 0; i < SAID_COLUMNS && result == SQLITE_OK; i++)
        result = bind_copy(add, i + 1, row, i);
    if (result == SQLITE_OK)
        result = text && strcmp(text, folded) != 0
                     ? sqlite3_bind_text(add, SAID_COLUMNS + 1, folded, -1, SQLITE_TRANSIENT)
                     : sqlite3_bind_null(add, SAID_COLUMNS + 1);
    if (result == SQLITE_OK)
        result = sqlite3_step(add);
    sqlite3_reset(add);
    return gv_database_error(sqlite3_db_handle(add), result);
}

static int take_name(void *context, sqlite3_stmt *row)
{
    struct gv_range_totals *totals = context;
    size_t id = (size_t)sqlite3_column_int64(row, 0);
    int error = 0;

    while (!error && totals->total_count <= id) {
        error = gv_array_room(&totals->totals, totals->total_count, &totals->total_room,
                              sizeof(*totals->totals));
        if (!error)
            totals->totals[totals->total_count++] =
                (struct range_total){.min_ns = -1, .median_ns = -1, .max_ns = -1};
    }
    if (error)
        return error;
    totals->totals[id].ended = sqlite3_column_int64(row, 1);
    totals->totals[id].recorded = sqlite3_column_int64(row, 2) != 0;
    return 0;
}

static struct range_total *total_at(const struct gv_range_totals *totals, int64_t id)
{
    return id > 0 && (uint64_t)id < totals->total_count ? &totals->totals[id] : NULL;
}

/* They come by name, the shortest first. */
static int take_duration(void *context, sqlite3_stmt *row)
{
    struct range_total *total = total_at(context, sqlite3_column_int64(row, 0));
    int64_t duration_ns = gv_time_column_duration(row, 1);

    if (!total)
        return 0;
    if (total->read++ == 0)
        total->min_ns = duration_ns;
    if (total->read == (total->ended + 1) / 2)
        total->median_ns = duration_ns;
    total->max_ns = duration_ns;
    return 0;
}

static int read_names(struct gv_range_totals *totals)
{
    static const int64_t most = GV_RANGE_NAMES;
    const struct gv_totals_part *part = &totals->part;
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    sqlite3_stmt *add = NULL;
    int error = gv_database_script(totals->trace, sql_names_table, NULL, 0);

    if (!error)
        error = gv_database_compile(totals->trace, sql_add_said, &add);
    if (!error)
        error = gv_database_each(totals->trace, sql_said, values, 4, add_said, add);
    sqlite3_finalize(add);
    if (!error)
        error = gv_database_script(totals->trace, sql_make_names, &most, 1);
    if (!error)
        error = gv_database_each(totals->trace, sql_names, NULL, 0, take_name, totals);
    if (!error)
        error = gv_database_each(totals->trace, sql_durations, values, 4, take_duration, totals);
    return error;
}

/* ---- the names of a call ---- */

int gv_range_totals_of(struct gv_range_totals *totals, int64_t range, int64_t *total)
{
    size_t slot = (uint64_t)range % RANGES_KNOWN;
    int result;

    *total = totals->known[slot].total;
    if (totals->known[slot].range == range)
        return 0;
    sqlite3_bind_int64(totals->total_of, 5, range);
    result = sqlite3_step(totals->total_of);
    *total = result == SQLITE_ROW ? sqlite3_column_int64(totals->total_of, 0) : 0;
    sqlite3_reset(totals->total_of);
    totals->known[slot].range = range;
    totals->known[slot].total = *total;
    return gv_database_error(totals->trace, result);
}

static bool set_has(const struct gv_range_totals *totals, size_t set, int64_t total)
{
    for (; set; set = totals->sets[set].without)
        if (totals->sets[set].total == (uint32_t)total)
            return true;
    return false;
}

static int forget_sets(struct gv_range_totals *totals)
{
    int error = 0;

    totals->era++;
    totals->set_count = 0;
    gv_key_map_free(&totals->set_of);
    totals->set_of = (struct gv_key_map){0};
    error = gv_array_room(&totals->sets, 0, &totals->set_room, sizeof(*totals->sets));
    if (!error)
        totals->sets[totals->set_count++] = (struct range_set){0};
    return error;
}

/* The set with one more name. */
static int set_with(struct gv_range_totals *totals, size_t *set, int64_t total)
{
    const struct gv_key key = {{*set, (uint64_t)total, 0}};
    int64_t found = gv_key_map_find(&totals->set_of, &key);
    int error;

    if (!found) {
        error = gv_array_room(&totals->sets, totals->set_count, &totals->set_room,
                              sizeof(*totals->sets));
        if (error)
            return error;
        found = (int64_t)totals->set_count++;
        totals->sets[found] = (struct range_set){(uint32_t)*set, (uint32_t)total};
        error = gv_key_map_add(&totals->set_of, &key, found);
        if (error)
            return error;
    }
    *set = (size_t)found;
    return 0;
}

static int place(void *context, const struct gv_range_call *call, int64_t *bucket)
{
    struct gv_range_totals *totals = context;
    size_t thread = call->thread > 0 && (uint64_t)call->thread < totals->threads.rows
                        ? (size_t)call->thread
                        : 0;
    struct gv_member_of of;
    size_t set = 0;
    int error = gv_membership_of(totals->membership, call->thread, call->id, call->start_ns, &of);

    *bucket = totals->last[thread];
    if (error || (of.same && thread && *bucket >> 32 == totals->era))
        return error;
    if (totals->set_count > SETS_MOST)
        error = forget_sets(totals);
    for (size_t i = of.count; i > 0 && !error; i--) {
        int64_t total;
        error = gv_range_totals_of(totals, of.ids[i - 1], &total);
        if (!error && total && !set_has(totals, set, total))
            error = set_with(totals, &set, total);
    }
    *bucket = totals->last[thread] = (int64_t)totals->era << 32 | (int64_t)set;
    return error;
}

static int add(void *context, int64_t bucket, const struct gv_range_sums *did)
{
    struct gv_range_totals *totals = context;

    if (bucket >> 32 != totals->era)
        return GV_RANGE_FORGOTTEN;
    for (size_t set = (uint32_t)bucket; set; set = totals->sets[set].without) {
        struct range_total *total = total_at(totals, totals->sets[set].total);
        if (total)
            gv_range_sums_add(&total->sums, did);
    }
    return 0;
}

static int idle(void *context, int64_t key, int64_t idle_ns)
{
    struct range_total *total = total_at(context, key);

    if (total)
        total->sums.idle_ns = gv_time_sum(total->sums.idle_ns, idle_ns);
    return 0;
}

static int again(void *context)
{
    struct gv_range_totals *totals = context;

    gv_membership_close(totals->membership);
    memset(totals->last, 0, (totals->threads.rows + 1) * sizeof(*totals->last));
    return gv_membership_open(&totals->membership, totals->trace);
}

/* ---- from the start to the end ---- */

int gv_range_totals_open(struct gv_range_totals **made, sqlite3 *trace,
                         const struct gv_totals_part *part)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    struct gv_range_totals *totals = *made = NULL;
    int64_t any = 0;
    int error = gv_database_number(trace, sql_any, NULL, 0, &any);

    if (error || !any)
        return error;
    totals = *made = calloc(1, sizeof(*totals));
    if (!totals)
        return -ENOMEM;
    totals->trace = trace;
    totals->part = *part;
    error = gv_id_table_read(&totals->threads, trace, "SELECT id, process FROM thread");
    totals->last = calloc(totals->threads.rows + 1, sizeof(*totals->last));
    if (!error && !totals->last)
        error = -ENOMEM;
    if (!error)
        error = forget_sets(totals);
    if (!error)
        error = gv_membership_open(&totals->membership, trace);
    if (!error)
        error = read_names(totals);
    if (!error)
        error = gv_database_error(
            trace, gv_database_ask(trace, sql_total_of_range, values, 4, &totals->total_of));
    return error;
}

struct gv_range_consumer gv_range_totals_consumer(struct gv_range_totals *totals)
{
    return (struct gv_range_consumer){totals, place, add, again, idle};
}

static int add_total(sqlite3_stmt *statement, size_t id, const struct range_total *total,
                     bool selected)
{
    struct gv_range_sums sums = total->sums;

    if (!total->recorded)
        sums.gpu_ns = -1;
    if (!total->recorded || selected)
        sums.idle_ns = -1;
    const int64_t values[] = {
        (int64_t)id,
        total->min_ns,
        total->median_ns,
        total->max_ns,
#define GV_RANGE_SUM(name) sums.name,
#include "report/analyse/ranges/sums.def"
    };

    return gv_database_add(statement, values, sizeof(values) / sizeof(values[0]));
}

int gv_range_totals_store(struct gv_range_totals *totals)
{
    sqlite3_stmt *statement = NULL;
    int error = 0;

    if (!totals)
        return 0;
    error = gv_database_compile(totals->trace, sql_add_total, &statement);
    /* Where calls are selected, others' work is not seen, so neither is idle time. */
    for (size_t id = 1; id < totals->total_count && !error; id++)
        error = add_total(statement, id, &totals->totals[id],
                          totals->part.thread != 0 || totals->part.ranges);
    sqlite3_finalize(statement);
    return error ? error : gv_database_script(totals->trace, "DROP TABLE temp.range_name", NULL, 0);
}

void gv_range_totals_close(struct gv_range_totals *totals)
{
    if (!totals)
        return;
    gv_membership_close(totals->membership);
    sqlite3_finalize(totals->total_of);
    gv_key_map_free(&totals->set_of);
    gv_id_table_free(&totals->threads);
    free(totals->totals);
    free(totals->sets);
    free(totals->last);
    free(totals);
}
