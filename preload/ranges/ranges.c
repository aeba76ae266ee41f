#include "preload/ranges/ranges.h"

#include "preload/base/clock.h"
#include "preload/ranges/texts.h"

#include <stddef.h>
#include <string.h>

/* Ranges of start and end that are open before the process records, of all threads. */
#define EARLY_STARTS 32u

enum early { EARLY_FREE, EARLY_BUSY, EARLY_OPEN };

struct early_start {
    _Atomic uint32_t state; /* enum early */
    struct gv_record_range record;
};

static struct early_start early_starts[EARLY_STARTS];
static _Atomic uint64_t last_id;

/*
 * A push that cannot be written hides those inside it, so that their pops and its own are known:
 * while `hidden` is not 0, nothing of the thread's stack is written.
 */
struct thread_ranges {
    uint32_t early_count;
    uint32_t hidden; /* open pushes that were not written, the innermost ones */
    uint32_t missed; /* pops that could not be written since the last record */
    uint32_t lost;   /* not counted in the spool yet */
    struct gv_record_range early[GV_RANGES_EARLY];
};

static _Thread_local struct thread_ranges mine __attribute__((tls_model("initial-exec")));

/* Whether the thread writes to the spool of this process. */
static inline bool records(struct gv_thread *thread)
{
    return gv_thread_is_live(thread) || (gv_process_is_recording() && gv_thread_join(thread));
}

static void count_lost(uint32_t count)
{
    mine.lost += count;
    if (!gv_process_is_recording())
        return;
    atomic_fetch_add_explicit(&gv_process.spool.header->lost.ranges, mine.lost,
                              memory_order_relaxed);
    mine.lost = 0;
}

/* ---- writing ---- */

static inline bool write_in_group(struct gv_thread *thread, const struct gv_record_range *range,
                                  const char *text)
{
    const union gv_record record = {.range = *range};

    return gv_texts_tell(thread, range->domain) && gv_texts_tell(thread, range->text) &&
           gv_texts_tell(thread, range->category_name) &&
           gv_thread_write(thread, GV_ROOM_WORK, &record) &&
           (range->head.api == 0 || gv_texts_write(thread, text, range->head.api, false));
}

/* False: the thread is in the middle of other records, or there is no room. */
static bool write_range(struct gv_thread *thread, struct gv_record_range *range, const char *text)
{
    bool inside = gv_thread_begin_group(thread), written;

    range->missed = mine.missed;
    written = !inside && write_in_group(thread, range, text);
    gv_thread_end_group(thread, inside);
    if (written)
        mine.missed = 0;
    return written;
}

static bool write_end(struct gv_thread *thread, enum gv_range_kind kind, uint32_t domain,
                      uint64_t id)
{
    uint64_t at_ns = gv_clock_now_ns();
    bool inside = gv_thread_begin_group(thread);
    union gv_record *record = inside ? NULL : gv_thread_reserve(thread, GV_ROOM_WORK);

    if (record) {
        record->range_end = (struct gv_record_range_end){
            .head = {.kind = GV_RECORD_RANGE_END, .result = (int32_t)kind},
            .at_ns = at_ns,
            .id = id,
            .domain = domain,
            .missed = mine.missed};
        gv_thread_publish(thread);
        mine.missed = 0;
    }
    gv_thread_end_group(thread, inside);
    return record != NULL;
}

/* ---- before the process records ---- */

/* Their text must have a number: the program's may be gone when it is written. */
static void note_early_push(const struct gv_record_range *range)
{
    if (mine.hidden || mine.early_count == GV_RANGES_EARLY) {
        mine.hidden++;
        return;
    }
    mine.early[mine.early_count] = *range;
    mine.early[mine.early_count].head.api = 0;
    mine.early[mine.early_count].head.flags = 0;
    mine.early_count++;
}

/* The innermost one of the domain. */
static void forget_early_push(uint32_t domain)
{
    for (uint32_t i = mine.early_count; i-- > 0;)
        if (mine.early[i].domain == domain) {
            memmove(&mine.early[i], &mine.early[i + 1],
                    (mine.early_count - i - 1) * sizeof mine.early[0]);
            mine.early_count--;
            return;
        }
}

static bool claim(struct early_start *start, uint32_t from)
{
    return atomic_compare_exchange_strong(&start->state, &from, EARLY_BUSY);
}

static void note_early_start(const struct gv_record_range *range)
{
    for (uint32_t i = 0; i < EARLY_STARTS; i++) {
        struct early_start *start = &early_starts[i];

        if (!claim(start, EARLY_FREE))
            continue;
        start->record = *range;
        start->record.head.api = 0;
        start->record.head.flags = 0;
        atomic_store(&start->state, EARLY_OPEN);
        return;
    }
    mine.lost++;
}

static void forget_early_start(uint64_t id)
{
    for (uint32_t i = 0; i < EARLY_STARTS; i++) {
        struct early_start *start = &early_starts[i];

        if (atomic_load(&start->state) == EARLY_OPEN && start->record.id == id &&
            claim(start, EARLY_OPEN)) {
            atomic_store(&start->state, EARLY_FREE);
            return;
        }
    }
}

void gv_ranges_write_open(struct gv_thread *thread)
{
    uint32_t count = mine.early_count;

    mine.lost += mine.hidden; /* those that are still open */
    for (uint32_t i = 0; i < EARLY_STARTS; i++) {
        struct early_start *start = &early_starts[i];

        if (!claim(start, EARLY_OPEN))
            continue;
        if (!write_range(thread, &start->record, NULL))
            count_lost(1);
        atomic_store(&start->state, EARLY_FREE);
    }
    mine.early_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!write_range(thread, &mine.early[i], NULL)) {
            mine.hidden += count - i;
            count_lost(count - i);
            return;
        }
    if (mine.lost)
        count_lost(0);
}

void gv_ranges_start_over(void)
{
    memset(&mine, 0, sizeof mine);
    for (uint32_t i = 0; i < EARLY_STARTS; i++)
        atomic_store(&early_starts[i].state, EARLY_FREE);
}

/* ---- what the program says ---- */

uint64_t gv_ranges_new_id(void)
{
    return atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
}

static inline struct gv_record_range record_of(const struct gv_range *range,
                                               enum gv_range_kind kind)
{
    uint32_t bytes = range->registered ? 0 : gv_spool_text_bytes(range->text);
    uint32_t number = range->registered ? range->registered : gv_texts_number(range->text, bytes);
    uint32_t follow = number ? 0 : bytes;

    return (struct gv_record_range){.head = {.kind = GV_RECORD_RANGE,
                                             .flags = follow ? GV_RECORD_MORE : 0,
                                             .api = (uint16_t)follow,
                                             .result = (int32_t)kind},
                                    .start_ns = gv_clock_now_ns(),
                                    .payload = range->payload,
                                    .text = number,
                                    .domain = range->domain,
                                    .category = range->category,
                                    .category_name = range->category_name,
                                    .color = range->color,
                                    .payload_type = range->payload_type,
                                    .has_color = range->has_color};
}

void gv_ranges_mark(const struct gv_range *range)
{
    struct gv_thread *thread = &gv_thread;
    struct gv_record_range record;

    if (!records(thread))
        return;
    record = record_of(range, GV_RANGE_MARK);
    if (!write_range(thread, &record, range->text))
        count_lost(1);
}

void gv_ranges_push(const struct gv_range *range)
{
    struct gv_thread *thread = &gv_thread;
    struct gv_record_range record = record_of(range, GV_RANGE_PUSH);

    if (!records(thread)) {
        note_early_push(&record);
    } else if (mine.hidden || !write_range(thread, &record, range->text)) {
        mine.hidden++;
        count_lost(1);
    }
}

void gv_ranges_pop(uint32_t domain)
{
    struct gv_thread *thread = &gv_thread;

    if (mine.hidden) {
        mine.hidden--;
    } else if (!records(thread)) {
        forget_early_push(domain);
    } else if (!write_end(thread, GV_RANGE_PUSH, domain, 0)) {
        mine.missed++;
        count_lost(1);
    }
}

void gv_ranges_start(const struct gv_range *range, uint64_t id)
{
    struct gv_thread *thread = &gv_thread;
    struct gv_record_range record = record_of(range, GV_RANGE_START);

    record.id = id;
    if (!records(thread))
        note_early_start(&record);
    else if (!write_range(thread, &record, range->text))
        count_lost(1);
}

void gv_ranges_end(uint64_t id)
{
    struct gv_thread *thread = &gv_thread;

    if (!records(thread))
        forget_early_start(id);
    else if (!write_end(thread, GV_RANGE_START, 0, id))
        count_lost(1);
}
