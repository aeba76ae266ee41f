/* What a script may not do while a query of the same connection is read. */
#include "tests/unit/report/cmocka_all.h"

#include "report/store/database.h"

static int run_script(void *context, sqlite3_stmt *row)
{
    return gv_database_script(sqlite3_db_handle(row), context, NULL, 0);
}

static void tables_stay_while_a_query_is_read(void **state)
{
    static char query[] = "VALUES (1), (2)", insert[] = "INSERT INTO made VALUES (1)";
    static char make[] = "SELECT 1;\nCREATE TEMP TABLE more (id)", drop[] = "DROP TABLE made";
    int64_t rows = 0;
    sqlite3 *trace;

    assert_int_equal(sqlite3_open(":memory:", &trace), SQLITE_OK);
    assert_int_equal(gv_database_script(trace, "CREATE TABLE made (id)", NULL, 0), 0);
    assert_true(gv_database_each(trace, query, NULL, 0, run_script, make) < 0);
    assert_true(gv_database_each(trace, query, NULL, 0, run_script, drop) < 0);
    assert_int_equal(gv_database_each(trace, query, NULL, 0, run_script, insert), 0);
    assert_int_equal(gv_database_number(trace, "SELECT count(*) FROM made", NULL, 0, &rows), 0);
    assert_int_equal(rows, 2);
    assert_int_equal(gv_database_script(trace, make, NULL, 0), 0);
    assert_int_equal(sqlite3_close(trace), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_stay_while_a_query_is_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
