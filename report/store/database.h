/*
 * A trace opened for writing: transactions and prepared statements, errors as -errno.
 *
 * One thread uses a database. After a failed write the transaction is rolled back by the caller
 * (gv_database_rollback), which also has to forget every id it learned inside it.
 */
#ifndef GV_STORE_DATABASE_H
#define GV_STORE_DATABASE_H

#include "report/store_schema_rows.inc"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gv_statement {
#define GV_SQL(name, help, text) GV_STATEMENT_##name,
#include "report/store_statements.inc"
    GV_STATEMENT_COUNT
};

struct gv_database {
    sqlite3 *handle;
    sqlite3_stmt *statements[GV_STATEMENT_COUNT];
    sqlite3_stmt *adds[2][GV_TABLE_COUNT]; /* report/store/row.c: of one row, of a batch's others */
};

/* Writes the first rows of a new trace. 0 or -errno. */
typedef int gv_database_begun(struct gv_database *database, void *context);

/* Before anything is asked of a trace, or of a connection that it is attached to: its values have
 * a limit, and its schema may run nothing. 0 or -errno. */
int gv_database_distrust(sqlite3 *connection);

/* Opens an existing file: makes the schema in an empty one, and in the same transaction what
 * `begun` (may be NULL) writes; refuses what is no trace of this schema version. 0; -EPROTO: no
 * trace; -errno. */
int gv_database_open(struct gv_database *database, const char *path, gv_database_begun *begun,
                     void *context);
/* The same for a file of which nobody needs half: its journal is in memory, so a command that is
 * ended leaves none beside it. */
int gv_database_open_output(struct gv_database *database, const char *path);
void gv_database_close(struct gv_database *database);

/* Takes no lock: the first statement does. A transaction in which nothing was written is nothing to
 * anybody who reads the trace meanwhile. */
int gv_database_begin(struct gv_database *database);
/* -EBUSY: a reader is in the way; the transaction continues, and commit can be tried again. */
int gv_database_commit(struct gv_database *database);
/* Tries it for ten seconds. */
int gv_database_commit_patiently(struct gv_database *database);
void gv_database_rollback(struct gv_database *database);

/* Runs a statement with its parameters, described by `types`: 'i' int64_t, 'z' int64_t or NULL
 * when 0, 'p' const int64_t * (NULL is NULL), 't' const char * (UTF-8; NULL is NULL). 0 or
 * -errno. */
int gv_database_run(struct gv_database *database, enum gv_statement statement, const char *types,
                    ...);

/* The statement, reset, for callers that bind and step themselves; NULL: see *error (-errno). */
sqlite3_stmt *gv_database_prepare(struct gv_database *database, enum gv_statement statement,
                                  int *error);
int64_t gv_database_last_id(const struct gv_database *database);

/* Sets a row of the table meta, also one that it has. 0 or -errno. */
int gv_database_set_meta(struct gv_database *database, const char *key, const char *value);
int gv_database_set_meta_number(struct gv_database *database, const char *key, int64_t value);
/* 1: found, 0: there is none, or -errno. */
int gv_database_get_meta(struct gv_database *database, const char *key, char *value, size_t size);

/* The first column of the statement's first row; 0 if there is none, or it is NULL. Parameters as
 * in gv_database_run(). 0 or -errno. */
int gv_database_find(struct gv_database *database, enum gv_statement statement, int64_t *found,
                     const char *types, ...);

/* A text of a row; "" for NULL. */
static inline const char *gv_database_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

/* Takes one row of a query. 0: go on; anything else ends the query. */
typedef int gv_database_take(void *context, sqlite3_stmt *row);

/* Runs a query of a trace, with its first `count` parameters bound, as far as it has them, and
 * passes each row to `take`. 0, -errno, or what `take` ended with. */
int gv_database_each(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                     gv_database_take *take, void *context);

/* The same for a prepared query, which is then ready for the next values: cheaper for many. */
int gv_database_rows(sqlite3_stmt *rows, const int64_t *values, int count, gv_database_take *take,
                     void *context);

/* The first column of a query's first row; unchanged if there is none. 0 or -errno. */
int gv_database_number(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                       int64_t *number);

/* The same query, ready to be stepped. SQLite's result; *rows is to be finalized in any case. */
int gv_database_ask(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                    sqlite3_stmt **rows);

/* Prepares a statement for many runs. 0 or -errno; finalize it in any case. */
int gv_database_compile(sqlite3 *handle, const char *sql, sqlite3_stmt **statement);

/* Runs a prepared statement that has no rows, such as an INSERT, and makes it ready for the next
 * values: cheaper than a script for each of many rows. 0 or -errno. */
int gv_database_add(sqlite3_stmt *statement, const int64_t *values, int count);
/* The same after the caller has bound the values. */
int gv_database_step(sqlite3_stmt *statement);

/* Runs each statement of a script in the same way. While a query of the connection is read, none
 * can make or drop a table. 0 or -errno. */
int gv_database_script(sqlite3 *handle, const char *sql, const int64_t *values, int count);

/* A transaction that nobody else writes beside: its begin; and its end: a commit, or after an
 * error, which it returns, none of it. 0 or -errno. */
int gv_database_begin_writing(sqlite3 *handle);
int gv_database_end_writing(sqlite3 *handle, int error);

/* -errno for a result of SQLite's; 0 for SQLITE_OK, SQLITE_ROW and SQLITE_DONE. */
int gv_database_error(sqlite3 *handle, int result);

#endif
