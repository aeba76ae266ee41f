/*
 * Feeds damaged spools to the reader and the ingest. With libFuzzer (clang, -Dfuzz=true) it
 * searches by itself; otherwise tests/fuzz/fuzz_driver.c feeds it valid spools with random damage.
 *
 * The input overlays a spool with pairs of (offset, bytes), so that a few bytes reach every field.
 * Whatever the input, reading must end, stay inside the file, and leave a valid trace.
 */
#include "report/collect/drain.h"
#include "report/collect/recovery.h"
#include "trace/spool_reader.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_NAMES    4u
#define FUZZ_SLOTS    4u
#define FUZZ_SEGMENTS 4u
#define FUZZ_SESSION  "4194999-1-12345678"
#define FUZZ_SPOOL    FUZZ_SESSION ".4194999.0000000000000001.spool"
/* The most interesting bytes are at the start of the header; texts follow. */
#define FUZZ_CHUNK 10u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_lay_out(struct gv_spool_header *header)
{
    memcpy(header->magic, GV_SPOOL_MAGIC, sizeof(GV_SPOOL_MAGIC));
    header->version = GV_SPOOL_VERSION;
    header->header_bytes = sizeof(*header);
    strcpy(header->session, FUZZ_SESSION);
    header->identity = 1;
    header->pid = 4194999; /* above what the Linux kernel uses: gone */
    header->process_start_ticks = 1;
    header->names_offset = (sizeof(*header) + 63) & ~63u;
    header->names_count = FUZZ_NAMES;
    header->names_bytes = FUZZ_NAMES * (uint32_t)sizeof(struct gv_spool_name);
    header->slots_offset = (header->names_offset + header->names_bytes + 63) & ~63u;
    header->slots_count = FUZZ_SLOTS;
    header->segments_offset = header->slots_offset + FUZZ_SLOTS * sizeof(struct gv_spool_slot);
    header->segment_limit = FUZZ_SEGMENTS;
    header->segments_allocated = FUZZ_SEGMENTS;
    header->free.head = GV_SPOOL_NO_SEGMENT;
}

/* Two threads, each with a full segment and an open one, and every kind of record. */
static void fuzz_fill(unsigned char *base, const struct gv_spool_header *header)
{
    struct gv_spool_segment *segments = (void *)(base + header->segments_offset);

    for (uint32_t i = 0; i < FUZZ_SEGMENTS; i++) {
        struct gv_spool_segment *segment = &segments[i];
        segment->thread = 1 + i / 2;
        segment->sequence = i % 2;
        segment->first_record = i % 2 ? GV_SPOOL_SEGMENT_RECORDS : 0;
        segment->state = i % 2 ? GV_SEGMENT_OPEN : GV_SEGMENT_CLOSED;
        segment->published = i % 2 ? 20 : GV_SPOOL_SEGMENT_RECORDS;
        for (uint32_t j = 0; j < GV_SPOOL_SEGMENT_RECORDS; j++) {
            union gv_record *record = &segment->records[j];
            /* The first thread has calls and what belongs to them, the second one all the rest. */
            record->head.kind = (uint8_t)(1 + j % (i < 2 ? 5 : GV_RECORD_RANGE_END));
            record->head.flags = j % 5 == 4 ? 0 : GV_RECORD_MORE;
            record->head.api = (uint16_t)(j % FUZZ_NAMES);
            record->call.kernel = j;
        }
    }
}

static size_t fuzz_file_bytes(const struct gv_spool_header *header)
{
    return header->segments_offset + FUZZ_SEGMENTS * (size_t)GV_SPOOL_SEGMENT_BYTES;
}

/* Each chunk: an offset (3 bytes) and 7 bytes to put there. A remainder cuts the file. */
static void fuzz_damage(unsigned char *base, size_t bytes, const uint8_t *data, size_t size)
{
    for (; size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        size_t where = (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
        size_t length = FUZZ_CHUNK - 3;
        where %= bytes;
        if (where + length > bytes)
            length = bytes - where;
        memcpy(base + where, data + 3, length);
    }
}

static void fuzz_write_spool(const char *path, const uint8_t *data, size_t size)
{
    struct gv_spool_header *header =
        calloc(1, sizeof(*header) + FUZZ_SEGMENTS * GV_SPOOL_SEGMENT_BYTES * 2);
    if (!header)
        abort();
    fuzz_lay_out(header);
    size_t bytes = fuzz_file_bytes(header);
    fuzz_fill((unsigned char *)header, header);
    fuzz_damage((unsigned char *)header, bytes, data, size);
    if (size % FUZZ_CHUNK == 1)
        bytes = bytes * data[size - 1] / 255;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, header, bytes) != (ssize_t)bytes)
        abort();
    close(fd);
    free(header);
}

static void fuzz_check_trace(const char *trace)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *rows = NULL;

    if (access(trace, F_OK) < 0)
        return;
    if (sqlite3_open(trace, &database) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &rows, NULL) != SQLITE_OK ||
        sqlite3_step(rows) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(rows, 0), "ok") != 0)
        abort();
    sqlite3_finalize(rows);
    sqlite3_close(database);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char directory[64], spool[256], trace[128];
    static struct gv_recovery recovery;

    if (!directory[0]) {
        strcpy(directory, "/dev/shm/gpuverify-fuzz-XXXXXX");
        if (!mkdtemp(directory)) {
            strcpy(directory, "/tmp/gpuverify-fuzz-XXXXXX");
            if (!mkdtemp(directory))
                abort();
        }
        snprintf(spool, sizeof(spool), "%s/%s", directory, FUZZ_SPOOL);
        snprintf(trace, sizeof(trace), "%s/trace.db", directory);
    }
    fuzz_write_spool(spool, data, size);
    int error = gv_recovery_run(directory, FUZZ_SESSION, trace, &recovery);
    if (error == 0)
        fuzz_check_trace(trace);
    unlink(spool);
    unlink(trace);
    rmdir(directory);
    directory[0] = '\0';
    return 0;
}
