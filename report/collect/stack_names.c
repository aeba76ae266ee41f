#include "report/collect/stack_names.h"

#include "report/analyse/names/demangle.h"
#include "report/analyse/names/runtime_frames.h"
#include "report/collect/object_names.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A library of a gigabyte takes a second to open; a program has hundreds of them at most. */
#define GV_STACK_NAMES_PATIENCE_S 8

static const char gv_stack_names_objects_sql[] =
    "SELECT o.id, o.path, o.build_id FROM object o WHERE o.path IS NOT NULL AND EXISTS"
    " (SELECT 1 FROM frame f WHERE f.object = o.id AND f.function IS NULL)";
/* The address before it: where a call returns to is behind it, and may be the next line. */
static const char gv_stack_names_frames_sql[] =
    "SELECT DISTINCT address FROM frame WHERE object = ? AND function IS NULL";
static const char gv_stack_names_update_sql[] =
    "UPDATE frame SET function = ?3, file = ?4, line = ?5 WHERE object = ?1 AND address = ?2";

struct gv_stack_names {
    sqlite3 *trace;
    sqlite3_stmt *frames;
    sqlite3_stmt *update;
    struct timespec end;
};

static int gv_stack_names_is_late(const struct gv_stack_names *names)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec >= names->end.tv_sec;
}

static int gv_stack_names_store(struct gv_stack_names *names, int64_t object, int64_t address,
                                const struct gv_object_place *place)
{
    char function[1024], file[1024];
    char readable[1024];
    int result;

    if (!place->function && !place->file)
        return 0;
    const char *name = place->function ? place->function : "";
    name = gv_demangle(name, readable, sizeof(readable));
    gv_text_repair(function, sizeof(function), name, strlen(name));
    gv_text_repair(file, sizeof(file), place->file ? place->file : "",
                   place->file ? strlen(place->file) : 0);
    result = sqlite3_bind_int64(names->update, 1, object);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(names->update, 2, address);
    if (result == SQLITE_OK)
        result =
            sqlite3_bind_text(names->update, 3, function[0] ? function : NULL, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(names->update, 4, file[0] ? file : NULL, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = place->line > 0 ? sqlite3_bind_int64(names->update, 5, place->line)
                                 : sqlite3_bind_null(names->update, 5);
    if (result == SQLITE_OK)
        result = sqlite3_step(names->update);
    sqlite3_reset(names->update);
    return gv_database_error(names->trace, result);
}

static int gv_stack_names_of_object(struct gv_stack_names *names, int64_t object, const char *path,
                                    const char *build_id)
{
    struct gv_object_names *file;
    int result, error;

    if (gv_object_names_open(&file, path, build_id))
        return 0;
    result = sqlite3_bind_int64(names->frames, 1, object);
    error = gv_database_error(names->trace, result);
    while (!error && !gv_stack_names_is_late(names) &&
           (result = sqlite3_step(names->frames)) == SQLITE_ROW) {
        struct gv_object_place place;
        int64_t address = sqlite3_column_int64(names->frames, 0);

        gv_object_names_find(file, (uint64_t)address - 1, &place);
        error = gv_stack_names_store(names, object, address, &place);
    }
    if (!error)
        error = gv_database_error(names->trace, result);
    sqlite3_reset(names->frames);
    gv_object_names_close(file);
    return error;
}

int gv_stack_names_find(struct gv_database *database)
{
    struct gv_stack_names names = {.trace = database->handle};
    sqlite3_stmt *objects = NULL;
    int result = sqlite3_prepare_v2(names.trace, gv_stack_names_objects_sql, -1, &objects, NULL);
    int error;

    if (result == SQLITE_OK)
        result =
            sqlite3_prepare_v2(names.trace, gv_stack_names_frames_sql, -1, &names.frames, NULL);
    if (result == SQLITE_OK)
        result =
            sqlite3_prepare_v2(names.trace, gv_stack_names_update_sql, -1, &names.update, NULL);
    error = gv_database_error(names.trace, result);
    /* elfutils would ask servers for what it does not find. */
    unsetenv("DEBUGINFOD_URLS");
    clock_gettime(CLOCK_MONOTONIC, &names.end);
    names.end.tv_sec += GV_STACK_NAMES_PATIENCE_S;
    while (!error && !gv_stack_names_is_late(&names) &&
           (result = sqlite3_step(objects)) == SQLITE_ROW)
        error = gv_stack_names_of_object(&names, sqlite3_column_int64(objects, 0),
                                         (const char *)sqlite3_column_text(objects, 1),
                                         (const char *)sqlite3_column_text(objects, 2));
    if (!error)
        error = gv_database_error(names.trace, result);
    sqlite3_finalize(objects);
    sqlite3_finalize(names.frames);
    sqlite3_finalize(names.update);
    return error ? error : gv_runtime_frames_mark(database);
}
