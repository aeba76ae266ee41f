#include "tests/model/spool_fixture.h"

#include "preload/base/clock.h"
#include "preload/base/log.h"
#include "preload/bind/entry_points.h"
#include "preload/hooks/names.h"
#include "preload/hooks/run_delay.h"
#include "preload/process/gpu_start.h"
#include "preload/sample/pairs.h"
#include "preload/stacks/stacks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_VIEWS 8

struct fixture fixture;

/* Stands in for other parts of the library. */
struct gv_process gv_process;
static _Atomic uint32_t changes;
struct gv_process_own gv_process_own = {.token = 1, .open = 1, .changes = &changes};

static const struct gv_clock monotonic = {.kind = GV_CLOCK_MONOTONIC};
const struct gv_clock *_Atomic gv_clock = &monotonic;
struct gv_driver_calls gv_driver_calls;
uint64_t gv_stacks_least_ns = UINT64_MAX;
uint8_t gv_stacks_chosen_traits;
struct gv_known gv_stack_sites;
uint64_t gv_run_delay_least_ns = UINT64_MAX;
_Atomic uint32_t gv_pairs_are_on;

static struct gv_thread second_thread;
static char folder[256];
static void (*leave)(void *thread);

static bool attach(void)
{
    return true;
}

static void await_gpu_start(const struct gv_thread *thread)
{
    (void)thread;
}

static void leave_gpu_start(struct gv_thread *thread)
{
    (void)thread;
}

static void write_open_ranges(struct gv_thread *thread)
{
    (void)thread;
}

const struct gv_process_steps gv_process_steps = {.attach = attach,
                                                  .await_gpu_start = await_gpu_start,
                                                  .leave_gpu_start = leave_gpu_start,
                                                  .write_open_ranges = write_open_ranges};

/* A kernel's number is its handle. */
struct gv_names_answer gv_names_find(uintptr_t handle)
{
    return (struct gv_names_answer){.kernel = (uint32_t)handle};
}

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

int __real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    leave = destructor;
    return __real_pthread_key_create(key, destructor);
}

/* There is room for all of it. */
int gv_spool_memory_look(int directory_fd, struct gv_spool_memory *memory)
{
    (void)directory_fd;
    *memory = (struct gv_spool_memory){.bytes = INT64_MAX, .spools = 1};
    return 0;
}

uint32_t gv_spool_memory_segments(const struct gv_spool_memory *memory, uint32_t most)
{
    return memory->bytes > 0 ? most : 0;
}

int __real_fallocate(int fd, int mode, off_t offset, off_t bytes);

/* Storage comes or goes: a user of a segment must know about it. */
static int allocate(int fd, off_t offset, off_t bytes)
{
    struct gv_spool_header *header = fixture.header;

    if (header && offset >= header->segments_offset) {
        struct gv_spool_segment *segment =
            gv_process.spool.segments +
            ((uint64_t)offset - header->segments_offset) / GV_SPOOL_SEGMENT_BYTES;

        for (off_t at = 0; at < bytes; at += GV_SPOOL_SEGMENT_BYTES, segment++)
            if (bytes % GV_SPOOL_SEGMENT_BYTES == 0)
                model_touch(segment, sizeof segment->state, true);
            else /* all but the header's page */
                model_touch(segment->records, sizeof segment->records[0], true);
    }
    return model_running() < 0 ? __real_fallocate(fd, 0, offset, bytes) : 0;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    (void)mode;
    return allocate(fd, offset, bytes);
}

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t bytes)
{
    (void)mode;
    return allocate(fd, offset, bytes);
}

int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes)
{
    return allocate(fd, offset, bytes);
}

/* Its name with _FILE_OFFSET_BITS 64. */
int __wrap_posix_fallocate64(int fd, off_t offset, off_t bytes);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t bytes)
{
    return allocate(fd, offset, bytes);
}

/* System calls without effect here, which would take longer than the rest of an execution. */
int __wrap_madvise(void *start, size_t bytes, int advice);
int __wrap_madvise(void *start, size_t bytes, int advice)
{
    (void)start;
    (void)bytes;
    (void)advice;
    return 0;
}

int __wrap_prctl(int option, char *name);
int __wrap_prctl(int option, char *name)
{
    (void)option;
    snprintf(name, GV_SPOOL_COMM_BYTES, "thread");
    return 0;
}

/* The system calls of the code under test: thread id and futexes. */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    const _Atomic uint32_t *word;
    va_list arguments;
    int operation;

    if (number == SYS_exit_group) {
        fixture.exited();
        model_end();
    }
    if (number == SYS_gettid)
        return 1 + model_running();
    va_start(arguments, number);
    word = va_arg(arguments, const void *);
    operation = va_arg(arguments, int);
    va_end(arguments);
    if (number == SYS_futex && operation == FUTEX_WAIT)
        model_wait_for(word);
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_nsec = (long)fixture.now_ns};
    return 0;
}

/* ---- names of what is shared ---- */

struct field {
    size_t offset;
    const char *name;
};

#define FIELD(type, field) offsetof(struct type, field), #field

static const struct field header_fields[] = {
    {FIELD(gv_spool_header, magic)},
    {FIELD(gv_spool_header, limit)},
    {FIELD(gv_spool_header, segments_allocated)},
    {FIELD(gv_spool_header, growing)},
    {FIELD(gv_spool_header, free.head)},
    {FIELD(gv_spool_header, free.count)},
    {FIELD(gv_spool_header, empty.head)},
    {FIELD(gv_spool_header, empty.count)},
    {FIELD(gv_spool_header, prepared)},
    {FIELD(gv_spool_header, state)},
    {FIELD(gv_spool_header, ends)},
    {FIELD(gv_spool_header, drained)},
    {FIELD(gv_spool_header, exit_code_known)},
    {FIELD(gv_spool_header, exit_code)},
    {FIELD(gv_spool_header, exit_signal)},
    {FIELD(gv_spool_header, ended_ns)},
    {FIELD(gv_spool_header, threads_seen)},
    {FIELD(gv_spool_header, lost)},
    {FIELD(gv_spool_header, gpu.state)},
};

static const struct field segment_fields[] = {
    {FIELD(gv_spool_segment, state)},     {FIELD(gv_spool_segment, published)},
    {FIELD(gv_spool_segment, thread)},    {FIELD(gv_spool_segment, first_record)},
    {FIELD(gv_spool_segment, tid)},       {FIELD(gv_spool_segment, sequence)},
    {FIELD(gv_spool_segment, next_free)}, {FIELD(gv_spool_segment, comm)},
    {FIELD(gv_spool_segment, records)},
};

static const struct field slot_fields[] = {
    {FIELD(gv_spool_slot, thread)},       {FIELD(gv_spool_slot, start_ns)},
    {FIELD(gv_spool_slot, api_plus_one)}, {FIELD(gv_spool_slot, tid)},
    {FIELD(gv_spool_slot, detail)},       {FIELD(gv_spool_slot, stream)},
    {FIELD(gv_spool_slot, comm)},
};

static const struct field writer_fields[] = {
    {FIELD(gv_spool_writer, fresh)},
    {FIELD(gv_spool_writer, refusals)},
    {FIELD(gv_spool_writer, bell)},
    {FIELD(gv_spool_writer, path)},
};

#define NAME(fields, offset) name_of(fields, sizeof(fields) / sizeof((fields)[0]), offset)

static const char *name_of(const struct field *fields, size_t count, size_t offset)
{
    const char *name = "?";

    for (size_t i = 0; i < count; i++)
        if (fields[i].offset <= offset)
            name = fields[i].name;
    return name;
}

static bool name_in_spool(size_t offset, char name[MODEL_NAME_BYTES])
{
    const struct gv_spool_header *header = fixture.header;

    if (offset >= header->segments_offset) {
        size_t at = offset - header->segments_offset;

        snprintf(name, MODEL_NAME_BYTES, "segment %zu %s", at / GV_SPOOL_SEGMENT_BYTES,
                 NAME(segment_fields, at % GV_SPOOL_SEGMENT_BYTES));
    } else if (offset >= header->slots_offset) {
        size_t at = offset - header->slots_offset;

        snprintf(name, MODEL_NAME_BYTES, "slot %zu %s", at / sizeof(struct gv_spool_slot),
                 NAME(slot_fields, at % sizeof(struct gv_spool_slot)));
    } else {
        snprintf(name, MODEL_NAME_BYTES, "header %s", NAME(header_fields, offset));
    }
    return true;
}

static bool name_in_writer(size_t offset, char name[MODEL_NAME_BYTES])
{
    snprintf(name, MODEL_NAME_BYTES, "writer %s", NAME(writer_fields, offset));
    return true;
}

/* ---- making one ---- */

static void take_away(void)
{
    gv_spool_writer_close(&gv_process.spool, true);
    if (folder[0])
        rmdir(folder);
}

static void give_up(const char *what)
{
    perror(what);
    exit(2);
}

static void make_folder(void)
{
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    if (folder[0])
        return;
    snprintf(folder, sizeof folder, "%s/gpuverify-model-XXXXXX", place);
    if (!mkdtemp(folder)) {
        folder[0] = 0;
        give_up("mkdtemp");
    }
    atexit(take_away);
    if (gv_thread_prepare())
        give_up("gv_thread_prepare");
}

void fixture_open(uint64_t limit_mb, uint32_t segments, uint32_t fresh)
{
    static const struct gv_spool_name name = {.name = "cuLaunchKernel"};
    struct gv_spool_writer *spool = &gv_process.spool;
    char path[sizeof folder + 16];

    make_folder();
    if (fixture.header) {
        gv_spool_reader_close(&fixture.reader);
        gv_spool_writer_close(spool, true);
    }
    memset(&fixture, 0, sizeof fixture);
    memset(&gv_thread, 0, sizeof gv_thread);
    memset(&second_thread, 0, sizeof second_thread);
    gv_process.settings.stall_us = 1000;
    snprintf(path, sizeof path, "%s/model%s", folder, GV_SPOOL_SUFFIX);
    if (gv_spool_writer_create(spool, path, limit_mb, 1, &name, 1))
        give_up("gv_spool_writer_create");
    fixture.header = spool->header;
    atomic_store(&spool->fresh, fresh);
    atomic_store(&fixture.header->limit, segments);
    if (atomic_load(&fixture.header->segments_allocated) > segments)
        atomic_store(&fixture.header->segments_allocated, segments);
    memcpy(fixture.header->magic, GV_SPOOL_MAGIC, sizeof GV_SPOOL_MAGIC);
    if (gv_spool_reader_open(&fixture.reader, AT_FDCWD, path))
        give_up("gv_spool_reader_open");
    fixture.segments = segments;
    model_share(spool->header, spool->mapped_bytes, name_in_spool);
    model_alias(fixture.reader.base, fixture.reader.mapped_bytes, spool->header);
    model_share(spool, sizeof *spool, name_in_writer);
}

/* ---- threads that write ---- */

struct gv_thread *fixture_thread(int writer)
{
    return writer == 0 ? &gv_thread : &second_thread;
}

uint64_t fixture_written(int writer)
{
    const struct gv_thread *thread = fixture_thread(writer);
    uint64_t count = thread->records;

    return thread->segment ? count + (uint64_t)(thread->next - thread->segment->records) : count;
}

static void fill(union gv_record *record, uint64_t serial, uint64_t number)
{
    memset(record, (int)(number * 7 + serial), sizeof *record);
    record->call.head.kind = GV_RECORD_CALL;
    record->call.head.flags = 0;
    record->call.start_ns = serial << 32 | number;
}

bool fixture_write(int writer)
{
    struct gv_thread *thread = fixture_thread(writer);
    uint64_t number = fixture_written(writer);
    union gv_record *record = gv_thread_reserve(thread, GV_ROOM_CODE);

    if (!record)
        return false;
    fill(record, thread->serial, number);
    gv_thread_publish(thread);
    return true;
}

void fixture_join(int writer, uint64_t records)
{
    struct gv_thread *thread = fixture_thread(writer);

    if (!gv_thread_join(thread))
        give_up("gv_thread_join");
    while (records-- > 0)
        if (!fixture_write(writer))
            give_up("no segment");
}

void fixture_leave(int writer)
{
    leave(fixture_thread(writer));
}

/* ---- the thread that reads ---- */

/* A poll counted while its record is taken may add to the count before it adds to the times. */
static void check_poll(const struct gv_record_poll *poll)
{
    model_claim(poll->count >= 1, "a poll that was none");
    model_claim(poll->total_ns >= (poll->count - 1) * POLL_NS, "more than one poll lacks its time");
    model_claim(poll->total_ns <= poll->count * POLL_NS, "more time than polls");
    fixture.polls += poll->count;
    fixture.polls_ns += poll->total_ns;
}

static void check_record(const union gv_record *record, uint64_t serial, uint64_t number)
{
    union gv_record expected;

    if (record->head.kind == GV_RECORD_POLL) {
        check_poll(&record->poll);
        return;
    }
    fill(&expected, serial, number);
    model_claim(record->call.start_ns == expected.call.start_ns, "a record is lost or comes twice");
    model_claim(memcmp(record, &expected, sizeof expected) == 0, "a record is not whole");
}

static size_t scan(struct gv_spool_view views[MOST_VIEWS])
{
    size_t count = 0;

    model_claim(gv_spool_reader_refresh(&fixture.reader) == 0, "the spool cannot be read");
    for (uint32_t i = fixture.first_segment; i < fixture.segments && i < fixture.reader.segments;
         i++) {
        struct gv_spool_view view;
        size_t at = count;

        if (!gv_spool_reader_look(&fixture.reader, i, &view))
            continue;
        model_claim(count < MOST_VIEWS, "more segments than a case has");
        model_claim(view.thread >= 1 && view.thread <= WRITERS, "a segment of no thread");
        for (; at > 0 && views[at - 1].sequence > view.sequence; at--)
            views[at] = views[at - 1];
        views[at] = view;
        count++;
    }
    return count;
}

static void read_segment(const struct gv_spool_view *view, bool final, bool *waits)
{
    uint64_t *position = &fixture.position[view->thread - 1];
    bool closed;
    uint32_t published = gv_spool_reader_published(&fixture.reader, view->index, &closed);

    if (view->first_record > *position) {
        model_claim(!final, "records are missing");
        *waits = true;
    }
    if (*waits)
        return;
    for (uint64_t i = *position - view->first_record; i < published; i++) {
        union gv_record record;

        gv_spool_reader_record(&fixture.reader, view->index, (uint32_t)i, &record);
        check_record(&record, view->thread, (*position)++);
    }
    if (closed)
        gv_spool_reader_give_back(&fixture.reader, view->index);
}

void fixture_read(bool final)
{
    struct gv_spool_view views[MOST_VIEWS];
    bool waits[WRITERS] = {false};
    size_t count = scan(views);

    for (size_t i = 0; i < count; i++)
        read_segment(&views[i], final, &waits[views[i].thread - 1]);
}
