/*
 * Gives the stalls their advice, when all of them are known: what eager loading would cost, and
 * which kernels were loaded late, are sums over the whole trace.
 */
#include "report/analyse/stalls/stall_advice.h"

#include "report/analyse/stalls/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file's name and a line, or a function. */
#define GV_ADVISED_PLACE_BYTES 512

enum gv_advised_column {
    GV_ADVISED_ID,
    GV_ADVISED_CAUSE,
    GV_ADVISED_JIT,
    GV_ADVISED_CALL,
    GV_ADVISED_KERNEL,
    GV_ADVISED_PROCESS,
    GV_ADVISED_WAITED_KERNEL,
    GV_ADVISED_WAITED_KIND,
    GV_ADVISED_PRESUMED,
    GV_ADVISED_BLOCKER,
    GV_ADVISED_BLOCKER_CAUSE,
    GV_ADVISED_DRAINED,
    GV_ADVISED_CALL_ID,
    GV_ADVISED_BLOCKER_ID,
    GV_ADVISED_UNSURE,
};

/* The text given last, for each cause: most stalls of a program are alike. */
struct gv_advised {
    char last[GV_CAUSE_COUNT][GV_ADVICE_BYTES];
    int64_t last_id[GV_CAUSE_COUNT];
    char text[GV_ADVICE_BYTES];
    char places[2][GV_ADVISED_PLACE_BYTES]; /* of the call, and of the one in its way */
    struct gv_advice_facts facts;
    int64_t facts_process; /* whose arch and warm-up list the facts hold */
    sqlite3_stmt *module, *add, *find, *set;
};

static const char *gv_advised_text(sqlite3_stmt *row, enum gv_advised_column column)
{
    return (const char *)sqlite3_column_text(row, (int)column);
}

static int gv_advised_prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement)
{
    return gv_stall_error(trace, sqlite3_prepare_v2(trace, sql, -1, statement, NULL));
}

/* What eager loading would cost at the start: what the lazy loads took, less their waits. */
static int gv_advised_eager(sqlite3 *trace, struct gv_advice_facts *facts)
{
    sqlite3_stmt *row = NULL;
    int result,
        error =
            gv_advised_prepare(trace,
                               "SELECT count(*), sum(c.duration_ns - w.wait_ns) FROM load_wait w"
                               " JOIN gpu_module m ON m.id = -w.load JOIN call c ON c.id = m.call"
                               " WHERE w.load < 0 AND NOT EXISTS (SELECT 1 FROM temp.stall_load l"
                               " WHERE l.call = m.call AND l.load > 0)",
                               &row);

    if (error)
        return error;
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        facts->eager_count = sqlite3_column_int64(row, 0);
        facts->eager_ns = sqlite3_column_int64(row, 1);
    }
    sqlite3_finalize(row);
    return gv_stall_error(trace, result);
}

/* A process's architecture, and the kernels that it loaded late. */
static int gv_advised_process(sqlite3 *trace, struct gv_advised *advised, int64_t process)
{
    sqlite3_stmt *rows = NULL;
    int result, error;

    if (advised->facts_process == process)
        return 0;
    advised->facts_process = process;
    gv_advice_forget(&advised->facts);
    error = gv_advised_prepare(
        trace, "SELECT min(cc_major * 10 + cc_minor) FROM device WHERE process = ?", &rows);
    if (error)
        return error;
    sqlite3_bind_int64(rows, 1, process);
    result = sqlite3_step(rows);
    if (result == SQLITE_ROW)
        advised->facts.arch = sqlite3_column_int(rows, 0);
    sqlite3_finalize(rows);
    error = gv_stall_error(trace, result);
    if (!error)
        error = gv_advised_prepare(
            trace,
            "SELECT k.name, count(*) FROM stall s JOIN call c ON c.id = s.call JOIN kernel k ON"
            " k.id = c.kernel WHERE s.cause = 'lazy-load' AND k.process = ? AND k.name IS NOT NULL"
            " GROUP BY k.name ORDER BY min(s.id)",
            &rows);
    if (error)
        return error;
    sqlite3_bind_int64(rows, 1, process);
    while ((result = sqlite3_step(rows)) == SQLITE_ROW)
        gv_advice_remember(&advised->facts, (const char *)sqlite3_column_text(rows, 0));
    sqlite3_finalize(rows);
    return gv_stall_error(trace, result);
}

/* The text's row, added when it is new. */
static int gv_advised_row(sqlite3 *trace, struct gv_advised *advised, enum gv_cause cause,
                          int64_t *id)
{
    int result;

    if (advised->last_id[cause] && strcmp(advised->last[cause], advised->text) == 0) {
        *id = advised->last_id[cause];
        return 0;
    }
    sqlite3_bind_text(advised->add, 1, advised->text, -1, SQLITE_STATIC);
    result = sqlite3_step(advised->add);
    sqlite3_reset(advised->add);
    if (result == SQLITE_DONE) {
        sqlite3_bind_text(advised->find, 1, advised->text, -1, SQLITE_STATIC);
        result = sqlite3_step(advised->find);
        *id = result == SQLITE_ROW ? sqlite3_column_int64(advised->find, 0) : 0;
        sqlite3_reset(advised->find);
    }
    strcpy(advised->last[cause], advised->text);
    advised->last_id[cause] = *id;
    return gv_stall_error(trace, result);
}

/* What the call loaded, in words. */
static int gv_advised_module(sqlite3 *trace, struct gv_advised *advised, int64_t call)
{
    int result;

    advised->facts.module[0] = '\0';
    advised->facts.again = advised->facts.again_ns = 0;
    sqlite3_reset(advised->module);
    sqlite3_bind_int64(advised->module, 1, call);
    result = sqlite3_step(advised->module);
    if (result == SQLITE_ROW) {
        gv_advice_module(&advised->facts, (const char *)sqlite3_column_text(advised->module, 0),
                         (const char *)sqlite3_column_text(advised->module, 1),
                         sqlite3_column_int64(advised->module, 2));
        advised->facts.again = sqlite3_column_int64(advised->module, 3);
        advised->facts.again_ns = sqlite3_column_int64(advised->module, 4);
    }
    sqlite3_reset(advised->module);
    return gv_stall_error(trace, result);
}

/* Where in the program a call was made; *place stays as it was if that is not known. */
static int gv_advised_place(struct gv_stall_run *run, enum gv_stall_statement which, int64_t call,
                            char *room, const char **place)
{
    const char *text;
    int result, error;
    sqlite3_stmt *row = gv_stall_statement(run, which, &error);

    if (!row || call == 0)
        return error;
    sqlite3_bind_int64(row, 1, call);
    result = sqlite3_step(row);
    text = result == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    if (text) {
        snprintf(room, GV_ADVISED_PLACE_BYTES, "%s", text);
        *place = room;
    }
    sqlite3_reset(row);
    return gv_stall_error(run->trace, result);
}

static int gv_advised_places(struct gv_stall_run *run, struct gv_advised *advised,
                             enum gv_cause cause, sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, GV_ADVISED_CALL_ID);
    int64_t blocker = sqlite3_column_int64(row, GV_ADVISED_BLOCKER_ID);
    struct gv_advice_facts *facts = &advised->facts;
    int error;

    facts->where = facts->blocker_where = NULL;
    error = gv_advised_place(run, GV_STALL_PLACE, call, advised->places[0], &facts->where);
    if (!error && cause == GV_CAUSE_MODULE_LOAD)
        error = gv_advised_place(run, GV_STALL_CALLER, call, advised->places[0], &facts->where);
    if (!error)
        error = gv_advised_place(run, GV_STALL_PLACE, blocker, advised->places[1],
                                 &facts->blocker_where);
    return error;
}

static int gv_advised_stall(struct gv_stall_run *run, struct gv_advised *advised, sqlite3_stmt *row)
{
    const char *cause_name = gv_advised_text(row, GV_ADVISED_CAUSE);
    enum gv_cause cause = gv_cause_find(cause_name ? cause_name : "");
    struct gv_advice_facts *facts = &advised->facts;
    int64_t id = 0;
    int result, error;

    if (cause == GV_CAUSE_COUNT)
        return 0;
    error = gv_advised_process(run->trace, advised, sqlite3_column_int64(row, GV_ADVISED_PROCESS));
    if (!error)
        error =
            gv_advised_module(run->trace, advised, sqlite3_column_int64(row, GV_ADVISED_CALL_ID));
    if (error)
        return error;
    facts->jit_ns = sqlite3_column_int64(row, GV_ADVISED_JIT);
    facts->call = gv_advised_text(row, GV_ADVISED_CALL);
    facts->kernel = gv_advised_text(row, GV_ADVISED_KERNEL);
    facts->waited_kernel = gv_advised_text(row, GV_ADVISED_WAITED_KERNEL);
    facts->waited_kind = gv_advised_text(row, GV_ADVISED_WAITED_KIND);
    facts->presumed = gv_advised_text(row, GV_ADVISED_PRESUMED);
    facts->blocker = gv_advised_text(row, GV_ADVISED_BLOCKER);
    facts->blocker_cause = gv_advised_text(row, GV_ADVISED_BLOCKER_CAUSE);
    facts->unsure = sqlite3_column_int(row, GV_ADVISED_UNSURE) != 0;
    facts->drained = sqlite3_column_int64(row, GV_ADVISED_DRAINED);
    error = gv_advised_places(run, advised, cause, row);
    if (error)
        return error;
    gv_advice_write(facts, cause, advised->text);
    error = gv_advised_row(run->trace, advised, cause, &id);
    if (error)
        return error;
    sqlite3_bind_int64(advised->set, 1, id);
    sqlite3_bind_int64(advised->set, 2, sqlite3_column_int64(row, GV_ADVISED_ID));
    result = sqlite3_step(advised->set);
    sqlite3_reset(advised->set);
    return gv_stall_error(run->trace, result);
}

static int gv_advised_open(sqlite3 *trace, struct gv_advised *advised)
{
    int error = gv_advised_eager(trace, &advised->facts);

    advised->facts_process = -1;
    if (!error)
        error = gv_advised_prepare(
            trace,
            "SELECT kind, name, bytes, again, again_ns FROM (SELECT l.kind, l.name, l.bytes,"
            "  g.count AS again, g.total_ns AS again_ns FROM temp.stall_load s"
            "  JOIN load l ON l.id = s.load LEFT JOIN temp.stall_again g ON g.load = l.id"
            "  WHERE s.call = ?1 AND s.load > 0 ORDER BY s.duration_ns DESC LIMIT 1)"
            " UNION ALL SELECT l.kind, l.name, l.bytes, 0, 0 FROM call_module m"
            " JOIN load l ON l.module = m.module WHERE m.call = ?1 LIMIT 1",
            &advised->module);
    if (!error)
        error = gv_advised_prepare(trace, "INSERT OR IGNORE INTO stall_advice (text) VALUES (?)",
                                   &advised->add);
    if (!error)
        error =
            gv_advised_prepare(trace, "SELECT id FROM stall_advice WHERE text = ?", &advised->find);
    if (!error)
        error =
            gv_advised_prepare(trace, "UPDATE stall SET advice = ? WHERE id = ?", &advised->set);
    return error;
}

/* There is one thing to be said of what is not known, however often it is. */
static int gv_advised_unknown(struct gv_stall_run *run, struct gv_advised *advised)
{
    sqlite3_stmt *set = NULL;
    int64_t id = 0;
    int result, error;

    gv_advice_write(&advised->facts, GV_CAUSE_UNKNOWN, advised->text);
    error = gv_advised_row(run->trace, advised, GV_CAUSE_UNKNOWN, &id);
    if (!error)
        error = gv_advised_prepare(run->trace,
                                   "UPDATE stall SET advice = ? WHERE cause = 'unknown'", &set);
    if (error)
        return error;
    sqlite3_bind_int64(set, 1, id);
    result = sqlite3_step(set);
    sqlite3_finalize(set);
    return gv_stall_error(run->trace, result);
}

int gv_stall_advise(struct gv_stall_run *run)
{
    struct gv_advised *advised = calloc(1, sizeof(*advised));
    sqlite3_stmt *rows = NULL;
    int result = SQLITE_DONE, error = advised ? gv_advised_open(run->trace, advised) : -ENOMEM;

    if (!error)
        error = gv_advised_unknown(run, advised);
    if (!error)
        error = gv_stall_callers_find(run->trace);
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_ADVISED, &error);
    while (!error && (result = sqlite3_step(rows)) == SQLITE_ROW)
        error = gv_advised_stall(run, advised, rows);
    if (!error)
        error = gv_stall_error(run->trace, result);
    if (rows)
        sqlite3_reset(rows);
    if (advised) {
        sqlite3_finalize(advised->module);
        sqlite3_finalize(advised->add);
        sqlite3_finalize(advised->find);
        sqlite3_finalize(advised->set);
    }
    free(advised);
    return error;
}
