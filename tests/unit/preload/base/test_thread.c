/* A thread of the program joins, and fills segments. */
#include "tests/unit/preload/recording.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static bool may_attach = true;
static int attached;

static bool attach(void)
{
    struct gv_thread *thread = &gv_thread;

    attached++;
    assert_false(gv_thread_join(thread)); /* a CUDA call inside: it does not join there */
    return may_attach;
}

static void leave_gpu_start(struct gv_thread *thread)
{
    assert_true(gv_thread_is_live(thread));
}

static void write_open_ranges(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = leave_gpu_start, .write_open_ranges = write_open_ranges};

static void joins_once(void **state)
{
    struct gv_thread *thread = &gv_thread;

    (void)state;
    attached = 0;
    prctl(PR_SET_NAME, "worker");
    thread->depth = 3; /* a call that is being made */
    assert_false(gv_thread_is_live(thread));
    assert_true(gv_thread_join(thread));
    assert_true(gv_thread_join(thread));
    assert_true(gv_thread_is_live(thread) && gv_thread_may_call(thread));
    assert_int_equal(attached, 1);
    assert_int_equal(thread->serial, 1);
    assert_int_equal(thread->depth, 3);
    assert_int_equal(thread->tid, gettid());
    assert_int_equal(atomic_load(&thread->slot->thread), 1);
    assert_memory_equal(thread->slot->comm, "worker", sizeof "worker");
}

static void does_not_join_what_does_not_record(void **state)
{
    (void)state;
    may_attach = false;
    assert_false(gv_thread_join(&gv_thread));
    may_attach = true;
    assert_false(gv_thread_is_live(&gv_thread));
    assert_int_equal(atomic_load(&gv_process.spool.header->threads_seen), 0);
}

static void waits_while_the_gpu_is_started(void **state)
{
    (void)state;
    assert_true(gv_thread_join(&gv_thread));
    atomic_store(&gv_process_own.open, 0);
    assert_true(gv_thread_is_live(&gv_thread));
    assert_false(gv_thread_may_call(&gv_thread));
}

/* Records of a room until there is no more; how many. */
static unsigned fill(enum gv_spool_room room, unsigned most)
{
    unsigned count = 0;

    for (union gv_record *record;
         count < most && (record = gv_thread_reserve(&gv_thread, room)) != NULL; count++) {
        record->call = (struct gv_record_call){.head = {.kind = GV_RECORD_CALL}, .bytes = count};
        gv_thread_publish(&gv_thread);
    }
    return count;
}

/* What is more important finds room when the rest is refused. */
static void keeps_the_last_segments_for_what_matters(void **state)
{
    unsigned most = GV_SPOOL_SEGMENT_RECORDS * 128;

    (void)state;
    assert_true(gv_thread_join(&gv_thread));
    for (int room = GV_ROOM_REST; room >= GV_ROOM_CODE; room--) {
        unsigned count = fill((enum gv_spool_room)room, most);

        assert_true(count > 0 && count < most);
        assert_int_equal(fill((enum gv_spool_room)room, 1), 0);
    }
}

static void splits_texts(void **state)
{
    static char text[GV_RECORD_TEXT_LIMIT + 2];
    struct gv_spool_segment *segment;
    uint32_t last = (GV_RECORD_TEXT_LIMIT - 1) / GV_RECORD_TEXT_BYTES;

    (void)state;
    assert_true(gv_thread_join(&gv_thread));
    memset(text, 'x', GV_RECORD_TEXT_BYTES + 1);
    gv_thread_write_text(&gv_thread, text, gv_spool_text_bytes(text), false);
    segment = segment_of(1, 0);
    assert_int_equal(atomic_load(&segment->published), 2);
    assert_int_equal(segment->records[0].head.flags, GV_RECORD_MORE);
    assert_int_equal(segment->records[0].head.api, GV_RECORD_TEXT_BYTES);
    assert_int_equal(segment->records[1].head.flags, 0);
    assert_int_equal(segment->records[1].head.api, 1);

    memset(text, 'y', GV_RECORD_TEXT_LIMIT + 1);
    gv_thread_write_text(&gv_thread, text, gv_spool_text_bytes(text), true);
    assert_int_equal(atomic_load(&segment->published), 2 + last + 1);
    assert_int_equal(segment->records[2 + last].head.flags, GV_RECORD_MORE);
    assert_memory_equal(
        segment->records[2 + last].text.text + segment->records[2 + last].head.api - 3, "...", 3);
    assert_int_equal(gv_spool_text_bytes(NULL), 0);
}

static void records_without_a_slot(void **state)
{
    static const struct gv_spool_owner other = {.thread = 99};

    (void)state;
    for (unsigned i = 0; i < GV_SPOOL_SLOTS; i++)
        assert_non_null(gv_spool_writer_slot(&gv_process.spool, &other));
    assert_true(gv_thread_join(&gv_thread));
    assert_int_equal(atomic_load(&gv_process.spool.header->lost.threads), 1);
    assert_int_equal(fill(GV_ROOM_REST, 1), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_recording, close_recording)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(joins_once),
        TEST(does_not_join_what_does_not_record),
        TEST(waits_while_the_gpu_is_started),
        TEST(keeps_the_last_segments_for_what_matters),
        TEST(splits_texts),
        TEST(records_without_a_slot),
    };

    return cmocka_run_group_tests_name("a thread that records", tests, NULL, NULL);
}
