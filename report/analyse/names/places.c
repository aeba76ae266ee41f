#include "report/analyse/names/places.h"

#include "report/analyse_names_stack_text.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

#include <stdbool.h>

struct place_search {
    sqlite3 *trace;
    int64_t place;
};

/* Binds the frame's function, library, file and line in the order of `frames`. */
static int place_ask(struct place_search *search, const char *sql, sqlite3_stmt *frame, bool *found)
{
    sqlite3_stmt *ask = NULL;
    int result = sqlite3_prepare_v2(search->trace, sql, -1, &ask, NULL);

    for (int i = 0; i < 4 && result == SQLITE_OK; i++)
        result = sqlite3_bind_value(ask, i + 1, sqlite3_column_value(frame, i));
    if (result == SQLITE_OK)
        result = sqlite3_step(ask);
    *found = result == SQLITE_ROW;
    if (*found)
        search->place = sqlite3_column_int64(ask, 0);
    sqlite3_finalize(ask);
    return gv_database_error(search->trace, result);
}

static int place_of_frame(void *context, sqlite3_stmt *frame)
{
    struct place_search *search = context;
    bool found;
    int error = place_ask(search, sql_place_find, frame, &found);

    if (error || found)
        return error;
    error = place_ask(search, sql_place_add, frame, &found);
    search->place = sqlite3_last_insert_rowid(search->trace);
    return error;
}

int gv_place_of_stack(sqlite3 *trace, int64_t stack, int64_t *place)
{
    const int64_t of_one_frame[] = {stack, 1};
    struct place_search search = {.trace = trace};
    int error = gv_database_number(trace, sql_place_known, &stack, 1, &search.place);

    *place = search.place;
    if (error || *place || !stack)
        return error;
    error = gv_database_each(trace, sql_frames, of_one_frame, 2, place_of_frame, &search);
    *place = search.place;
    if (error || !*place)
        return error;
    const int64_t known[] = {stack, *place};
    return gv_database_script(trace, sql_place_keep, known, 2);
}

int gv_places_open(sqlite3 *trace)
{
    int64_t hidden = sqlite3_db_readonly(trace, "main") != 1;
    int error = hidden ? 0 : gv_database_number(trace, sql_places_hidden, NULL, 0, &hidden);

    if (error || hidden)
        return error;
    /* A trace of an earlier schema has empty temporary ones already. */
    error = gv_shadow_make(trace, "TABLE", "place");
    if (!error)
        error = gv_shadow_make(trace, "TABLE", "stack_place");
    return error ? error : gv_database_script(trace, sql_places_copy, NULL, 0);
}
