#include "cupti/output.h"

#include "trace/futex.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_MS 500 /* how long to wait for the collector to free segments */

static struct gv_spool_writer *spool;
static struct gv_spool_segment *segment;
static uint32_t used; /* records in the segment */
static uint32_t sequence;
static uint64_t closed_records;
static _Atomic bool hurried;
static bool gave_up; /* the collector freed none the last time */

void gv_output_start(struct gv_spool_writer *writer)
{
    spool = writer;
}

void gv_output_count_lost(void)
{
    struct gv_spool_header *header = spool->header;

    if (header) /* a forked child has none */
        atomic_fetch_add_explicit(&header->gpu.lost, 1, memory_order_relaxed);
}

void gv_output_count_cost(enum gv_own_cost what, uint64_t duration_ns)
{
    struct gv_spool_header *header = spool->header;

    /* A forked child has none, and may be called back once more. */
    if (header)
        gv_own_cost_add(header->own_cost, what, duration_ns);
}

void gv_output_hurry(void)
{
    atomic_store(&hurried, true);
}

static void wait_for_room(void)
{
    uint32_t enough = atomic_load_explicit(&spool->header->limit, memory_order_relaxed) / 2;

    for (int i = 0; i < PATIENCE_MS && gv_spool_writer_left(spool) <= enough && !gave_up; i++) {
        if (atomic_load(&hurried))
            return;
        gv_pause_ns(1000000);
    }
    gave_up = gv_spool_writer_left(spool) <= enough;
}

static void leave_segment(void)
{
    if (!segment)
        return;
    closed_records += used;
    gv_spool_writer_leave(spool, segment);
    segment = NULL;
}

static bool take_segment(void)
{
    struct gv_spool_owner owner = {
        .thread = GV_SPOOL_GPU_THREAD, .tid = (uint32_t)syscall(SYS_gettid), .sequence = sequence};
    struct gv_spool_segment *taken;
    enum gv_spool_room open_to;

    wait_for_room();
    owner.first_record = closed_records + (segment ? used : 0);
    prctl(PR_GET_NAME, owner.comm);
    taken = gv_spool_writer_take(spool, GV_ROOM_GPU, &open_to, &owner);
    if (!taken)
        return false;
    leave_segment();
    segment = taken;
    used = 0;
    sequence++;
    return true;
}

bool gv_output_write(const union gv_record *record)
{
    if ((!segment || used == GV_SPOOL_SEGMENT_RECORDS) && !take_segment()) {
        gv_output_count_lost();
        return false;
    }
    segment->records[used++] = *record;
    atomic_store_explicit(&segment->published, used, memory_order_release);
    return true;
}

bool gv_output_text(const char *text, uint32_t bytes)
{
    union gv_record record;

    for (uint32_t at = 0; at < bytes; at += GV_RECORD_TEXT_BYTES) {
        gv_spool_text_piece(&record, text, at, bytes, false);
        if (!gv_output_write(&record))
            return false;
    }
    return true;
}
