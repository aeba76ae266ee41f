/* The reader trusts nothing: files that are no spools, contradict themselves, or change. */
#include "tests/unit/report/cmocka_all.h"

#include "tests/unit/report/spool_fixture.h"
#include "trace/spool_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture fixture;
static struct fixture_spool spool;
static char path[1024];

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_spool_open(&fixture, &spool, 1, false);
    fixture_spool_name(&fixture, 1, path, sizeof(path));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fixture_spool_close(&spool);
    fixture_close(&fixture);
    return 0;
}

static int try_open(void)
{
    struct gv_spool_reader reader;
    int error = gv_spool_reader_open(&reader, AT_FDCWD, path);

    if (!error)
        gv_spool_reader_close(&reader);
    return error;
}

static void a_wrong_header_is_refused(void **state)
{
    (void)state;
    struct gv_spool_header *header = spool.writer.header;
    struct gv_spool_header good = *header;

    assert_int_equal(try_open(), 0);
#define EXPECT_REFUSED(why, change)                                                                \
    do {                                                                                           \
        change;                                                                                    \
        assert_int_equal(try_open(), why);                                                         \
        memcpy((void *)header, &good, sizeof(good));                                               \
    } while (0)
    EXPECT_REFUSED(-EPROTO, header->magic[0] = 'X');
    EXPECT_REFUSED(-EPROTO, header->version = 99);
    EXPECT_REFUSED(-EPROTO, header->header_bytes = 12);
    EXPECT_REFUSED(-EUCLEAN, header->names_count = UINT32_MAX);
    EXPECT_REFUSED(-EUCLEAN, header->names_count = 8192; header->names_offset = UINT32_MAX);
    EXPECT_REFUSED(-EUCLEAN, header->names_offset = 0);
    EXPECT_REFUSED(-EUCLEAN, header->names_offset = UINT32_MAX);
    EXPECT_REFUSED(-EUCLEAN, header->slots_count = GV_SPOOL_SLOTS + 1);
    EXPECT_REFUSED(-EUCLEAN, header->slots_offset = UINT32_MAX - 63);
    EXPECT_REFUSED(-EUCLEAN, header->slots_offset += 8);
    EXPECT_REFUSED(-EUCLEAN, header->segments_offset = 64);
    EXPECT_REFUSED(-EUCLEAN, header->segments_offset = UINT32_MAX - 63);
    EXPECT_REFUSED(-EUCLEAN, header->segment_limit = UINT32_MAX);
    assert_int_equal(try_open(), 0);
    memset(header->magic, 0, sizeof(header->magic));
    assert_int_equal(try_open(), -EAGAIN);
    memcpy((void *)header, &good, sizeof(good));
}

static void a_cut_file_is_never_touched_beyond_its_end(void **state)
{
    (void)state;
    struct gv_spool_header *header = spool.writer.header;
    uint32_t segments_offset = header->segments_offset;
    struct gv_spool_reader reader;
    struct gv_spool_view view;

    for (int i = 0; i < 1000; i++)
        fixture_call(&spool, 1, FIXTURE_SYNC, (uint64_t)i, 1, 0);
    assert_int_equal(truncate(path, segments_offset + 2 * GV_SPOOL_SEGMENT_BYTES + 100), 0);
    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, path), 0);
    assert_int_equal(reader.segments, 2);
    assert_int_equal(reader.segments_cut, header->segments_allocated - 2);
    for (uint32_t i = 0; i < reader.segments; i++)
        gv_spool_reader_look(&reader, i, &view);
    /* It shrinks while it is open: noticed before reading. */
    assert_int_equal(truncate(path, segments_offset), 0);
    assert_int_equal(gv_spool_reader_refresh(&reader), -EPROTO);
    gv_spool_reader_close(&reader);
    /* Remains of a spool, and an unfinished one. */
    assert_int_equal(truncate(path, segments_offset - 100), 0);
    assert_int_equal(try_open(), -EUCLEAN);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(try_open(), -EUCLEAN);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(try_open(), -EAGAIN);
    assert_int_equal(truncate(path, sizeof(struct gv_spool_header)), 0);
    assert_int_equal(try_open(), -EAGAIN);
}

static void impossible_counts_are_bounded(void **state)
{
    (void)state;
    struct gv_spool_reader reader;
    bool closed;

    fixture_call(&spool, 1, FIXTURE_SYNC, 1, 1, 0);
    spool.threads[0].segment->published = UINT32_MAX;
    spool.writer.header->segments_allocated = UINT32_MAX;
    spool.writer.header->arguments_bytes = UINT32_MAX;
    memset(spool.writer.header->directory, 'x', sizeof(spool.writer.header->directory));
    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, path), 0);
    assert_true(reader.segments <= spool.writer.header->segment_limit);
    assert_int_equal(gv_spool_reader_published(&reader, 0, &closed), GV_SPOOL_SEGMENT_RECORDS);
    struct gv_spool_facts facts;
    gv_spool_reader_facts(&reader, &facts);
    assert_int_equal(facts.arguments_bytes, GV_SPOOL_ARGUMENTS_BYTES);
    assert_int_equal(strlen(facts.directory), sizeof(facts.directory) - 1);
    gv_spool_reader_close(&reader);
}

static void a_link_or_another_kind_of_file_is_refused(void **state)
{
    (void)state;
    char other[1100];
    struct gv_spool_reader reader;

    snprintf(other, sizeof(other), "%s/link.spool", fixture.spools);
    assert_int_equal(symlink(path, other), 0);
    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, other), -ELOOP);
    snprintf(other, sizeof(other), "%s/pipe.spool", fixture.spools);
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, other), -EPERM);
}

static void two_readers_never_share_a_spool(void **state)
{
    (void)state;
    struct gv_spool_reader first;

    assert_int_equal(gv_spool_reader_open(&first, AT_FDCWD, path), 0);
    assert_int_equal(try_open(), -EBUSY);
    gv_spool_reader_close(&first);
    assert_int_equal(try_open(), 0);
}

static void take_segments(uint32_t from, uint32_t to)
{
    struct gv_spool_owner owner = {.thread = 1};
    enum gv_spool_room open_to;

    for (uint32_t i = from; i < to; i++)
        assert_non_null(gv_spool_writer_take(&spool.writer, GV_ROOM_CODE, &open_to, &owner));
}

static uint64_t stored_bytes(void)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

/* The reader makes the next segments; the writer takes them without opening its file. */
static void prepared_segments_cost_the_writer_nothing(void **state)
{
    (void)state;
    const uint32_t step = GV_SPOOL_GROWTH_SEGMENTS;
    const struct gv_spool_header *header = spool.writer.header;
    _Atomic uint32_t bell = 0;
    struct gv_spool_reader reader;
    uint64_t bytes = stored_bytes();

    spool.writer.bell = &bell;
    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, path), 0);
    for (int i = 0; i < 5; i++)
        gv_spool_reader_prepare(&reader);
    /* As many again as there are. */
    assert_int_equal(header->segments_allocated, step);
    assert_int_equal(header->prepared, 2 * step);
    assert_true(stored_bytes() >= bytes + step * GV_SPOOL_SEGMENT_BYTES);
    unlink(path);
    take_segments(0, 2 * step);
    assert_int_equal(bell, 0);
    assert_int_equal(header->segments_allocated, 2 * step);
    for (int i = 0; i < 5; i++)
        gv_spool_reader_prepare(&reader);
    take_segments(2 * step, 4 * step);
    gv_spool_reader_close(&reader);
}

/* A flood is faster than the reader: it hears of that. */
static void growing_alone_wakes_the_reader(void **state)
{
    (void)state;
    _Atomic uint32_t bell = 0;

    spool.writer.bell = &bell;
    take_segments(0, GV_SPOOL_GROWTH_SEGMENTS);
    assert_int_equal(bell, 0);
    take_segments(GV_SPOOL_GROWTH_SEGMENTS, GV_SPOOL_GROWTH_SEGMENTS + 1);
    assert_int_equal(bell, 1);
}

/* Preparing gives nothing that the file does not have: its size stays what it was. */
static void a_cut_file_is_not_prepared(void **state)
{
    (void)state;
    struct gv_spool_reader reader;

    assert_int_equal(gv_spool_reader_open(&reader, AT_FDCWD, path), 0);
    assert_int_equal(truncate(path, spool.writer.header->segments_offset), 0);
    gv_spool_reader_prepare(&reader);
    assert_int_equal(spool.writer.header->prepared, 0);
    assert_int_equal(gv_spool_reader_refresh(&reader), -EPROTO);
    gv_spool_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wrong_header_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cut_file_is_never_touched_beyond_its_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(impossible_counts_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_or_another_kind_of_file_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(two_readers_never_share_a_spool, setup, teardown),
        cmocka_unit_test_setup_teardown(prepared_segments_cost_the_writer_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(growing_alone_wakes_the_reader, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cut_file_is_not_prepared, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
