/* The page of a session, as its collector keeps it and as anybody may have changed it. */
#include "tests/unit/report/cmocka_all.h"

#include "report/collect/live.h"

#include <stdlib.h>
#include <unistd.h>

#define SESSION "1-2-3"

static char directory[] = "live-XXXXXX";
static struct gv_live *live;

static int begin(void **state)
{
    return mkdtemp(directory) && gv_live_open(&live, directory, SESSION) == 0 ? 0 : -1;
}

static int end(void **state)
{
    gv_live_close(live);
    live = NULL;
    gv_live_page_remove(directory, SESSION);
    rmdir(directory);
    strcpy(directory, "live-XXXXXX");
    return 0;
}

static void write_page(void)
{
    int fd = gv_live_page_open(directory, SESSION, 1);

    assert_true(fd >= 0);
    assert_int_equal(gv_live_page_write(fd, &live->page), 0);
    close(fd);
}

static int read_page(struct gv_live_page *page)
{
    int fd = gv_live_page_open(directory, SESSION, 0), error;

    assert_true(fd >= 0);
    error = gv_live_page_read(fd, page);
    close(fd);
    return error;
}

static void what_has_no_room_is_others(void **state)
{
    char name[16];
    int64_t sum = 0;

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "reason %d", i);
        gv_live_add(gv_live_find(live, GV_LIVE_idle, name, NULL), 1, 10);
    }
    for (uint32_t i = 0; i < live->page.count; i++)
        sum += live->page.rows[i].count;
    assert_int_equal(live->page.count, 32);
    assert_int_equal(sum, 1000);
    assert_string_equal(live->page.rows[31].one, "others");
}

static void the_oldest_thing_makes_room(void **state)
{
    char name[16];

    for (int i = 0; i < 1000; i++) {
        live->page.now_ns = i;
        snprintf(name, sizeof(name), "kernel %d", i);
        assert_non_null(gv_live_find(live, GV_LIVE_kernel, name, NULL));
    }
    assert_int_equal(live->page.count, 64);
    assert_null(gv_live_page_find(&live->page, "kernel", "kernel 935", NULL));
    for (int i = 936; i < 1000; i++) {
        snprintf(name, sizeof(name), "kernel %d", i);
        assert_non_null(gv_live_page_find(&live->page, "kernel", name, NULL));
    }
}

static void what_was_not_committed_comes_again(void **state)
{
    gv_live_add(gv_live_find(live, GV_LIVE_call, "launch", NULL), 5, 50);
    gv_live_committed(live);
    gv_live_add(gv_live_find(live, GV_LIVE_call, "launch", NULL), 5, 50);
    gv_live_add(gv_live_find(live, GV_LIVE_call, "copy", NULL), 1, 1);
    gv_live_again(live);
    assert_int_equal(live->page.count, 1);
    assert_int_equal(gv_live_find(live, GV_LIVE_call, "launch", NULL)->count, 5);
}

static void another_collector_counts_on(void **state)
{
    gv_live_add(gv_live_find(live, GV_LIVE_call, "launch", NULL), 5, 50);
    write_page();
    gv_live_close(live);
    assert_int_equal(gv_live_open(&live, directory, SESSION), 0);
    gv_live_add(gv_live_find(live, GV_LIVE_call, "launch", NULL), 1, 1);
    assert_int_equal(live->page.count, 1);
    assert_int_equal(live->page.rows[0].count, 6);
}

/* Whatever is in the file, texts end and numbers can be added. */
static void a_page_may_be_anybodys(void **state)
{
    static struct gv_live_page page, bad;
    int fd;

    gv_live_find(live, GV_LIVE_call, "launch", NULL);
    write_page();
    assert_int_equal(read_page(&page), 0);
    fd = gv_live_page_open(directory, SESSION, 1);
    memset(&bad, 0xff, sizeof(bad));
    memcpy(&bad, &page, sizeof(bad.magic) + sizeof(bad.sequence));
    assert_int_equal(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
    assert_int_equal(read_page(&page), -EPROTO); /* too many rows */
    bad.count = GV_LIVE_ROWS;
    assert_int_equal(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
    assert_int_equal(read_page(&page), 0);
    for (uint32_t i = 0; i < page.count; i++) {
        assert_int_equal(strlen(page.rows[i].kind), sizeof(page.rows[i].kind) - 1);
        assert_int_equal(strlen(page.rows[i].one), GV_LIVE_TEXT_BYTES - 1);
        assert_int_equal(page.rows[i].count, 0); /* -1 */
    }
    memset(bad.rows, 0x7f, sizeof(bad.rows));
    assert_int_equal(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
    assert_int_equal(read_page(&page), 0);
    assert_true(page.rows[0].ns == INT64_C(1) << 61);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(read_page(&page), 0); /* rows that are cut off are empty */
    assert_int_equal(page.rows[0].ns, 0);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(read_page(&page), -EAGAIN);
    bad.sequence = 7;
    assert_int_equal(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
    assert_int_equal(read_page(&page), -EAGAIN);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_has_no_room_is_others),
        TEST(the_oldest_thing_makes_room),
        TEST(what_was_not_committed_comes_again),
        TEST(another_collector_counts_on),
        TEST(a_page_may_be_anybodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
