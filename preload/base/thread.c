#include "preload/base/thread.h"

#include "preload/base/log.h"
#include "preload/base/own_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct gv_thread gv_thread __attribute__((tls_model("initial-exec")));
_Thread_local struct gv_own_work gv_own_work __attribute__((tls_model("initial-exec")));

/* The thread's name is read at first, and again after this many segments: it may change, but
 * reading takes as long as ten calls. */
#define NAME_SEGMENTS 8

/* For threads without a slot: they are recorded, but their call in flight is invisible. */
static struct gv_spool_slot slot_for_the_rest;

static pthread_key_t leave_key;
static bool leave_key_made;

static void close_segment(struct gv_thread *thread)
{
    struct gv_spool_segment *segment = thread->segment;

    if (!segment)
        return;
    thread->records += (uint64_t)(thread->next - segment->records);
    thread->segment = NULL;
    thread->next = thread->end = NULL;
    gv_spool_writer_leave(&gv_process.spool, segment);
}

static void leave(void *data)
{
    struct gv_thread *thread = data;
    int saved_errno = gv_own_work_begin();

    gv_process_steps.leave_gpu_start(thread);
    if (gv_thread_is_live(thread)) {
        gv_thread_begin_group(thread);
        close_segment(thread);
        atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_relaxed);
        if (thread->slot != &slot_for_the_rest)
            atomic_store_explicit(&thread->slot->thread, 0, memory_order_release);
    }
    thread->token = 0; /* a later destructor that calls CUDA joins anew */
    gv_own_work_end(saved_errno);
}

int gv_thread_prepare(void)
{
    if (leave_key_made)
        return 0;
    if (pthread_key_create(&leave_key, leave))
        return -EAGAIN;
    leave_key_made = true;
    return 0;
}

static void describe(struct gv_thread *thread, struct gv_spool_owner *owner)
{
    owner->thread = thread->serial;
    owner->tid = thread->tid;
    owner->sequence = thread->sequence;
    owner->first_record = thread->records;
    if (thread->segment)
        owner->first_record += (uint64_t)(thread->next - thread->segment->records);
    if (thread->sequence < NAME_SEGMENTS / 2 || thread->sequence % NAME_SEGMENTS == 0)
        prctl(PR_GET_NAME, thread->comm);
    memcpy(owner->comm, thread->comm, sizeof owner->comm);
}

static void take_slot(struct gv_thread *thread)
{
    struct gv_spool_owner owner;

    describe(thread, &owner);
    thread->slot = gv_spool_writer_slot(&gv_process.spool, &owner);
    if (thread->slot)
        return;
    atomic_fetch_add_explicit(&gv_process.spool.header->lost.threads, 1, memory_order_relaxed);
    thread->slot = &slot_for_the_rest;
}

static void join(struct gv_thread *thread)
{
    uint32_t depth = thread->depth;

    memset(thread, 0, sizeof *thread);
    thread->depth = depth;
    thread->tid = (uint32_t)syscall(SYS_gettid);
    thread->serial = atomic_fetch_add(&gv_process.spool.header->threads_seen, 1) + 1;
    take_slot(thread);
    /* Without the key, the thread's last segment is closed when the process ends. */
    if (pthread_setspecific(leave_key, thread))
        gv_log_info("the ends of threads are not noticed");
    thread->token = gv_process_token_now();
    gv_process_steps.write_open_ranges(thread);
}

bool gv_thread_join(struct gv_thread *thread)
{
    sigset_t all, before;
    bool live;

    /* Another preloaded library may wrap what we call, and make a CUDA call there. */
    if (thread->joining)
        return false;
    int saved_errno = gv_own_work_begin();
    /* A handler that calls CUDA runs after this, and finds its thread ready. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    live = gv_thread_is_live(thread); /* a handler may have just done it */
    if (!live) {
        thread->joining = true;
        live = gv_process_steps.attach();
        thread->joining = false;
        if (live)
            join(thread);
    }
    gv_own_work_end(saved_errno);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return live;
}

bool gv_thread_next_segment(struct gv_thread *thread, enum gv_spool_room room)
{
    struct gv_spool_segment *segment;
    struct gv_spool_owner owner;
    enum gv_spool_room open_to;

    if (gv_spool_writer_is_full(&gv_process.spool, room))
        return false;
    int saved_errno = gv_own_work_begin();
    describe(thread, &owner);
    segment = gv_spool_writer_take(&gv_process.spool, room, &open_to, &owner);
    if (segment) {
        close_segment(thread);
        thread->segment = segment;
        thread->next = segment->records;
        thread->end = segment->records + GV_SPOOL_SEGMENT_RECORDS;
        thread->open_to = (uint8_t)open_to;
        thread->polls_end = NULL;
        thread->sequence++;
    }
    gv_own_work_end(saved_errno);
    return segment != NULL;
}

bool gv_thread_write_text(struct gv_thread *thread, const char *text, uint32_t bytes, bool more)
{
    union gv_record record;

    for (uint32_t at = 0; at < bytes; at += GV_RECORD_TEXT_BYTES) {
        gv_spool_text_piece(&record, text, at, bytes, more);
        if (!gv_thread_write(thread, GV_ROOM_CODE, &record))
            return false;
    }
    return true;
}
