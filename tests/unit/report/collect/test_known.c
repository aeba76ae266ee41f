/* Things known by number: ever more of them, in constant memory. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/known.h"
#include "tests/unit/report/one_database.h"

#include <fcntl.h>
#include <unistd.h>

static int64_t find(struct gv_known *known, uint64_t number)
{
    struct gv_key key = {.part = {number, number << 40, 1}};
    int64_t value = -1;

    assert_int_equal(gv_known_find(known, &database, &key, &value), 0);
    return value;
}

static void add(struct gv_known *known, uint64_t number, int64_t value)
{
    struct gv_key key = {.part = {number, number << 40, 1}};

    assert_int_equal(gv_known_add(known, &database, &key, value), 0);
}

static void all_are_known_and_few_are_in_memory(void **state)
{
    static struct gv_known one, other;
    const uint64_t count = 3 * (uint64_t)GV_KNOWN_MOST;

    add(&other, 7, 77);
    for (uint64_t i = 1; i <= count; i++) {
        assert_int_equal(find(&one, i), 0);
        add(&one, i, (int64_t)i + 1);
        assert_true(one.recent.used <= GV_KNOWN_MOST);
    }
    for (uint64_t i = 1; i <= count; i += 3)
        assert_int_equal(find(&one, i), i + 1);
    assert_true(one.recent.used <= GV_KNOWN_MOST);
    assert_int_equal(find(&one, count + 1), 0);
    assert_int_equal(find(&other, 7), 77);
    assert_int_equal(find(&other, 8), 0);
    gv_known_free(&one, &database);
    assert_int_equal(find(&one, 1), 0);
    gv_known_free(&other, &database);
}

static void it_may_outlive_its_database(void **state)
{
    static struct gv_known known;

    for (uint64_t i = 1; i <= 2 * GV_KNOWN_MOST; i++)
        add(&known, i, 5);
    gv_database_close(&database); /* as after each error: all is read anew */
    gv_known_free(&known, &database);
    assert_int_equal(gv_database_open(&database, fixture.trace, NULL, NULL), 0);
    assert_int_equal(find(&known, 1), 0);
    assert_int_equal(known.number, 0);
}

static int stop(void *unused)
{
    (void)unused;
    return 1;
}

/* What could not be removed belongs to nobody else, even at the same address. */
static void what_was_not_cleared_is_not_found(void **state)
{
    static struct gv_known known;
    const uint64_t count = GV_KNOWN_MOST + 1;

    for (uint64_t i = 1; i <= count; i++)
        add(&known, i, 5);
    sqlite3_progress_handler(database.handle, 1, stop, NULL);
    gv_known_free(&known, &database);
    sqlite3_progress_handler(database.handle, 0, NULL, NULL);
    for (uint64_t i = 1; i <= count; i++)
        add(&known, count + i, 6);
    assert_int_equal(find(&known, 1), 0);
    assert_int_equal(find(&known, count + 1), 6);
    gv_known_free(&known, &database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(all_are_known_and_few_are_in_memory),
        TEST(it_may_outlive_its_database),
        TEST(what_was_not_cleared_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
