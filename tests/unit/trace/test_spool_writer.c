/* The program's half of a spool: segments, the reserve, growth, slots. */
#include "trace/spool_writer.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/gpuverify-test-XXXXXX";
static char path[128];
static const struct gv_spool_name names[2] = {{0, "launch", "cuLaunchKernel"},
                                              {1, "copy", "cuMemcpy"}};
static const struct gv_spool_owner owner = {.thread = 1, .tid = 42, .comm = "test"};

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/test.spool", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void create(struct gv_spool_writer *writer, uint64_t limit_mb)
{
    assert_int_equal(gv_spool_writer_create(writer, path, limit_mb, 7, names, 2), 0);
}

static uint32_t take_all(struct gv_spool_writer *writer, enum gv_spool_room room)
{
    uint32_t taken = 0;
    enum gv_spool_room open_to;

    while (gv_spool_writer_take(writer, room, &open_to, &owner))
        taken++;
    return taken;
}

static void a_new_spool_is_private_and_describes_itself(void **state)
{
    struct gv_spool_writer writer = {0};
    const struct gv_spool_name *copy;
    struct stat status;

    (void)state;
    create(&writer, 1);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true((uint64_t)status.st_blocks * 512 <= 1 << 20);
    copy = (const void *)((const char *)writer.header + writer.header->names_offset);
    assert_string_equal(copy[1].name, "cuMemcpy");
    assert_int_equal(gv_spool_writer_create(&(struct gv_spool_writer){0}, path, 1, 7, names, 2),
                     -EEXIST);
    gv_spool_writer_close(&writer, true);
    assert_int_equal(access(path, F_OK), -1);
}

/* A flood of one kind leaves room for each more important kind. */
static void the_last_segments_are_kept_for_what_matters(void **state)
{
    struct gv_spool_writer writer = {0};
    uint32_t taken;

    (void)state;
    create(&writer, 2);
    taken = take_all(&writer, GV_ROOM_REST);
    for (int room = GV_ROOM_WORK; room >= GV_ROOM_CODE; room--) {
        uint32_t share = take_all(&writer, (enum gv_spool_room)room);

        assert_int_equal(share, writer.header->limit / 16);
        taken += share;
    }
    assert_int_equal(taken, writer.header->segment_limit);
    assert_int_equal(writer.header->segments_allocated, writer.header->segment_limit);
    gv_spool_writer_close(&writer, true);
}

/* Taking one of the last segments does not open it to the others. */
static void a_late_segment_is_open_to_few(void **state)
{
    struct gv_spool_writer writer = {0};
    enum gv_spool_room open_to;

    (void)state;
    create(&writer, 2);
    assert_non_null(gv_spool_writer_take(&writer, GV_ROOM_CODE, &open_to, &owner));
    assert_int_equal(open_to, GV_ROOM_REST);
    take_all(&writer, GV_ROOM_WORK);
    assert_non_null(gv_spool_writer_take(&writer, GV_ROOM_CODE, &open_to, &owner));
    assert_int_equal(open_to, GV_ROOM_SYNC);
    gv_spool_writer_close(&writer, true);
}

/* On a full disk or /dev/shm, the existing room is used, and no page is missing. */
static void a_file_that_cannot_grow_is_used_as_it_is(void **state)
{
    struct gv_spool_writer writer = {0};
    struct rlimit unlimited, limit;
    uint32_t taken;

    (void)state;
    create(&writer, 16);
    getrlimit(RLIMIT_FSIZE, &unlimited);
    limit = unlimited;
    limit.rlim_cur = 3 << 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    taken = take_all(&writer, GV_ROOM_CODE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_true(taken >= GV_SPOOL_GROWTH_SEGMENTS);
    assert_int_equal(taken, writer.header->segments_allocated);
    for (uint32_t i = 0; i < taken; i++)
        memset(&writer.segments[i].records, 1, sizeof writer.segments[i].records);
    gv_spool_writer_close(&writer, true);
}

static void each_thread_has_a_slot_until_there_are_none(void **state)
{
    struct gv_spool_writer writer = {0};
    struct gv_spool_slot *first;

    (void)state;
    create(&writer, 1);
    first = gv_spool_writer_slot(&writer, &owner);
    assert_non_null(first);
    for (uint64_t i = 1; i < GV_SPOOL_SLOTS; i++)
        assert_non_null(gv_spool_writer_slot(
            &writer, &(struct gv_spool_owner){.thread = i + 1, .comm = "more"}));
    assert_null(gv_spool_writer_slot(&writer, &owner));
    atomic_store(&first->thread, 0);
    assert_ptr_equal(gv_spool_writer_slot(&writer, &owner), first);
    gv_spool_writer_close(&writer, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_spool_is_private_and_describes_itself),
        cmocka_unit_test(the_last_segments_are_kept_for_what_matters),
        cmocka_unit_test(a_late_segment_is_open_to_few),
        cmocka_unit_test(a_file_that_cannot_grow_is_used_as_it_is),
        cmocka_unit_test(each_thread_has_a_slot_until_there_are_none),
    };

    return cmocka_run_group_tests_name("spool writer", tests, make_folder, drop_folder);
}
