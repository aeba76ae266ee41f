/* Which ranges a call is in, and which names mean a range. */
#include "report/analyse/ranges/choice.h"
#include "report/analyse/ranges/membership.h"
#include "report/analyse/ranges/range_name.h"
#include "tests/unit/report/totals_fixture.h"

#include <errno.h>
#include <stdio.h>

static struct gv_membership *membership;

/* Process 1 has threads 1, 3 and 4, process 2 has thread 2. */
static int setup(void **state)
{
    totals_open(state);
    totals_execute("INSERT INTO thread VALUES (3, 1, 2, 11, 'c', 0), (4, 1, 3, 12, 'd', 0)");
    return 0;
}

static int teardown(void **state)
{
    gv_membership_close(membership);
    membership = NULL;
    return totals_close(state);
}

/* kind 1: push, 2: start, 3: mark. */
static void add_range(int id, int thread, int kind, int start_ns, int duration_ns, int parent)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "INSERT INTO range (id, thread, kind, start_ns, duration_ns, parent)"
             " VALUES (%d, %d, %d, %d, nullif(%d, -1), nullif(%d, 0))",
             id, thread, kind, start_ns, duration_ns, parent);
    totals_execute(sql);
}

/* The ids of the ranges of a call, "3 1"; with "=" before them if they are said to be the same. */
static const char *ranges_of(int64_t thread, int64_t call, int64_t start_ns)
{
    static char out[256];
    struct gv_member_of of;
    int length;

    if (!membership)
        assert_int_equal(gv_membership_open(&membership, totals_trace), 0);
    assert_int_equal(gv_membership_of(membership, thread, call, start_ns, &of), 0);
    length = snprintf(out, sizeof(out), "%s", of.same ? "=" : "");
    for (size_t i = 0; i < of.count; i++)
        length += snprintf(out + length, sizeof(out) - (size_t)length, "%s%d", i ? " " : "",
                           (int)of.ids[i]);
    return out;
}

static void a_push_has_the_calls_of_its_thread(void **state)
{
    add_range(1, 1, 1, 100, 900, 0);
    add_range(2, 1, 1, 200, 300, 1);
    add_range(3, 2, 1, 0, -1, 0);
    totals_execute("INSERT INTO call_range VALUES (1, 10, 1), (1, 12, 2), (1, 14, 1),"
                   " (1, 16, NULL), (2, 11, 3)");
    assert_string_equal(ranges_of(1, 9, 50), "");
    assert_string_equal(ranges_of(1, 10, 150), "1");
    assert_string_equal(ranges_of(1, 11, 160), "=1");
    assert_string_equal(ranges_of(2, 11, 170), "3");
    assert_string_equal(ranges_of(1, 12, 250), "2 1");
    assert_string_equal(ranges_of(1, 13, 499), "=2 1");
    assert_string_equal(ranges_of(1, 15, 600), "1");
    assert_string_equal(ranges_of(1, 16, 1000), "");
    assert_string_equal(ranges_of(2, INT64_MAX, 5000), "3");
}

/* Pops of two domains need not nest. */
static void a_range_outlives_what_it_is_in(void **state)
{
    add_range(1, 1, 1, 100, 100, 0);
    add_range(2, 1, 1, 150, 850, 1);
    totals_execute("INSERT INTO call_range VALUES (1, 10, 2)");
    assert_string_equal(ranges_of(1, 10, 160), "2 1");
    assert_string_equal(ranges_of(1, 11, 300), "2");
}

/* More rows than are read at once. */
static void many_changes_are_all_seen(void **state)
{
    totals_execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
        " INSERT INTO range (id, thread, kind, start_ns, duration_ns) SELECT i, 1, 1, 10 * i, 10"
        " FROM n;"
        "INSERT INTO call_range SELECT 1, 2 * id, id FROM range");
    for (int i = 1; i <= 500; i++) {
        char expected[16];
        snprintf(expected, sizeof(expected), "%d", i);
        assert_string_equal(ranges_of(1, 2 * i, 10 * i + 1), expected);
        snprintf(expected, sizeof(expected), "=%d", i);
        assert_string_equal(ranges_of(1, 2 * i + 1, 10 * i + 2), expected);
    }
}

static void a_start_has_the_calls_of_its_process(void **state)
{
    add_range(1, 1, 2, 100, 200, 0);
    add_range(2, 3, 2, 150, 50, 0);
    add_range(3, 2, 2, 0, 10000, 0);
    assert_string_equal(ranges_of(1, 1, 99), "");
    assert_string_equal(ranges_of(4, 2, 120), "1");
    assert_string_equal(ranges_of(4, 3, 130), "=1");
    assert_string_equal(ranges_of(4, 4, 150), "1 2");
    assert_string_equal(ranges_of(1, 5, 199), "1 2");
    assert_string_equal(ranges_of(1, 6, 200), "1");
    assert_string_equal(ranges_of(4, 7, 300), "");
    assert_string_equal(ranges_of(2, 8, 300), "3");
}

/* As PyTorch's thread for backward is. */
static void a_thread_without_pushes_is_where_the_only_one_with_pushes_is(void **state)
{
    add_range(1, 1, 1, 100, 900, 0);
    add_range(2, 1, 1, 200, 300, 1);
    add_range(3, 1, 3, 210, 0, 2);
    totals_execute("INSERT INTO call_range VALUES (1, 10, 2), (1, 12, 1), (1, 14, NULL)");
    assert_string_equal(ranges_of(3, 1, 50), "");
    assert_string_equal(ranges_of(3, 2, 150), "1");
    assert_string_equal(ranges_of(3, 3, 250), "2 1");
    assert_string_equal(ranges_of(4, 4, 999), "1");
    assert_string_equal(ranges_of(3, 5, 500), "1");
    assert_string_equal(ranges_of(3, 6, 1000), "");
    assert_string_equal(ranges_of(2, 7, 250), ""); /* another process */
}

static void where_two_threads_push_each_has_its_own(void **state)
{
    add_range(1, 1, 1, 100, 900, 0);
    add_range(2, 3, 1, 200, 300, 0);
    totals_execute("INSERT INTO call_range VALUES (1, 10, 1), (3, 11, 2)");
    assert_string_equal(ranges_of(1, 10, 300), "1");
    assert_string_equal(ranges_of(3, 11, 300), "2");
    assert_string_equal(ranges_of(4, 12, 300), "");
}

/* A trace of anybody's: parents in a circle, ids that are too high. */
static void nonsense_is_left_out(void **state)
{
    add_range(1, 1, 1, 100, -1, 2);
    add_range(2, 1, 1, 100, -1, 1);
    totals_execute("INSERT INTO range (id, thread, kind, start_ns) VALUES (1 << 60, 1 << 50, 1, 0),"
                   " (3, -5, 2, 0);"
                   "INSERT INTO call_range VALUES (1, 10, 2), (1, 11, 1 << 59)");
    assert_string_equal(ranges_of(1, 10, 200), "2 1");
    assert_string_equal(ranges_of(1, 11, 200), "");
    assert_string_equal(ranges_of(1LL << 40, 12, 200), "");
}

/* Programs that never end them must not make each call dearer than the one before. */
static void of_very_many_open_starts_the_last_count(void **state)
{
    struct gv_member_of of;

    totals_execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
                   " INSERT INTO range (id, thread, kind, start_ns) SELECT i, 1, 2, i FROM n");
    assert_int_equal(gv_membership_open(&membership, totals_trace), 0);
    assert_int_equal(gv_membership_of(membership, 1, 1, 5000, &of), 0);
    assert_int_equal(of.count, GV_MEMBERSHIP_STARTS);
    assert_int_equal(of.ids[of.count - 1], 1000);
}

static void names_mean_ranges(void **state)
{
    static const struct {
        const char *pattern, *domain, *message;
        bool matches;
    } cases[] = {
        {"forward", NULL, "forward", true},
        {"forward", NULL, "forward 2", false},
        {"ward", NULL, "forward", false},
        {"", NULL, NULL, true},
        {"for*", NULL, "forward", true},
        {"*", NULL, NULL, true},
        {"*a*d", NULL, "forward and ward", true},
        {"*a*d", NULL, "forward and wards", false},
        {"**", NULL, "x", true},
        {"a[bc]?", NULL, "abc", false},
        {"step #", NULL, "step 17", true},
        {"step #", NULL, "step #", true},
        {"step 17", NULL, "step 17", true},
        {"step 1", NULL, "step 17", false},
        {"#.#", NULL, "3.14", true},
        {"forward", "torch", "forward", true},
        {"torch: forward", "torch", "forward", true},
        {"torch: forward", NULL, "forward", false},
        {"torch: *", "torch", "forward", true},
        {"layer #", "gpu0", "layer 12", true},
        {"gpu#: layer #", "gpu0", "layer 12", true},
    };
    char folded[8];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (gv_range_name_matches(cases[i].pattern, cases[i].domain, cases[i].message) !=
            cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern,
                     cases[i].message ? cases[i].message : "(none)");
    gv_range_name_fold("step 123 of 9", folded, sizeof(folded));
    assert_string_equal(folded, "step # ");
}

/* ---- the calls in ranges of a name ---- */

static struct gv_range_choice *choice;

static int teardown_choice(void **state)
{
    gv_range_choice_close(choice);
    choice = NULL;
    return totals_close(state);
}

static void add_names(void)
{
    totals_execute("INSERT INTO range_text VALUES (1, 1, 1, 'a'), (2, 1, 2, 'b'), (3, 2, 1, 'a');"
                   "UPDATE range SET text = 1 WHERE id IN (1, 3);"
                   "UPDATE range SET text = 2 WHERE id IN (2, 5);"
                   "UPDATE range SET text = 3 WHERE id = 4");
}

static void a_choice_has_the_calls_in_ranges_of_the_name(void **state)
{
    add_range(1, 1, 1, 100, 500, 0);
    add_range(2, 1, 1, 200, 100, 1);
    add_range(3, 1, 1, 210, 50, 2); /* "a" in "b" in "a" */
    add_range(4, 2, 1, 550, -1, 0); /* "a" of another process, which has no end */
    add_range(5, 1, 1, 700, 100, 0);
    add_names();
    totals_execute(
        "INSERT INTO call_range VALUES (1, 10, 1), (1, 11, 2), (1, 12, 3), (1, 13, NULL),"
        " (1, 14, 5), (2, 15, 4);"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns) VALUES (9, 1, 1, 50, 10),"
        " (10, 1, 1, 110, 10), (11, 1, 1, 205, 1), (12, 1, 1, 215, 1), (13, 1, 1, 650, 1),"
        " (14, 1, 1, 710, 10), (15, 2, 1, 600, 250), (1 << 60, 2, 1, 700, 1)");
    assert_int_equal(gv_range_choice_open(&choice, totals_trace, "a"), 0);
    for (int64_t call = 8; call < 17; call++)
        assert_int_equal(gv_range_choice_has(choice, call),
                         (call >= 10 && call <= 12) || call == 15);
    assert_false(gv_range_choice_has(choice, 0));
    assert_false(gv_range_choice_has(choice, -1));
    assert_false(gv_range_choice_has(choice, 1LL << 60));
    assert_true(gv_range_choice_has(NULL, 9));

    /* The last call ends at 850: nothing is known after that. */
    assert_int_equal(gv_range_choice_own_ns(choice), 850 - 100);
    int64_t from_ns = 0, to_ns = 1000;
    assert_true(gv_range_choice_cut(choice, 1, &from_ns, &to_ns));
    assert_int_equal(from_ns, 100);
    assert_int_equal(to_ns, 600);
    to_ns = 1000;
    from_ns = 600;
    assert_false(gv_range_choice_cut(choice, 1, &from_ns, &to_ns));
    assert_true(gv_range_choice_cut(choice, 2, &from_ns, &to_ns));
    assert_int_equal(from_ns, 600);
    assert_int_equal(to_ns, 850);
    from_ns = 0;
    to_ns = 1000;
    assert_false(gv_range_choice_cut(choice, 3, &from_ns, &to_ns));

    assert_int_equal(gv_range_choice_install(choice, totals_trace), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM call WHERE gv_in_ranges(id)"), 4);
    assert_int_equal(gv_range_choice_install(NULL, totals_trace), 0);
    assert_int_equal(totals_number("SELECT count(*) FROM call WHERE gv_in_ranges(id)"), 8);
}

static void a_name_without_ranges_is_no_choice(void **state)
{
    add_range(1, 1, 3, 100, 0, 0); /* only a mark */
    add_range(2, 1, 1, 200, 100, 0);
    add_names();
    assert_int_equal(gv_range_choice_open(&choice, totals_trace, "a"), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_push_has_the_calls_of_its_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(a_range_outlives_what_it_is_in, setup, teardown),
        cmocka_unit_test_setup_teardown(many_changes_are_all_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_has_the_calls_of_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_thread_without_pushes_is_where_the_only_one_with_pushes_is, setup, teardown),
        cmocka_unit_test_setup_teardown(where_two_threads_push_each_has_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(nonsense_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(of_very_many_open_starts_the_last_count, setup, teardown),
        cmocka_unit_test(names_mean_ranges),
        cmocka_unit_test_setup_teardown(a_choice_has_the_calls_in_ranges_of_the_name, setup,
                                        teardown_choice),
        cmocka_unit_test_setup_teardown(a_name_without_ranges_is_no_choice, setup, teardown_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
