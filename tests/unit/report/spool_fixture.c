#include "tests/unit/report/spool_fixture.h"
#include "trace/stack_ring.h"

#include "trace/session_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <link.h>
#include <unistd.h>

/* Above the Linux kernel's largest pid. */
#define FIXTURE_GONE_PID 4194999u

static const struct gv_spool_name fixture_names[] = {
    [FIXTURE_LAUNCH] = {5, "launch", "cuLaunchKernel"},
    [FIXTURE_LAUNCH_PTSZ] = {5, "launch", "cuLaunchKernel_ptsz"},
    [FIXTURE_MODULE_LOAD] = {2, "load", "cuModuleLoadData"},
    [FIXTURE_UNLOAD] = {3, "unload", "cuModuleUnload"},
    [FIXTURE_SYNC] = {8, "sync", "cuCtxSynchronize"},
    [FIXTURE_BEGIN_CAPTURE] = {10, "stream", "cuStreamBeginCapture_v2"},
    [FIXTURE_END_CAPTURE] = {10, "stream", "cuStreamEndCapture"},
    [FIXTURE_ALLOC] = {6, "alloc", "cuMemAlloc_v2"},
    [FIXTURE_FREE] = {7, "free", "cuMemFree_v2"},
};

void fixture_open(struct fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    strcpy(fixture->directory, "/tmp/gpuverify-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->spools, sizeof(fixture->spools), "%s/spools", fixture->directory);
    assert_int_equal(mkdir(fixture->spools, 0700), 0);
    snprintf(fixture->trace, sizeof(fixture->trace), "%s/trace.db", fixture->directory);
    gv_session_id_write(fixture->session, FIXTURE_GONE_PID, 1, 0x12345678);
    snprintf(fixture->session_path, sizeof(fixture->session_path), "%s/%s%s", fixture->spools,
             fixture->session, GV_SESSION_SUFFIX);
}

static int fixture_remove(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

void fixture_close(struct fixture *fixture)
{
    nftw(fixture->directory, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
}

int fixture_session_file(const struct fixture *fixture)
{
    static struct gv_session_file file;
    int fd = open(fixture->session_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    memset(&file, 0, sizeof(file));
    memcpy(file.magic, GV_SESSION_MAGIC, sizeof(GV_SESSION_MAGIC));
    file.root_pid = FIXTURE_GONE_PID;
    file.root_start_ticks = 1;
    strcpy(file.session, fixture->session);
    snprintf(file.trace_path, sizeof(file.trace_path), "%s", fixture->trace);
    file.ready = 1;
    assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
    return fd;
}

void fixture_spool_name(const struct fixture *fixture, uint64_t identity, char *out, size_t size)
{
    snprintf(out, size, "%s/%s.%u.%016llx%s", fixture->spools, fixture->session, FIXTURE_GONE_PID,
             (unsigned long long)identity, GV_SPOOL_SUFFIX);
}

void fixture_spool_open(const struct fixture *fixture, struct fixture_spool *spool,
                        uint64_t identity, bool alive)
{
    char path[1024];

    memset(spool, 0, sizeof(*spool));
    fixture_spool_name(fixture, identity, path, sizeof(path));
    assert_int_equal(gv_spool_writer_create(&spool->writer, path, 128, identity, fixture_names,
                                            FIXTURE_API_COUNT),
                     0);
    struct gv_spool_header *header = spool->writer.header;
    strcpy(header->session, fixture->session);
    header->pid = alive ? (uint32_t)getpid() : FIXTURE_GONE_PID;
    header->process_start_ticks = 1;
    if (alive)
        assert_int_equal(gv_session_read_start_ticks(header->pid, &header->process_start_ticks), 0);
    header->clock.kind = GV_CLOCK_MONOTONIC;
    header->clock.epoch_ns = FIXTURE_EPOCH_NS;
    header->clock.unix_offset_ns = 1000;
    header->attached_ns = FIXTURE_EPOCH_NS + 5;
    header->driver_version = 13000;
    strcpy(header->program, "train");
    strcpy(header->executable, "/usr/bin/python3");
    strcpy(header->directory, "/tmp");
    memcpy(header->arguments, "python\0train it.py\0", 19);
    header->arguments_bytes = 19;
    memcpy(header->magic, GV_SPOOL_MAGIC, sizeof(GV_SPOOL_MAGIC));
}

void fixture_spool_close(struct fixture_spool *spool)
{
    gv_spool_writer_close(&spool->writer, false);
}

static int list_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct fixture_spool *spool = context;
    struct gv_spool_stacks *stacks = &spool->writer.header->stacks;
    uint32_t used = 0;

    (void)size;
    if (!stacks->objects_allocated)
        assert_int_equal(gv_spool_writer_add_objects(&spool->writer), 0);
    while (spool->writer.objects[used].added)
        used++;
    struct gv_spool_object *entry = &spool->writer.objects[used];
    entry->base = info->dlpi_addr;
    entry->low = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_NOTE && info->dlpi_phdr[i].p_memsz >= 36)
            for (uint64_t at = start; at + 36 <= start + info->dlpi_phdr[i].p_memsz; at += 4)
                if (memcmp((void *)(uintptr_t)at, "\4\0\0\0\x14\0\0\0\3\0\0\0GNU", 16) == 0) {
                    entry->build_id_bytes = 20;
                    memcpy(entry->build_id, (void *)(uintptr_t)(at + 16), 20);
                }
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        entry->low = start < entry->low ? start : entry->low;
        if (start + info->dlpi_phdr[i].p_memsz > entry->high)
            entry->high = start + info->dlpi_phdr[i].p_memsz;
    }
    if (info->dlpi_name[0])
        snprintf(entry->path, sizeof(entry->path), "%s", info->dlpi_name);
    else
        assert_true(readlink("/proc/self/exe", entry->path, sizeof(entry->path) - 1) > 0);
    entry->added = 1;
    return 0;
}

void fixture_objects(struct fixture_spool *spool)
{
    dl_iterate_phdr(list_object, spool);
    spool->writer.header->stacks.generation = 1;
}

struct gv_stack_copy *fixture_copy(struct fixture_spool *spool, uint64_t pc, uint64_t sp,
                                   uint32_t bytes, uint32_t *chunk, uint64_t *serial)
{
    static uint64_t serials;
    struct gv_spool_stacks *stacks = &spool->writer.header->stacks;

    if (!stacks->words) {
        assert_int_equal(gv_spool_writer_add_word(&spool->writer, 0), 0);
        stacks->words = 1;
    }
    *chunk = gv_stack_ring_take(stacks, 0, gv_stack_ring_chunks(bytes));
    assert_int_not_equal(*chunk, 0);
    struct gv_stack_copy *copy =
        (void *)(spool->writer.ring + (size_t)(*chunk - 1) * GV_STACK_CHUNK_BYTES);
    memset(copy, 0, sizeof(*copy));
    copy->generation = 1;
    copy->pc = pc;
    copy->sp = sp;
    copy->bytes = bytes;
    memcpy(copy->stack, (const void *)(uintptr_t)sp, bytes);
    copy->serial = *serial = ++serials;
    return copy;
}

void fixture_python_code(struct fixture_spool *spool, uint32_t thread, uint32_t number,
                         const char *file, const char *function, int32_t line)
{
    char text[256];
    union gv_record record = {
        .python_code = {.head = {.kind = GV_RECORD_PYTHON_CODE, .flags = GV_RECORD_MORE},
                        .number = number,
                        .first_line = line,
                        .file_bytes = (uint16_t)strlen(file),
                        .function_bytes = (uint16_t)strlen(function),
                        .minor = 11}};

    snprintf(text, sizeof(text), "%s%s", file, function);
    assert_true(fixture_append(spool, thread, &record));
    fixture_text(spool, thread, text, true);
}

bool fixture_append(struct fixture_spool *spool, uint32_t number, const union gv_record *record)
{
    struct fixture_thread *thread = &spool->threads[number - 1];
    enum gv_spool_room open_to;

    if (!thread->segment || thread->used == GV_SPOOL_SEGMENT_RECORDS) {
        if (thread->segment)
            gv_spool_writer_leave(&spool->writer, thread->segment);
        thread->used = 0;
        struct gv_spool_owner owner = {.thread = number,
                                       .first_record = thread->records,
                                       .tid = 1000 + number,
                                       .sequence = thread->sequence++};
        snprintf(owner.comm, sizeof(owner.comm), "worker %u", number);
        thread->segment = gv_spool_writer_take(&spool->writer, GV_ROOM_CODE, &open_to, &owner);
        if (!thread->segment)
            return false;
    }
    thread->segment->records[thread->used++] = *record;
    thread->records++;
    atomic_store_explicit(&thread->segment->published, thread->used, memory_order_release);
    return true;
}

bool fixture_call(struct fixture_spool *spool, uint32_t thread, enum fixture_api api,
                  uint64_t start_ns, uint64_t duration_ns, int32_t result)
{
    union gv_record record = {
        .call = {.start_ns = FIXTURE_EPOCH_NS + start_ns, .duration_ns = duration_ns}};

    record.head.kind = GV_RECORD_CALL;
    record.head.api = (uint16_t)api;
    record.head.result = result;
    return fixture_append(spool, thread, &record);
}

bool fixture_launch(struct fixture_spool *spool, uint32_t thread, enum fixture_api api,
                    uint64_t start_ns, uint32_t kernel, uint64_t context, uint64_t stream)
{
    union gv_record record = {.call = {.start_ns = FIXTURE_EPOCH_NS + start_ns,
                                       .duration_ns = 3000 + start_ns % 997,
                                       .stream = stream,
                                       .context = context,
                                       .kernel = kernel}};

    record.head.kind = GV_RECORD_CALL;
    record.head.api = (uint16_t)api;
    record.head.flags = GV_RECORD_HAS_STREAM | (context ? GV_RECORD_HAS_CONTEXT : 0);
    return fixture_append(spool, thread, &record);
}

void fixture_text(struct fixture_spool *spool, uint32_t thread, const char *text, bool more)
{
    size_t left = strlen(text);

    while (left > 0) {
        union gv_record record = {.head = {.kind = GV_RECORD_TEXT}};
        size_t piece = left < GV_RECORD_TEXT_BYTES ? left : GV_RECORD_TEXT_BYTES;

        memcpy(record.text.text, text, piece);
        record.head.api = (uint16_t)piece;
        record.head.flags = more || left > piece ? GV_RECORD_MORE : 0;
        assert_true(fixture_append(spool, thread, &record));
        text += piece;
        left -= piece;
    }
}

void fixture_name(struct fixture_spool *spool, uint32_t thread, uint32_t kernel, uint32_t module,
                  const char *text, bool more)
{
    union gv_record record = {.name = {.at_ns = FIXTURE_EPOCH_NS + 1,
                                       .handle = 0x1000 + kernel,
                                       .kernel = kernel,
                                       .module = module,
                                       .text_bytes = (uint32_t)strlen(text)}};

    record.head.kind = GV_RECORD_NAME;
    record.head.flags = GV_RECORD_MORE;
    assert_true(fixture_append(spool, thread, &record));
    fixture_text(spool, thread, text, more);
}

void fixture_thread_end(struct fixture_spool *spool, uint32_t number)
{
    struct fixture_thread *thread = &spool->threads[number - 1];

    if (thread->segment)
        gv_spool_writer_leave(&spool->writer, thread->segment);
    thread->segment = NULL;
}

static sqlite3_stmt *fixture_query(const char *trace, const char *sql, sqlite3 **database)
{
    sqlite3_stmt *rows = NULL;

    assert_int_equal(sqlite3_open_v2(trace, database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    /* The collector may still be writing how the process ended. */
    sqlite3_busy_timeout(*database, 5000);
    if (sqlite3_prepare_v2(*database, sql, -1, &rows, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(*database));
    if (sqlite3_step(rows) != SQLITE_ROW)
        fail_msg("%s gives no row (%s)", sql, sqlite3_errmsg(*database));
    return rows;
}

int64_t fixture_number(const char *trace, const char *sql)
{
    sqlite3 *database;
    sqlite3_stmt *rows = fixture_query(trace, sql, &database);
    int64_t number = sqlite3_column_int64(rows, 0);

    sqlite3_finalize(rows);
    sqlite3_close(database);
    return number;
}

void fixture_expect_text(const char *trace, const char *sql, const char *expected)
{
    sqlite3 *database;
    sqlite3_stmt *rows = fixture_query(trace, sql, &database);
    const char *text = (const char *)sqlite3_column_text(rows, 0);

    if (!text || strcmp(text, expected) != 0)
        fail_msg("%s gives '%s', not '%s'", sql, text ? text : "NULL", expected);
    sqlite3_finalize(rows);
    sqlite3_close(database);
}
