/*
 * A process that records, for the tests of what writes records: what thread.c asks of the rest of
 * the library, with a small spool of its own, and what stands in that.
 */
#ifndef GV_TESTS_PRELOAD_RECORDING_H
#define GV_TESTS_PRELOAD_RECORDING_H

#include "preload/base/log.h"
#include "preload/base/thread.h"
#include "trace/spool_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct gv_process gv_process;
struct gv_process_own gv_process_own;
static char folder[] = "/tmp/gpuverify-test-XXXXXX";

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    (void)level;
    (void)format;
}

/* A spool of 1 MB, and a process that records into it. */
static void open_spool(const char *name, uint64_t token)
{
    static const struct gv_spool_name names[1] = {{0, "launch", "cuLaunchKernel"}};
    char path[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(gv_spool_writer_create(&gv_process.spool, path, 1, 7, names, 1), 0);
    assert_int_equal(gv_thread_prepare(), 0);
    atomic_store(&gv_process_own.changes, &gv_process.spool.header->control.changes);
    atomic_store(&gv_process_own.token, token);
    atomic_store(&gv_process_own.open, token);
}

static int open_recording(void **state)
{
    (void)state;
    strcpy(folder + sizeof folder - sizeof "XXXXXX", "XXXXXX");
    assert_non_null(mkdtemp(folder));
    open_spool("spool", 1);
    memset(&gv_thread, 0, sizeof gv_thread);
    return 0;
}

static int close_recording(void **state)
{
    (void)state;
    gv_spool_writer_close(&gv_process.spool, true);
    rmdir(folder);
    return 0;
}

/* The segment of a thread with this sequence number, or NULL. */
__attribute__((unused)) static struct gv_spool_segment *segment_of(uint64_t thread,
                                                                   uint32_t sequence)
{
    for (uint32_t i = 0; i < atomic_load(&gv_process.spool.fresh); i++) {
        struct gv_spool_segment *segment = &gv_process.spool.segments[i];

        if (atomic_load(&segment->state) != GV_SEGMENT_FREE && segment->thread == thread &&
            segment->sequence == sequence)
            return segment;
    }
    return NULL;
}

#endif
