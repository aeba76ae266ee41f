/* Counts for each name of ranges and marks how many of the launches it covers. */
#include "report/analyse/steps/run.h"

#include "report/analyse/ranges/membership.h"
#include "report/analyse_steps_steps.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names that one call is in; the innermost ones count. */
#define WORDS_MOST 16u

struct words_thread {
    bool waits;
    size_t count;
    size_t covers[WORDS_MOST]; /* of the ranges that its last call was in */
};

struct words_mark {
    int64_t thread, from_ns, to_ns;
    size_t cover;
};

struct words_cover {
    int64_t process, total, launches;
};

struct gv_step_words {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_range_totals *totals;
    struct gv_membership *membership;
    struct gv_id_table process_of;
    struct words_thread *threads; /* by id */
    struct words_mark *marks;
    size_t mark_count, mark_room;
    struct words_cover *covers;
    size_t cover_count, cover_room;
    struct gv_key_map cover_of; /* process and name -> cover + 1 */
};

static int find_cover(struct gv_step_words *words, int64_t process, int64_t total, size_t *cover)
{
    const struct gv_key key = {{(uint64_t)process, (uint64_t)total, 0}};
    int64_t number = gv_key_map_find(&words->cover_of, &key);
    int error;

    *cover = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_array_room(&words->covers, words->cover_count, &words->cover_room,
                          sizeof(*words->covers));
    if (error)
        return error;
    *cover = words->cover_count++;
    words->covers[*cover] = (struct words_cover){process, total, 0};
    return gv_key_map_add(&words->cover_of, &key, (int64_t)*cover + 1);
}

static int take_mark(void *context, sqlite3_stmt *row)
{
    struct gv_step_words *words = context;
    struct words_mark mark = {
        .thread = sqlite3_column_int64(row, 0),
        .from_ns = sqlite3_column_int64(row, 2),
        .to_ns = sqlite3_column_int64(row, 3),
    };
    int error = gv_array_room(&words->marks, words->mark_count, &words->mark_room, sizeof(mark));

    if (!error)
        error = find_cover(words, gv_id_table_get(&words->process_of, mark.thread, 0),
                           sqlite3_column_int64(row, 1), &mark.cover);
    if (!error)
        words->marks[words->mark_count++] = mark;
    return error;
}

int gv_step_words_open(struct gv_step_words **made, sqlite3 *trace,
                       const struct gv_totals_part *part, struct gv_range_totals *totals)
{
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns,
                              GV_STEP_LEAST};
    struct gv_step_words *words = *made = calloc(1, sizeof(*words));
    int error;

    if (!words)
        return -ENOMEM;
    words->totals = totals;
    words->trace = trace;
    words->part = *part;
    error = gv_membership_open(&words->membership, trace);
    if (!error)
        error = gv_id_table_read(&words->process_of, trace, "SELECT id, process FROM thread");
    words->threads = calloc(words->process_of.rows + 1, sizeof(*words->threads));
    if (!error && !words->threads)
        error = -ENOMEM;
    return error ? error : gv_database_each(trace, sql_marks, values, 5, take_mark, words);
}

static int place_thread(struct gv_step_words *words, struct words_thread *thread, int64_t process,
                        const struct gv_member_of *of)
{
    int error = find_cover(words, process, -(thread - words->threads), &thread->covers[0]);

    thread->count = 1;
    for (size_t i = 0; i < of->count && thread->count < WORDS_MOST && !error; i++) {
        size_t cover = 0;
        int64_t total;
        error = gv_range_totals_of(words->totals, of->ids[i], &total);
        if (!error && total)
            error = find_cover(words, process, total, &cover);
        for (size_t j = 0; cover && j < thread->count; j++)
            cover = thread->covers[j] == cover ? 0 : cover;
        if (!error && total && cover)
            thread->covers[thread->count++] = cover;
    }
    return error;
}

int gv_step_words_take(struct gv_step_words *words, const struct gv_step_call *call)
{
    struct words_thread *thread;
    struct gv_member_of of;
    int error;

    if (!words || call->thread <= 0 || (uint64_t)call->thread >= words->process_of.rows)
        return 0;
    thread = &words->threads[call->thread];
    thread->waits |= call->event.role == GV_STEP_WAIT || call->event.role == GV_STEP_FETCH;
    if (call->event.role == GV_STEP_WAIT)
        return 0;
    error = gv_membership_of(words->membership, call->thread, call->id, call->start_ns, &of);
    if (!error && (!of.same || thread->count == 0))
        error = place_thread(words, thread, call->process, &of);
    for (size_t i = 0; i < thread->count && !error; i++)
        words->covers[thread->covers[i]].launches++;
    for (size_t i = 0; i < words->mark_count && !error; i++)
        if (words->marks[i].thread == call->thread && words->marks[i].from_ns <= call->start_ns &&
            words->marks[i].to_ns > call->start_ns)
            words->covers[words->marks[i].cover].launches++;
    return error;
}

/* gv_is_library(domain) */
static void is_library(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const char *const domains[] = {
#define GV_LIBRARY_DOMAIN(name, how) name,
#include "trace/library_domains.def"
#undef GV_LIBRARY_DOMAIN
    };
    const char *domain = count > 0 ? (const char *)sqlite3_value_text(values[0]) : NULL;
    bool is_one = false;

    for (size_t i = 0; domain && i < sizeof(domains) / sizeof(domains[0]); i++)
        is_one |= strcmp(domain, domains[i]) == 0;
    sqlite3_result_int(context, is_one);
}

static bool waits(const struct gv_step_words *words, int64_t total)
{
    return total < 0 && words->threads[-total].waits;
}

int gv_step_words_store(struct gv_step_words *words)
{
    sqlite3_stmt *add = NULL;
    int error;

    if (!words)
        return 0;
    const struct gv_totals_part *part = &words->part;
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns,
                              GV_STEP_LEAST};
    error =
        gv_database_error(words->trace, sqlite3_create_function(words->trace, "gv_is_library", 1,
                                                                SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                                                NULL, is_library, NULL, NULL));
    if (!error)
        error = gv_database_script(words->trace, sql_words_table, NULL, 0);
    if (!error)
        error = gv_database_error(words->trace,
                                  sqlite3_prepare_v2(words->trace, sql_add_cover, -1, &add, NULL));
    for (size_t i = 0; i < words->cover_count && !error; i++)
        error = gv_database_add(add,
                                (const int64_t[]){words->covers[i].process, words->covers[i].total,
                                                  words->covers[i].launches,
                                                  waits(words, words->covers[i].total)},
                                4);
    sqlite3_finalize(add);
    if (!error)
        error = gv_database_script(words->trace, sql_words, values, 5);
    if (!error)
        error = gv_database_script(words->trace, sql_words_series, NULL, 0);
    return error ? error : gv_database_script(words->trace, sql_words_steps, values, 4);
}

void gv_step_words_close(struct gv_step_words *words)
{
    if (!words)
        return;
    gv_membership_close(words->membership);
    gv_id_table_free(&words->process_of);
    gv_key_map_free(&words->cover_of);
    free(words->threads);
    free(words->marks);
    free(words->covers);
    free(words);
}
