/* Rows that are added in a batch. */
#include "tests/unit/report/one_database.h"

#include "report/store/row.h"

#include <errno.h>

static struct gv_row_call rows[GV_ROW_BATCH];

static int add(int64_t first_id, int64_t step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct gv_row_call){.id = first_id + (int64_t)i * step,
                                       .start_ns = 1000 * (int64_t)i,
                                       .bytes = i == 3 ? GV_ROW_NULL : (int64_t)i};
    return gv_row_add(&database, GV_TABLE_call, rows, count);
}

static int64_t number(const char *sql)
{
    int64_t found = -1;

    assert_int_equal(gv_database_number(database.handle, sql, NULL, 0, &found), 0);
    return found;
}

static void rows_of_a_batch_have_their_ids(void **state)
{
    assert_int_equal(add(7, 1, 2), 0);
    assert_int_equal(add(100, 1, GV_ROW_BATCH), 0);
    assert_int_equal(add(100 + GV_ROW_BATCH, 1, GV_ROW_BATCH), 0);
    assert_int_equal(number("SELECT count(*) FROM call"), 2 + 2 * GV_ROW_BATCH);
    assert_int_equal(number("SELECT start_ns FROM call WHERE id = 105"), 5000);
    assert_int_equal(number("SELECT bytes IS NULL FROM call WHERE id = 103"), 1);
    assert_int_equal(number("SELECT bytes FROM call WHERE id = 104"), 4);
    assert_int_equal(number("SELECT max(id) FROM call"), 99 + 2 * GV_ROW_BATCH);
}

static void a_batch_among_other_rows_is_refused(void **state)
{
    assert_int_equal(add(1000, 1, 1), 0);
    assert_int_equal(add(10, 1, GV_ROW_BATCH), -EPROTO);
    assert_int_equal(add(2000, 2, GV_ROW_BATCH), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_a_batch_have_their_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_among_other_rows_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
