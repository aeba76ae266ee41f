/* Records come back in the order of time, also if they do not fit into memory. */
#include "report/pass/sorted.h"

#include "tests/unit/report/cmocka_all.h"

struct record {
    struct gv_pass_key key;
    uint64_t sum; /* of both: a record is not mixed with another */
};

static void sorts(uint64_t count, uint64_t disorder)
{
    struct gv_pass_sorted *sorted;
    uint64_t random = 88172645463325252u;

    assert_int_equal(gv_pass_sorted_open(&sorted, sizeof(struct record)), 0);
    for (uint64_t i = 0; i < count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct record record = {.key = {(int64_t)(i / 2 + random % (disorder + 1)), (int64_t)i, 0}};
        record.sum = (uint64_t)record.key.at_ns + i;
        assert_int_equal(gv_pass_sorted_add(sorted, &record), 0);
    }
    for (int times = 0; times < 2; times++) {
        const void *next;
        struct record last = {.key = {INT64_MIN, 0, 0}};
        uint64_t read = 0;
        assert_int_equal(gv_pass_sorted_begin(sorted, INT64_MIN), 0);
        while (gv_pass_sorted_next(sorted, &next) == 0 && next) {
            const struct record *record = next;
            assert_true(record->key.at_ns > last.key.at_ns ||
                        (record->key.at_ns == last.key.at_ns && record->key.id > last.key.id));
            assert_int_equal(record->sum, (uint64_t)record->key.at_ns + (uint64_t)record->key.id);
            last = *record;
            read++;
        }
        assert_int_equal(read, count);
    }
    gv_pass_sorted_close(sorted);
}

static void nothing(void **state)
{
    (void)state;
    sorts(0, 0);
}

static void in_memory(void **state)
{
    (void)state;
    sorts(1000, 0);
    sorts(1000, 500);
}

static void nearly_in_order(void **state)
{
    (void)state;
    sorts(1000000, 100);
}

static void in_no_order(void **state)
{
    (void)state;
    sorts(1000000, 5000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(in_memory),
        cmocka_unit_test(nearly_in_order),
        cmocka_unit_test(in_no_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
