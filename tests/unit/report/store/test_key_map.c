/* The map of numbers: it finds what was added and not removed, and nothing else. */
#include "tests/unit/report/cmocka_all.h"

#include "report/store/key_map.h"

#include <string.h>

#define KEYS 3000u

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct gv_key key_of(uint32_t number)
{
    return (struct gv_key){.part = {number % 7, number / 7, 5}};
}

static void what_is_removed_is_gone_and_the_rest_stays(void **state)
{
    static int64_t expected[KEYS];
    struct gv_key_map map = {0};
    uint32_t seed = 11;
    size_t used = 0;

    memset(expected, 0, sizeof(expected));
    for (unsigned turn = 0; turn < 60000; turn++) {
        uint32_t number = next(&seed) % KEYS;
        struct gv_key key = key_of(number);
        if (expected[number]) {
            gv_key_map_remove(&map, &key);
            expected[number] = 0;
            used--;
        } else {
            expected[number] = turn + 1;
            assert_int_equal(gv_key_map_add(&map, &key, expected[number]), 0);
            used++;
        }
        gv_key_map_remove(&map, &(struct gv_key){.part = {number, 0, 6}}); /* never added */
        if (turn % 3000 != 0)
            continue;
        for (uint32_t i = 0; i < KEYS; i++) {
            key = key_of(i);
            assert_int_equal(gv_key_map_find(&map, &key), expected[i]);
        }
        assert_int_equal(map.used, used);
    }
    gv_key_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_removed_is_gone_and_the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
