/*
 * Gives the stalls their advice. This comes after all stalls are known: the cost of eager
 * loading and the list of late kernels cover the whole trace.
 */
#include "report/analyse/stalls/advice.h"
#include "report/analyse/stalls/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file's name and a line, or a function. */
#define PLACE_BYTES 512

enum gv_advised_column {
#define GV_ADVISED(kind, name) GV_ADVISED_##name,
#include "report/analyse/stalls/advised.def"
};

#define TAKE_OTHER(name)
#define TAKE_NUMBER(name) facts->name = sqlite3_column_int64(row, GV_ADVISED_##name);
#define TAKE_TEXT(name)   facts->name = (const char *)sqlite3_column_text(row, GV_ADVISED_##name);

static void take_facts(struct gv_advice_facts *facts, sqlite3_stmt *row)
{
#define GV_ADVISED(kind, name) TAKE_##kind(name)
#include "report/analyse/stalls/advised.def"
}

/* Keeps the last text of each cause: most stalls of a program are alike. */
struct gv_advised {
    char last[GV_CAUSE_COUNT][GV_ADVICE_BYTES];
    int64_t last_id[GV_CAUSE_COUNT];
    char text[GV_ADVICE_BYTES];
    /* of the call, of the one that blocked it, and of the launch of a host function */
    char places[3][PLACE_BYTES];
    struct gv_advice_facts facts;
    int64_t facts_process; /* whose architecture, late kernels and pools the facts hold */
};

static int read_environment(struct gv_stall_run *run, struct gv_advice_facts *facts,
                            int64_t process)
{
    static const char *const names[GV_ENVIRONMENT_COUNT] = {
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_ENVIRONMENT, &error);

    memset(facts->environment, 0, sizeof(facts->environment));
    if (rows)
        sqlite3_bind_int64(rows, 1, process);
    while (gv_stall_next(run, rows, &error)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        const char *value = (const char *)sqlite3_column_text(rows, 1);
        for (size_t i = 0; i < GV_ENVIRONMENT_COUNT && name && value; i++)
            if (strcmp(names[i], name) == 0)
                snprintf(facts->environment[i], GV_ADVICE_VALUE, "=%s", value);
    }
    return error;
}

/* Whether the call came through the library of its cause's note. */
static int read_library(struct gv_stall_run *run, struct gv_advice_facts *facts,
                        enum gv_cause cause, int64_t call)
{
    const char *library = gv_advice_library(facts, cause);
    sqlite3_stmt *row = NULL;
    int error = 0;

    if (library)
        row = gv_stall_statement(run, GV_STALL_IN_LIBRARY, &error);
    if (row) {
        sqlite3_bind_int64(row, 1, call);
        sqlite3_bind_text(row, 2, library, -1, SQLITE_STATIC);
    }
    facts->in_library = gv_stall_next(run, row, &error);
    return error;
}

/* A process's architecture and variables, the kernels that it loaded late, and what its pools cost
 * it. */
static int read_process(struct gv_stall_run *run, struct gv_advised *advised, int64_t process)
{
    struct gv_advice_facts *facts = &advised->facts;
    sqlite3_stmt *rows;
    int error;

    if (advised->facts_process == process)
        return 0;
    advised->facts_process = process;
    rows = gv_stall_row(run, GV_STALL_ARCHITECTURE, process, &error);
    facts->arch = rows ? sqlite3_column_int(rows, 0) : 0;
    facts->late_count = facts->late_more = 0;
    if (!error)
        rows = gv_stall_row(run, GV_STALL_POOLS, process, &error);
    if (!error) {
        facts->pool_count = sqlite3_column_int64(rows, 0);
        facts->pool_ns = sqlite3_column_int64(rows, 1);
    }
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_LATE_KERNELS, &error);
    if (!error)
        sqlite3_bind_int64(rows, 1, process);
    while (!error && gv_stall_next(run, rows, &error))
        gv_advice_remember(facts, (const char *)sqlite3_column_text(rows, 0));
    return error ? error : read_environment(run, facts, process);
}

/* Finds the text's row, or adds it. */
static int store_text(struct gv_stall_run *run, struct gv_advised *advised, enum gv_cause cause,
                      int64_t *id)
{
    static const enum gv_stall_statement statements[] = {GV_STALL_ADD_TEXT, GV_STALL_FIND_TEXT};
    int error = 0;

    *id = advised->last_id[cause];
    if (*id && strcmp(advised->last[cause], advised->text) == 0)
        return 0;
    for (int i = 0; i < 2 && !error; i++) {
        sqlite3_stmt *row = gv_stall_statement(run, statements[i], &error);
        if (row)
            sqlite3_bind_text(row, 1, advised->text, -1, SQLITE_STATIC);
        *id = gv_stall_next(run, row, &error) ? sqlite3_column_int64(row, 0) : 0;
    }
    strcpy(advised->last[cause], advised->text);
    advised->last_id[cause] = *id;
    return error;
}

/* What the call loaded. */
static int read_module(struct gv_stall_run *run, struct gv_advice_facts *facts, int64_t call)
{
    int error;
    sqlite3_stmt *row = gv_stall_row(run, GV_STALL_LOADED, call, &error);

    facts->module_kind = facts->module_name = NULL;
    facts->module_bytes = facts->again = facts->again_ns = 0;
    if (row) {
        facts->module_kind = (const char *)sqlite3_column_text(row, 0);
        facts->module_name = (const char *)sqlite3_column_text(row, 1);
        facts->module_bytes = sqlite3_column_int64(row, 2);
        facts->again = sqlite3_column_int64(row, 3);
        facts->again_ns = sqlite3_column_int64(row, 4);
        if (!facts->module_kind)
            facts->module_kind = "image";
    }
    return error;
}

/* Where in the program a call was made. *place is unchanged if that is not known. */
static int read_place(struct gv_stall_run *run, enum gv_stall_statement which, int64_t call,
                      char *room, const char **place)
{
    int error;
    sqlite3_stmt *row = gv_stall_row(run, which, call, &error);
    const char *text = row ? (const char *)sqlite3_column_text(row, 0) : NULL;

    if (text) {
        snprintf(room, PLACE_BYTES, "%s", text);
        *place = room;
    }
    return error;
}

static int read_places(struct gv_stall_run *run, struct gv_advised *advised, enum gv_cause cause,
                       sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, GV_ADVISED_call_id);
    int64_t blocker = sqlite3_column_int64(row, GV_ADVISED_blocker_id);
    struct gv_advice_facts *facts = &advised->facts;
    int error;

    facts->where = facts->blocker_where = facts->host_where = NULL;
    error = read_place(run, GV_STALL_PLACE, call, advised->places[0], &facts->where);
    if (!error && cause == GV_CAUSE_MODULE_LOAD)
        error = read_place(run, GV_STALL_CALLER, call, advised->places[0], &facts->where);
    if (!error)
        error = read_place(run, GV_STALL_PLACE, blocker, advised->places[1], &facts->blocker_where);
    if (!error && facts->host_ns)
        error = read_place(run, GV_STALL_PLACE, sqlite3_column_int64(row, GV_ADVISED_host_call),
                           advised->places[2], &facts->host_where);
    return error;
}

static int advise_stall(struct gv_stall_run *run, struct gv_advised *advised, sqlite3_stmt *row)
{
    const char *cause_name = (const char *)sqlite3_column_text(row, GV_ADVISED_cause);
    enum gv_cause cause = gv_cause_find(cause_name ? cause_name : "");
    struct gv_advice_facts *facts = &advised->facts;
    int64_t id = 0;
    int error;

    if (cause == GV_CAUSE_COUNT)
        return 0;
    error = read_process(run, advised, sqlite3_column_int64(row, GV_ADVISED_process));
    if (!error)
        error = read_module(run, facts, sqlite3_column_int64(row, GV_ADVISED_call_id));
    if (!error)
        error = read_library(run, facts, cause, sqlite3_column_int64(row, GV_ADVISED_call_id));
    if (error)
        return error;
    take_facts(facts, row);
    error = read_places(run, advised, cause, row);
    if (error)
        return error;
    gv_advice_write(facts, cause, advised->text);
    error = store_text(run, advised, cause, &id);
    return error ? error
                 : gv_stall_put(run, GV_STALL_SET_ADVICE,
                                (const int64_t[]){id, sqlite3_column_int64(row, GV_ADVISED_id)}, 2);
}

/* All unexplained stalls have the same advice. */
static int advise_unknown(struct gv_stall_run *run, struct gv_advised *advised)
{
    int64_t id = 0;
    int error;

    gv_advice_write(&advised->facts, GV_CAUSE_UNKNOWN, advised->text);
    error = store_text(run, advised, GV_CAUSE_UNKNOWN, &id);
    return error ? error : gv_stall_put(run, GV_STALL_SET_ADVICE_OF_UNKNOWN, &id, 1);
}

static int advise_all(struct gv_stall_run *run, struct gv_advised *advised)
{
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_EAGER_COST, &error);

    if (gv_stall_next(run, rows, &error)) {
        advised->facts.eager_count = sqlite3_column_int64(rows, 0);
        advised->facts.eager_ns = sqlite3_column_int64(rows, 1);
    }
    if (!error)
        error = advise_unknown(run, advised);
    if (!error)
        error = gv_stall_script(run->trace, GV_STALL_NEW_CALLERS);
    if (!error)
        error = gv_stall_script(run->trace, GV_STALL_NEW_BLOCKERS);
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_ADVISED, &error);
    while (!error && gv_stall_next(run, rows, &error))
        error = advise_stall(run, advised, rows);
    return error;
}

int gv_stall_advise(struct gv_stall_run *run)
{
    struct gv_advised *advised = calloc(1, sizeof(*advised));
    int error;

    if (!advised)
        return -ENOMEM;
    advised->facts_process = -1;
    error = advise_all(run, advised);
    free(advised);
    return error;
}
