#include "report/analyse/names/places.h"

#include "report/analyse_names_stack_text.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The texts may be NULL. line 0: none */
struct place {
    const char *function, *library, *file;
    int64_t line;
};

struct place_search {
    sqlite3 *trace;
    struct gv_places *places;
    int64_t place;
    /* Of stacks without Python frames: the row of node_frames that matched, and what it found. */
    size_t node;
    char *step, *library;
};

static const struct {
    const char *function, *before, *after;
} node_frames[] = {
#define GV_NODE_FRAME(function, before, after) {function, before, after},
#include "report/analyse/names/node_frames.def"
};
#define GV_NODE_FRAMES (sizeof(node_frames) / sizeof(node_frames[0]))

static const char *const place_sql[GV_PLACE_STATEMENTS] = {
    [GV_PLACE_KNOWN] = sql_place_known, [GV_PLACE_KEEP] = sql_place_keep,
    [GV_PLACE_FIND] = sql_place_find,   [GV_PLACE_ADD] = sql_place_add,
    [GV_PLACE_FRAMES] = sql_frames,     [GV_PLACE_NODES] = sql_frames_without_python,
};

/* Prepares all of them before the first use. */
static int places_prepare(sqlite3 *trace, struct gv_places *places)
{
    int error = 0;

    for (int i = 0; i < GV_PLACE_STATEMENTS && !error; i++)
        if (!places->asked[i])
            error = gv_database_compile(trace, place_sql[i], &places->asked[i]);
    return error;
}

static int place_ask(struct place_search *search, enum gv_place_statement which,
                     const struct place *place, bool *found)
{
    const char *const texts[] = {place->function, place->library, place->file};
    sqlite3_stmt *ask = search->places->asked[which];
    int result = place->line ? sqlite3_bind_int64(ask, 4, place->line) : sqlite3_bind_null(ask, 4);

    for (int i = 0; i < 3 && result == SQLITE_OK; i++)
        result = sqlite3_bind_text(ask, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    if (result == SQLITE_OK)
        result = sqlite3_step(ask);
    *found = result == SQLITE_ROW;
    if (*found)
        search->place = sqlite3_column_int64(ask, 0);
    sqlite3_reset(ask);
    return gv_database_error(search->trace, result);
}

static int place_find_or_add(struct place_search *search, const struct place *place)
{
    bool found;
    int error = place_ask(search, GV_PLACE_FIND, place, &found);

    if (error || found)
        return error;
    error = place_ask(search, GV_PLACE_ADD, place, &found);
    search->place = sqlite3_last_insert_rowid(search->trace);
    return error;
}

static int place_of_frame(void *context, sqlite3_stmt *frame)
{
    const struct place place = {
        .function = (const char *)sqlite3_column_text(frame, 0),
        .library = (const char *)sqlite3_column_text(frame, 1),
        .file = (const char *)sqlite3_column_text(frame, 2),
        .line = sqlite3_column_int64(frame, 3),
    };

    return place_find_or_add(context, &place);
}

/* Innermost frame first. */
static int place_of_node(void *context, sqlite3_stmt *frame)
{
    struct place_search *search = context;
    const char *function = (const char *)sqlite3_column_text(frame, 0);
    const char *library = (const char *)sqlite3_column_text(frame, 1);

    for (size_t i = 0; function && i < search->node; i++) {
        if (fnmatch(node_frames[i].function, function, 0) != 0)
            continue;
        const char *from = strstr(function, node_frames[i].before);
        const char *to = from ? strstr(from, node_frames[i].after) : NULL;
        if (!to)
            continue;
        from += strlen(node_frames[i].before);
        free(search->step);
        free(search->library);
        search->node = i;
        search->step = strndup(from, (size_t)(to - from));
        search->library = library ? strdup(library) : NULL;
        return search->step ? 0 : -ENOMEM;
    }
    return 0;
}

static int search_place(struct place_search *search, int64_t stack)
{
    sqlite3_stmt *const *asked = search->places->asked;
    const int64_t of_one_frame[] = {stack, 1};
    int error = gv_database_rows(asked[GV_PLACE_NODES], &stack, 1, place_of_node, search);

    if (error)
        return error;
    if (!search->step)
        return gv_database_rows(asked[GV_PLACE_FRAMES], of_one_frame, 2, place_of_frame, search);
    const struct place step = {.function = search->step, .library = search->library};
    return place_find_or_add(search, &step);
}

static int take_known(void *context, sqlite3_stmt *row)
{
    *(int64_t *)context = sqlite3_column_int64(row, 0);
    return 0;
}

static int find_place(sqlite3 *trace, struct gv_places *places, int64_t stack, int64_t *place)
{
    struct place_search search = {.trace = trace, .places = places, .node = GV_NODE_FRAMES};
    int error = places_prepare(trace, places);

    *place = 0;
    if (!error)
        error = gv_database_rows(places->asked[GV_PLACE_KNOWN], &stack, 1, take_known, place);
    if (error || *place || !stack)
        return error;
    error = search_place(&search, stack);
    free(search.step);
    free(search.library);
    *place = search.place;
    if (error || !*place)
        return error;
    return gv_database_add(places->asked[GV_PLACE_KEEP], (int64_t[]){stack, *place}, 2);
}

int gv_place_of_stack(sqlite3 *trace, struct gv_places *places, int64_t stack, int64_t *place)
{
    const struct gv_key key = {{(uint64_t)stack, 0, 0}};

    *place = gv_key_map_find(&places->known, &key) - 1;
    if (*place >= 0)
        return 0;
    int error = find_place(trace, places, stack, place);
    return error ? error : gv_key_map_add(&places->known, &key, *place + 1);
}

void gv_places_free(struct gv_places *places)
{
    for (int i = 0; i < GV_PLACE_STATEMENTS; i++)
        sqlite3_finalize(places->asked[i]);
    gv_key_map_free(&places->known);
}

int gv_places_open(sqlite3 *trace)
{
    int64_t hidden = sqlite3_db_readonly(trace, "main") != 1;
    int error = hidden ? 0 : gv_database_number(trace, sql_places_hidden, NULL, 0, &hidden);

    if (error || hidden)
        return error;
    /* A trace of an earlier schema has empty temporary ones already. */
    error = gv_shadow_make_all(trace, "TABLE", (const char *const[]){"place", "stack_place"}, 2);
    return error ? error : gv_database_script(trace, sql_places_copy, NULL, 0);
}

struct place_list {
    sqlite3 *trace;
    struct gv_places places;
};

static int place_of_row(void *context, sqlite3_stmt *row)
{
    struct place_list *list = context;
    int64_t place;

    return gv_place_of_stack(list->trace, &list->places, sqlite3_column_int64(row, 0), &place);
}

int gv_places_of_stacks(sqlite3 *trace, const char *sql)
{
    struct place_list list = {.trace = trace};
    int error = gv_database_each(trace, sql, NULL, 0, place_of_row, &list);

    gv_places_free(&list.places);
    return error;
}
