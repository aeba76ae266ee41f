#include "tests/unit/report/totals_fixture.h"

#include "report/analyse/totals/totals.h"
#include "report/store/api_meaning.h"
#include "report/store/schema.h"

#include <stdio.h>

sqlite3 *totals_trace;

void totals_execute(const char *sql)
{
    if (sqlite3_exec(totals_trace, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(totals_trace));
    assert_int_equal(gv_api_meaning_fill(totals_trace), 0);
}

sqlite3_stmt *totals_prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;

    assert_int_equal(sqlite3_prepare_v2(totals_trace, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

void totals_step(sqlite3_stmt *statement, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(statement, i + 1, values[i]);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
}

int64_t totals_number(const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(totals_trace, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(totals_trace));
    if (sqlite3_step(row) == SQLITE_ROW)
        value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return value;
}

int64_t totals_fact(const char *key)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT value FROM fact WHERE key = '%s'", key);
    return totals_number(sql);
}

int totals_open(void **state)
{
    assert_int_equal(sqlite3_open(":memory:", &totals_trace), SQLITE_OK);
    totals_execute(gv_schema_sql);
    totals_execute(
        "INSERT INTO meta VALUES ('state', 'complete');"
        "INSERT INTO process (id, identity, gpu) VALUES (1, 1, 'cupti'), (2, 2, 'cupti');"
        "INSERT INTO thread VALUES (1, 1, 1, 10, 'a', 0), (2, 2, 1, 20, 'b', 0);");
    return 0;
}

int totals_close(void **state)
{
    sqlite3_close(totals_trace);
    return 0;
}

void totals_keep(void)
{
    struct gv_pass *pass = NULL;

    assert_int_equal(gv_pass_open(&pass, totals_trace, 0), 0);
    assert_int_equal(gv_totals_keep(totals_trace, pass), 0);
    gv_pass_close(pass);
}

void totals_keep_with(const char *sql)
{
    totals_execute(sql);
    totals_keep();
}
