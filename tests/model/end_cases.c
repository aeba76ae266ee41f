/* Cases of a process's end: it waits until the collector has everything that it recorded. */
#include "tests/model/end_cases.h"

#include "preload/bind/libc_calls.h"
#include "preload/idle/watch.h"
#include "preload/process/attach.h"
#include "preload/process/gpu_start.h"
#include "preload/process/run_note.h"
#include "preload/process/warnings.h"
#include "tests/model/spool_fixture.h"
#include "trace/session.h"
#include "trace/session_id.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define EXIT_CODE 3

static struct gv_session_file session;

/* What the trace has: everything of the process must be in it before it stops waiting. */
static struct {
    _Atomic uint64_t records;
} trace;

/* ---- stands in for other parts that preload/process/exit.c needs ---- */

bool gv_process_is_attached_here(void)
{
    return model_running() >= 0;
}

bool gv_process_is_ours(void)
{
    return false;
}

bool gv_gpu_fetch(int64_t patience_ms)
{
    (void)patience_ms;
    return true;
}

void gv_gpu_finish(int64_t patience_ms)
{
    (void)patience_ms;
}

void gv_gpu_go_on(void)
{
}

void gv_idle_pause(void)
{
}

void gv_idle_go_on(void)
{
}

void gv_warn_of_collector(const struct gv_process *process)
{
    (void)process;
    model_claim(false, "the collector is of no use");
}

/* The collector lives. */
bool gv_session_has_ended(uint32_t pid)
{
    (void)pid;
    return false;
}

void gv_warn_of_trace(const struct gv_process *process)
{
    (void)process;
}

void *gv_libc_call(enum gv_libc_call which)
{
    (void)which;
    return NULL;
}

/* ---- the end ---- */

static bool name_in_trace(size_t offset, char name[MODEL_NAME_BYTES])
{
    snprintf(name, MODEL_NAME_BYTES, "trace %zu", offset);
    return true;
}

static void prepare(uint32_t segments, uint64_t records)
{
    fixture_open(1, segments, 0);
    fixture_join(0, records);
    fixture.position[0] = records;
    session.collector_pid = (uint32_t)getpid();
    gv_process.session = &session;
    gv_process.pid = (uint32_t)getpid();
    gv_process.settings.exit_wait_ms = 1000;
    trace.records = records;
    model_share(&trace, sizeof trace, name_in_trace);
}

static void prepare_end(void)
{
    prepare(2, GV_SPOOL_SEGMENT_RECORDS - 1);
}

static void prepare_twice(void)
{
    prepare(1, 1);
}

static void must_be_stored(void)
{
    uint64_t records = atomic_load_explicit(&trace.records, memory_order_relaxed);

    model_claim(records == fixture_written(0), "the process ends before its records are stored");
}

static void end_once(void)
{
    model_claim(gv_process_expect_death(SIGTERM), "the process does not end");
    must_be_stored();
}

static void write_and_exit(void)
{
    fixture.exited = must_be_stored;
    fixture_write(0);
    _exit(EXIT_CODE);
}

static void write_and_end(void)
{
    fixture_write(0);
    fixture_write(0);
    end_once();
}

/* It survives the first signal. */
static void end_twice(void)
{
    end_once();
    gv_process_outlived();
    fixture_write(0);
    end_once();
}

/* One pass over the spool, as gv_drain_spool() does it. Returns the end that the process was
 * told; 0: none. */
static uint32_t drain(void)
{
    struct gv_spool_status status;

    gv_spool_reader_status(&fixture.reader, &status);
    fixture_read(false);
    model_claim(!status.exit_code_known || status.exit_code == EXIT_CODE, "another exit code");
    if (!status.exiting)
        return 0;
    model_claim(status.dying ? status.exit_signal == SIGTERM : status.exit_code_known,
                "a process that ends without a reason");
    atomic_store_explicit(&trace.records, fixture.position[0], memory_order_relaxed);
    gv_spool_reader_set_drained(&fixture.reader, &status);
    return status.ends;
}

static void drain_until_end(void)
{
    while (!drain())
        model_wait_for(&fixture.header->state);
}

static void drain_until_second_end(void)
{
    drain_until_end();
    while (drain() < 2)
        model_wait_for(&fixture.header->state);
}

const struct model_case end_cases_end = {
    .name = "end",
    .prepare = prepare_end,
    .threads = {{"process", write_and_end}, {"collector", drain_until_end}}};

const struct model_case end_cases_exit = {
    .name = "exit",
    .prepare = prepare_end,
    .threads = {{"process", write_and_exit}, {"collector", drain_until_end}}};

const struct model_case end_cases_twice = {
    .name = "end outlived",
    .prepare = prepare_twice,
    .threads = {{"process", end_twice}, {"collector", drain_until_second_end}}};
