/* Operations and their calls: which wait, for how long, and with how much memory. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/correlate.h"
#include "tests/unit/report/one_database.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

static struct gv_correlate correlate;

static int setup_in_transaction(void **state)
{
    return setup(state) || gv_database_begin(&database);
}

static int teardown_all(void **state)
{
    gv_correlate_free(&correlate);
    gv_database_rollback(&database);
    return teardown(state);
}

static void add(uint32_t correlation, int64_t call)
{
    assert_int_equal(gv_correlate_add(&correlate, &database, correlation, call), 0);
}

/* A waiting operation: its row. */
static int64_t wait_for(uint32_t correlation)
{
    static const char sql[] = "INSERT INTO gpu_op (place, kind) VALUES (1, 1)";

    assert_int_equal(sqlite3_exec(database.handle, sql, NULL, NULL, NULL), SQLITE_OK);
    int64_t row = gv_database_last_id(&database);
    assert_int_equal(gv_correlate_wait(&correlate, correlation, GV_STATEMENT_GPU_OP_CALL, row), 0);
    return row;
}

static int64_t call_of(int64_t row)
{
    sqlite3_stmt *statement = NULL;
    int result = gv_database_ask(database.handle, "SELECT call FROM gpu_op WHERE id = ?", &row, 1,
                                 &statement);

    assert_int_equal(result, SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t call = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return call;
}

/* All of them: also several of one call, and of calls that share a chain. */
static void each_is_told_its_call(void **state)
{
    int64_t first = wait_for(5), second = wait_for(5 + GV_CORRELATE_WAITING), third = wait_for(5);

    add(5 + GV_CORRELATE_WAITING, 10);
    assert_int_equal(call_of(first), 0);
    assert_int_equal(call_of(second), 10);
    add(5, 11);
    assert_int_equal(call_of(first), 11);
    assert_int_equal(call_of(third), 11);
    assert_int_equal(correlate.outstanding, 0);
    assert_false(correlate.given_up);
    assert_int_equal(gv_correlate_find(&correlate, 5), 11);
    assert_int_equal(gv_correlate_find(&correlate, 6), 0);
}

static void ids_may_be_higher_than_half_of_their_bits(void **state)
{
    add(1, (INT64_C(3) << 32) - 1);
    add(2, INT64_C(3) << 32);
    assert_int_equal(gv_correlate_find(&correlate, 1), (INT64_C(3) << 32) - 1);
    assert_int_equal(gv_correlate_find(&correlate, 2), INT64_C(3) << 32);
}

/* CUPTI's numbers have 32 bits: some hours of a busy program. */
static void numbers_may_begin_again(void **state)
{
    add(UINT32_MAX - GV_CORRELATE_CALLS + 6, 1); /* remembered in the same slot as 5 */
    int64_t row = wait_for(5);
    assert_int_equal(gv_correlate_find(&correlate, 5), 0);
    add(5, 2);
    assert_int_equal(call_of(row), 2);
    assert_int_equal(gv_correlate_find(&correlate, 5), 2);
}

/* A lost call's operation waits for ever; others come and go. */
static void memory_does_not_grow_behind_a_lost_call(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its allocator does not report */
#endif
    size_t before, used;
    struct mallinfo2 info = mallinfo2();

    before = info.uordblks + info.hblkhd;
    wait_for(1);
    for (uint32_t i = 2; i < 600000; i++) {
        assert_int_equal(gv_correlate_wait(&correlate, i, GV_STATEMENT_GPU_OP_CALL, 1 + i), 0);
        add(i, i);
    }
    info = mallinfo2();
    used = info.uordblks + info.hblkhd - before;
    assert_in_range(used, 1, 24 << 20);
    assert_true(correlate.given_up);
    assert_int_equal(correlate.outstanding, 0);
}

static void one_whose_call_is_forgotten_does_not_wait(void **state)
{
    for (uint32_t i = 1; i <= GV_CORRELATE_CALLS + 1; i++)
        add(i, i);
    assert_int_equal(gv_correlate_find(&correlate, 1), 0);
    assert_int_equal(gv_correlate_find(&correlate, 2), 2);
    wait_for(1);
    assert_true(correlate.given_up);
    assert_int_equal(correlate.outstanding, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_in_transaction, teardown_all)
        TEST(each_is_told_its_call),
        TEST(ids_may_be_higher_than_half_of_their_bits),
        TEST(numbers_may_begin_again),
        TEST(memory_does_not_grow_behind_a_lost_call),
        TEST(one_whose_call_is_forgotten_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
