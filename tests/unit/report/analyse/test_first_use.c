/* The time of starting CUDA, loading and compiling, of few calls and of many. */
#include "report/analyse/time_union.h"
#include "tests/unit/report/totals_fixture.h"

static void first_uses_at_the_same_time_count_once(void **state)
{
    totals_keep_with(
        "INSERT INTO api (id, name, class) VALUES (5, 'cuInit', 'init'), (6, 'cuModuleLoadData', "
        "'load'),"
        " (7, 'cuDevicePrimaryCtxRelease_v2', 'context'), (8, 'cuCtxSetLimit', 'context');"
        "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
        " (1, 1, 5, 0, 1000, 0), (2, 2, 5, 400, 1000, 0), (3, 1, 6, 2000, 1000, 0),"
        " (4, 2, 6, 2500, 1000, 0), (5, 1, 7, 8000, 1000, 0), (6, 1, 8, 9000, 1000, 0);"
        "INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind) VALUES"
        " (1, 1, 6, 3, 2000, 1000, 0, 'cubin'), (2, 2, 6, 4, 2500, 1000, 0, 'cubin');"
        "INSERT INTO load_wait VALUES (2, 700, 1);"
        "INSERT INTO jit (process, start_ns, duration_ns) VALUES (1, 2100, 500), (2, 2200, 500);");
    assert_int_equal(totals_fact("start_ns"), 1400);
    assert_int_equal(totals_fact("loads"), 2);
    assert_int_equal(totals_fact("loading_ns"), 1000 + 300); /* [2000, 3000), [3200, 3500) */
    assert_int_equal(totals_fact("compiling_ns"), 600);
}

static void a_union_of_many_stretches_is_exact(void **state)
{
    struct gv_time_union apart = {0}, touching = {0}, inside = {0};

    gv_time_union_add(&apart, -5, -5);
    for (int64_t i = -100000; i < 100000; i++) {
        gv_time_union_add(&apart, i * 1000, i * 1000 + 900);
        gv_time_union_add(&touching, i * 10, i * 10 + 15);
        gv_time_union_add(&inside, i, i % 2 ? 200000 : i + 1);
    }
    assert_int_equal(apart.sum_ns, INT64_C(200000) * 900);
    assert_int_equal(touching.sum_ns, 2000005);
    assert_int_equal(inside.sum_ns, 300000);
}

static void processes_at_the_same_time_each_count(void **state)
{
    struct gv_time_union all = {0};

    gv_time_union_add(&all, 100, 200);
    gv_time_union_add(&all, 150, 250);
    gv_time_union_begin(&all);
    gv_time_union_add(&all, 100, 250);
    gv_time_union_add(&all, 120, 200);
    assert_int_equal(all.sum_ns, 150 + 150);
}

/* 200,000 of each, never at the same time. */
static void many_first_uses_are_counted_to_the_last(void **state)
{
    totals_keep_with(
        "INSERT INTO api (id, name, class) VALUES (5, 'cuCtxSetCurrent', 'context'),"
        " (6, 'cuModuleLoadData', 'load');"
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"
        " INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
        " SELECT 400000 - i, 1, 5, i * 10000, 900, 0 FROM n;"
        "INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind)"
        " SELECT id, 1, 6, NULL, start_ns + 1000, 800, 0, 'cubin' FROM call;"
        "INSERT INTO jit (process, start_ns, duration_ns)"
        " SELECT 1, start_ns + 1000, 700 FROM call;");
    assert_int_equal(totals_fact("start_ns"), INT64_C(200000) * 900);
    assert_int_equal(totals_fact("loading_ns"), INT64_C(200000) * 800);
    assert_int_equal(totals_fact("compiling_ns"), INT64_C(200000) * 700);
    assert_int_equal(totals_fact("loads"), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, totals_open, totals_close)
        TEST(first_uses_at_the_same_time_count_once),
        TEST(a_union_of_many_stretches_is_exact),
        TEST(processes_at_the_same_time_each_count),
        TEST(many_first_uses_are_counted_to_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
