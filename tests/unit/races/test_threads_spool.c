/* Threads write a spool, and come and go, while the reader empties it. */
#include "preload/base/log.h"
#include "preload/base/thread.h"
#include "trace/spool_reader.h"
#include "trace/spool_writer.h"

#include "threads.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITERS  3
#define LIVES    300 /* of each writer: threads, one after the other */
#define RECORDS  100 /* of each life */
#define SEGMENTS 4096u

/* Stands in for what thread.c needs of the library. */
struct gv_process gv_process;
static _Atomic uint32_t changes;
struct gv_process_own gv_process_own = {.token = 1, .open = 1, .changes = &changes};

static bool attach(void)
{
    return true;
}

static void leave_gpu_start(struct gv_thread *thread)
{
    (void)thread;
}

static void write_open_ranges(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {
    .attach = attach, .leave_gpu_start = leave_gpu_start, .write_open_ranges = write_open_ranges};

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

static _Atomic unsigned lost;
static _Atomic int working;

static void write_call(struct gv_thread *thread, uint64_t number)
{
    union gv_record *record;
    bool inside;

    atomic_store_explicit(&thread->slot->stream, thread->serial, memory_order_release);
    atomic_store_explicit(&thread->slot->detail, number, memory_order_release);
    atomic_store_explicit(&thread->slot->start_ns, number, memory_order_release);
    atomic_store_explicit(&thread->slot->api_plus_one, 1, memory_order_release);
    inside = gv_thread_begin_group(thread);
    record = gv_thread_reserve(thread, GV_ROOM_WORK);
    if (record) {
        record->call = (struct gv_record_call){
            .head = {.kind = GV_RECORD_CALL}, .start_ns = number, .bytes = thread->serial};
        gv_thread_publish(thread);
    }
    gv_thread_end_group(thread, inside);
    atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_release);
    if (!record) {
        atomic_fetch_add(&lost, 1);
        sched_yield();
    }
}

static void *live(void *context)
{
    char name[16];

    snprintf(name, sizeof name, "writer %u", (unsigned)(uintptr_t)context);
    prctl(PR_SET_NAME, name);
    expect(gv_thread_join(&gv_thread));
    for (uint64_t i = 1; i <= RECORDS; i++)
        write_call(&gv_thread, i);
    return NULL;
}

static void *live_again(void *context)
{
    for (int i = 0; i < LIVES; i++) {
        struct gv_threads life = {.count = 0};

        gv_threads_add(&life, live, (uintptr_t)context);
        pthread_join(life.threads[0], NULL);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

/* In the writer's mapping, so that a sanitizer sees both sides at one address. */
static void open_reader(struct gv_spool_reader *reader)
{
    const struct gv_spool_header *header = gv_process.spool.header;

    *reader = (struct gv_spool_reader){
        .fd = open(gv_process.spool.path, O_RDWR | O_CLOEXEC),
        .base = (unsigned char *)gv_process.spool.header,
        .mapped_bytes = gv_process.spool.mapped_bytes,
        .slots_count = header->slots_count,
        .slots_offset = header->slots_offset,
        .segments_offset = header->segments_offset,
        .segment_limit = header->segment_limit,
    };
    assert_true(reader->fd >= 0);
}

static unsigned records_read[SEGMENTS];
static unsigned count;

static void read_segment(struct gv_spool_reader *reader, uint32_t index)
{
    struct gv_spool_view view;
    uint32_t published;
    bool closed;

    if (!gv_spool_reader_look(reader, index, &view))
        return;
    expect(strncmp(view.comm, "writer ", 7) == 0);
    expect(view.thread >= 1 && view.thread <= WRITERS * LIVES);
    published = gv_spool_reader_published(reader, index, &closed);
    for (; records_read[index] < published; records_read[index]++) {
        union gv_record record;

        gv_spool_reader_record(reader, index, records_read[index], &record);
        expect(record.head.kind == GV_RECORD_CALL && record.call.bytes == view.thread);
        count++;
    }
    if (!closed)
        return;
    records_read[index] = 0;
    gv_spool_reader_give_back(reader, index);
}

static void read_all(struct gv_spool_reader *reader)
{
    struct gv_spool_flight flight;

    expect(gv_spool_reader_refresh(reader) == 0 && reader->segments <= SEGMENTS);
    for (uint32_t i = 0; i < reader->segments; i++)
        read_segment(reader, i);
    for (uint32_t i = 0; i < reader->slots_count; i++)
        if (gv_spool_reader_flight(reader, i, &flight))
            expect(flight.detail == flight.start_ns && flight.stream == flight.thread &&
                   strncmp(flight.comm, "writer ", 7) == 0);
}

/* Takes all other slots, so that a thread gets the slot of the one that ended last. */
static void take_slots(void)
{
    static const struct gv_spool_owner owner = {.thread = GV_SPOOL_GPU_THREAD, .comm = "idle"};

    for (unsigned i = WRITERS; i < GV_SPOOL_SLOTS; i++)
        assert_non_null(gv_spool_writer_slot(&gv_process.spool, &owner));
}

static void what_is_written_is_read_once(void **state)
{
    static const struct gv_spool_name names[1] = {{0, "launch", "cuLaunchKernel"}};
    char folder[] = "/tmp/gpuverify-test-XXXXXX", path[64];
    struct gv_threads threads = {.count = 0};
    struct gv_spool_reader reader;
    bool is_last;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/test.spool", folder);
    assert_int_equal(gv_spool_writer_create(&gv_process.spool, path, 2, 7, names, 1), 0);
    assert_int_equal(gv_thread_prepare(), 0);
    take_slots();
    open_reader(&reader);
    atomic_store(&working, WRITERS);
    for (uintptr_t i = 0; i < WRITERS; i++)
        gv_threads_add(&threads, live_again, i);
    do {
        is_last = atomic_load(&working) == 0;
        read_all(&reader);
    } while (!is_last);
    assert_int_equal(gv_threads_join(&threads), 0);
    assert_int_equal(count + atomic_load(&lost), WRITERS * LIVES * RECORDS);
    assert_true(count > RECORDS);
    close(reader.fd);
    gv_spool_writer_close(&gv_process.spool, true);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_is_read_once)};

    return cmocka_run_group_tests_name("spool, from several threads", tests, NULL, NULL);
}
