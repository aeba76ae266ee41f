#include "report/memory_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 56 MB of events. */
#define GV_MEMORY_EVENTS (1u << 20)
#define GV_MEMORY_BYTES  (INT64_C(1) << 42)

int gv_memory_log_add(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    if (log->too_many)
        return 0;
    if (log->event_count == GV_MEMORY_EVENTS) {
        log->too_many = true;
        log->event_count = 0;
        return 0;
    }
    if (log->event_count == log->event_room) {
        size_t room = log->event_room ? 2 * log->event_room : 256;
        struct gv_memory_event *events = realloc(log->events, room * sizeof(*events));
        if (!events)
            return -ENOMEM;
        log->events = events;
        log->event_room = room;
    }
    log->events[log->event_count++] = *event;
    return 0;
}

static int gv_memory_compare(const void *left, const void *right)
{
    const struct gv_memory_event *one = left, *other = right;

    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    return one->call < other->call ? -1 : one->call > other->call;
}

/* The block of an address; NULL: *error is 0 (there is none), or -ENOMEM. */
static struct gv_memory_block *gv_memory_block(struct gv_memory_log *log,
                                               const struct gv_memory_event *event, int *error)
{
    struct gv_key key = {{(uint64_t)event->process, (uint64_t)event->object, 0}};
    int64_t number = gv_key_map_find(&log->places, &key);

    *error = 0;
    if (number > 0)
        return &log->blocks[number - 1];
    if (event->space == GV_MEMORY_FREE)
        return NULL;
    if (log->block_count == log->block_room) {
        size_t room = log->block_room ? 2 * log->block_room : 256;
        struct gv_memory_block *blocks = realloc(log->blocks, room * sizeof(*blocks));
        if (!blocks) {
            *error = -ENOMEM;
            return NULL;
        }
        log->blocks = blocks;
        log->block_room = room;
    }
    *error = gv_key_map_add(&log->places, &key, (int64_t)log->block_count + 1);
    if (*error)
        return NULL;
    log->blocks[log->block_count] = (struct gv_memory_block){0};
    return &log->blocks[log->block_count++];
}

static int gv_memory_take(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int error;
    struct gv_memory_block *block = gv_memory_block(log, event, &error);

    if (!block)
        return error;
    if (block->bytes > 0 && block->space != GV_MEMORY_HOST)
        log->live_bytes -= block->bytes;
    block->bytes = 0;
    if (event->space == GV_MEMORY_FREE || event->bytes <= 0)
        return 0;
    block->bytes = event->bytes < GV_MEMORY_BYTES ? event->bytes : GV_MEMORY_BYTES;
    block->call = event->call;
    block->space = event->space;
    if (event->space != GV_MEMORY_HOST)
        log->live_bytes += block->bytes;
    if (log->live_bytes > log->peak_bytes) {
        log->peak_bytes = log->live_bytes;
        log->peak_ns = event->at_ns;
    }
    return 0;
}

int gv_memory_log_replay(struct gv_memory_log *log)
{
    int error = 0;

    if (log->event_count > 0)
        qsort(log->events, log->event_count, sizeof(*log->events), gv_memory_compare);
    for (size_t i = 0; i < log->event_count && !error; i++)
        error = gv_memory_take(log, &log->events[i]);
    return error;
}

void gv_memory_log_free(struct gv_memory_log *log)
{
    free(log->events);
    free(log->blocks);
    gv_key_map_free(&log->places);
    memset(log, 0, sizeof(*log));
}
