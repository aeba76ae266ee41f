/* The program's own ranges. */
#include "report/collect/ingest_state.h"

#include "report/collect_ingest_ranges.inc"
#include "report/store/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranges that are open at the same time, and ends that wait for their begin. With more, the older
 * half stays without an end: some programs never end any, and each new range looks through them. */
#define GV_RANGES_MOST 4096u

/* ---- texts ---- */

/* A range may come before its text, which another thread wrote. */
static int find_text(struct gv_ingest *ingest, uint32_t number, int64_t *row)
{
    *row = 0;
    return number ? GV_INTERN(ingest, ranges.texts, (struct gv_key){{number}}, row, range_text,
                              .process = ingest->process, .number = number)
                  : 0;
}

int gv_ingest_range_text(struct gv_ingest *ingest, uint32_t number, const char *text)
{
    int64_t row;
    int error = find_text(ingest, number, &row);

    return error || !row
               ? error
               : gv_database_run(ingest->database, GV_STATEMENT_RANGE_TEXT_SET, "it", row, text);
}

/* A text without a number. */
static int add_text(struct gv_ingest *ingest, const char *text, int64_t *row)
{
    int error = GV_ADD(ingest->database, range_text, .process = ingest->process, .text = text);

    *row = gv_database_last_id(ingest->database);
    return error;
}

/* ---- which end is whose ---- */

static int open_range(struct gv_ingest_ranges *ranges, const struct gv_open_range *range)
{
    const size_t half = GV_RANGES_MOST / 2;
    int error;

    if (ranges->open_count == GV_RANGES_MOST) {
        memmove(ranges->open, ranges->open + half, half * sizeof(*ranges->open));
        ranges->open_count = half;
    }
    error =
        gv_array_room(&ranges->open, ranges->open_count, &ranges->open_room, sizeof(*ranges->open));
    if (!error)
        ranges->open[ranges->open_count++] = *range;
    return error;
}

static int note_end(struct gv_ingest_ranges *ranges, uint64_t id, int64_t at_ns)
{
    const size_t half = GV_RANGES_MOST / 2;
    int error;

    if (ranges->ends_count == GV_RANGES_MOST) {
        memmove(ranges->ends, ranges->ends + half, half * sizeof(*ranges->ends));
        ranges->ends_count = half;
    }
    error =
        gv_array_room(&ranges->ends, ranges->ends_count, &ranges->ends_room, sizeof(*ranges->ends));
    if (!error)
        ranges->ends[ranges->ends_count++] = (struct gv_early_end){.id = id, .at_ns = at_ns};
    return error;
}

static void end_range(struct gv_ingest_ranges *ranges, const struct gv_open_range *range)
{
    size_t at = (size_t)(range - ranges->open);

    memmove(&ranges->open[at], &ranges->open[at + 1],
            (ranges->open_count - at - 1) * sizeof(*ranges->open));
    ranges->open_count--;
}

/* The innermost push of a thread, in any domain if `domain` is NULL. */
static const struct gv_open_range *innermost(const struct gv_ingest_ranges *ranges, int64_t thread,
                                             const int64_t *domain)
{
    for (size_t i = ranges->open_count; i-- > 0;) {
        const struct gv_open_range *range = &ranges->open[i];
        if (!range->is_start && range->thread == thread && (!domain || range->domain == *domain))
            return range;
    }
    return NULL;
}

static const struct gv_open_range *started(const struct gv_ingest_ranges *ranges, uint64_t id,
                                           int64_t until_ns)
{
    for (size_t i = ranges->open_count; i-- > 0;)
        if (ranges->open[i].is_start && ranges->open[i].id == id &&
            ranges->open[i].start_ns <= until_ns)
            return &ranges->open[i];
    return NULL;
}

/* The first end of this id after `since_ns`, which is then taken; -1: none has come yet. */
static int64_t take_end(struct gv_ingest_ranges *ranges, uint64_t id, int64_t since_ns)
{
    size_t best = ranges->ends_count;
    int64_t at_ns;

    for (size_t i = 0; i < ranges->ends_count; i++)
        if (ranges->ends[i].id == id && ranges->ends[i].at_ns >= since_ns &&
            (best == ranges->ends_count || ranges->ends[i].at_ns < ranges->ends[best].at_ns))
            best = i;
    if (best == ranges->ends_count)
        return -1;
    at_ns = ranges->ends[best].at_ns;
    ranges->ends[best] = ranges->ends[--ranges->ends_count];
    return at_ns;
}

static void find_range(struct gv_ingest *ingest, struct gv_ingest_thread *thread)
{
    const struct gv_open_range *range = innermost(&ingest->ranges, thread->id, NULL);

    thread->range = range ? range->row : 0;
    ingest->ranges.pushed |= thread->range != 0;
}

/* These pops were lost: when is not known. */
static void close_missed(struct gv_ingest_ranges *ranges, int64_t thread, uint32_t missed)
{
    const struct gv_open_range *range;

    while (missed-- > 0 && (range = innermost(ranges, thread, NULL)))
        end_range(ranges, range);
}

/* ---- records ---- */

/* The payload as a decimal number, or NULL. */
static const char *payload_of(const struct gv_record_range *range, char out[40])
{
    double real = NAN;
    float small;

    switch ((enum gv_range_payload)range->payload_type) {
    case GV_RANGE_PAYLOAD_UINT64:
        snprintf(out, 40, "%" PRIu64, range->payload);
        return out;
    case GV_RANGE_PAYLOAD_INT64:
        snprintf(out, 40, "%" PRId64, (int64_t)range->payload);
        return out;
    case GV_RANGE_PAYLOAD_UINT32:
        snprintf(out, 40, "%" PRIu32, (uint32_t)range->payload);
        return out;
    case GV_RANGE_PAYLOAD_INT32:
        snprintf(out, 40, "%" PRId32, (int32_t)range->payload);
        return out;
    case GV_RANGE_PAYLOAD_DOUBLE:
        memcpy(&real, &range->payload, sizeof(real));
        break;
    case GV_RANGE_PAYLOAD_FLOAT:
        memcpy(&small, &range->payload, sizeof(small));
        real = small;
        break;
    case GV_RANGE_PAYLOAD_NONE:
        break;
    }
    if (!isfinite(real))
        return NULL;
    snprintf(out, 40, "%.17g", real);
    return out;
}

static int insert(struct gv_ingest *ingest, const struct gv_record_range *range,
                  const struct gv_open_range *as, const struct gv_open_range *parent,
                  const int64_t *duration_ns, const char *text)
{
    enum gv_range_kind kind = (enum gv_range_kind)range->head.result;
    int64_t message, category_name, category = range->category, color = range->color;
    int64_t number = (int64_t)as->id;
    char payload[40];
    int error = find_text(ingest, range->text, &message);

    if (!error)
        error = find_text(ingest, range->category_name, &category_name);
    if (!error && !message && text)
        error = add_text(ingest, text, &message);
    if (error)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_RANGE_ADD, "iizzzzptipppz", as->thread,
                           (int64_t)kind, as->domain, message, category, category_name,
                           range->has_color ? &color : NULL, payload_of(range, payload),
                           as->start_ns, duration_ns, kind == GV_RANGE_START ? &number : NULL,
                           kind == GV_RANGE_PUSH ? &as->depth : NULL,
                           parent ? parent->row : (int64_t)0);
}

int gv_ingest_range(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const struct gv_record_range *range, const char *text)
{
    struct gv_ingest_ranges *ranges = &ingest->ranges;
    enum gv_range_kind kind = (enum gv_range_kind)range->head.result;
    struct gv_open_range opened = {.thread = thread->id,
                                   .start_ns = gv_ingest_time(ingest, range->start_ns)};
    const struct gv_open_range *parent = NULL;
    int64_t duration_ns = 0, end_ns = -1;
    int error = find_text(ingest, range->domain, &opened.domain);

    if (error || kind < GV_RANGE_PUSH || kind > GV_RANGE_MARK)
        return error;
    ingest->cost.ranged++;
    close_missed(ranges, thread->id, range->missed);
    if (kind == GV_RANGE_PUSH) {
        parent = innermost(ranges, thread->id, NULL);
        opened.depth = parent ? parent->depth + 1 : 0;
    } else if (kind == GV_RANGE_START) {
        opened.is_start = true;
        opened.id = range->id;
        end_ns = take_end(ranges, range->id, opened.start_ns);
        duration_ns = end_ns - opened.start_ns;
    }
    bool ended = kind == GV_RANGE_MARK || end_ns >= 0;
    error = insert(ingest, range, &opened, parent, ended ? &duration_ns : NULL, text);
    opened.row = gv_database_last_id(ingest->database);
    if (!error && !ended)
        error = open_range(ranges, &opened);
    find_range(ingest, thread);
    return error;
}

int gv_ingest_range_end(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                        const struct gv_record_range_end *end)
{
    struct gv_ingest_ranges *ranges = &ingest->ranges;
    int64_t at_ns = gv_ingest_time(ingest, end->at_ns), domain;
    const struct gv_open_range *range;
    int error = find_text(ingest, end->domain, &domain);

    if (error)
        return error;
    ingest->cost.ranged++;
    close_missed(ranges, thread->id, end->missed);
    if (end->head.result == GV_RANGE_START)
        range = started(ranges, end->id, at_ns);
    else
        range = innermost(ranges, thread->id, &domain);
    if (range) {
        error = gv_database_run(ingest->database, GV_STATEMENT_RANGE_END, "ii", range->row,
                                at_ns - range->start_ns);
        end_range(ranges, range);
    } else if (end->head.result == GV_RANGE_START) {
        error = note_end(ranges, end->id, at_ns);
    } /* a pop without a push ends nothing */
    find_range(ingest, thread);
    return error;
}

/* ---- the range of a call ---- */

void gv_ingest_range_thread(const struct gv_ingest *ingest, struct gv_ingest_thread *thread)
{
    const struct gv_open_range *range = innermost(&ingest->ranges, thread->id, NULL);

    thread->range = range ? range->row : 0;
    thread->stored_range =
        ingest->ranges.pushed && thread->position ? -1 : 0; /* a new one has no row */
}

int gv_ingest_range_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread, int64_t call)
{
    if (thread->range == thread->stored_range)
        return 0;
    thread->stored_range = thread->range;
    return GV_ADD(ingest->database, call_range, .thread = thread->id, .call = call,
                  .range = thread->range);
}

/* ---- a collector that comes later ---- */

static int resume(void *context, sqlite3_stmt *row)
{
    const struct gv_open_range range = {.row = sqlite3_column_int64(row, 0),
                                        .thread = sqlite3_column_int64(row, 1),
                                        .domain = sqlite3_column_int64(row, 2),
                                        .is_start = sqlite3_column_type(row, 3) != SQLITE_NULL,
                                        .id = (uint64_t)sqlite3_column_int64(row, 3),
                                        .start_ns = sqlite3_column_int64(row, 4),
                                        .depth = sqlite3_column_int64(row, 5)};

    return open_range(context, &range);
}

int gv_ingest_ranges_resume(struct gv_ingest *ingest)
{
    ingest->ranges.pushed = true; /* it may have been */
    return gv_database_each(ingest->database->handle, sql_open_ranges, &ingest->process, 1, resume,
                            &ingest->ranges);
}

void gv_ingest_ranges_close(struct gv_ingest *ingest)
{
    gv_known_free(&ingest->ranges.texts, ingest->database);
    free(ingest->ranges.open);
    free(ingest->ranges.ends);
}
