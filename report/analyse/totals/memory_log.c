#include "report/analyse/totals/memory_log.h"

#include "report/store/array.h"

#include <stdlib.h>
#include <string.h>

#define GV_MEMORY_BYTES (INT64_C(1) << 42)

enum gv_memory_place { GV_MEMORY_BLOCK, GV_MEMORY_CONTEXT, GV_MEMORY_PROCESS };

/* The number of a key; `next` if it is new. */
static int memory_find(struct gv_memory_log *log, const struct gv_key *key, size_t next,
                       size_t *number)
{
    int64_t found = gv_key_map_find(&log->places, key);

    *number = found > 0 ? (size_t)found - 1 : next;
    return found > 0 ? 0 : gv_key_map_add(&log->places, key, (int64_t)next + 1);
}

static int memory_process(struct gv_memory_log *log, int64_t id, size_t *number)
{
    struct gv_key key = {{(uint64_t)id, 0, GV_MEMORY_PROCESS}};
    int error = memory_find(log, &key, log->process_count, number);

    if (error || *number < log->process_count)
        return error;
    error = gv_array_room(&log->processes, log->process_count, &log->process_room,
                          sizeof(*log->processes));
    if (!error)
        log->processes[log->process_count++] = (struct gv_memory_process){0};
    return error;
}

static int memory_context(struct gv_memory_log *log, int64_t process, int64_t handle,
                          size_t *number)
{
    struct gv_key key = {{(uint64_t)process, (uint64_t)handle, GV_MEMORY_CONTEXT}};
    size_t owner;
    int error = memory_process(log, process, &owner);

    if (!error)
        error = memory_find(log, &key, log->context_count, number);
    if (error || *number < log->context_count)
        return error;
    error = gv_array_room(&log->contexts, log->context_count, &log->context_room,
                          sizeof(*log->contexts));
    if (!error)
        log->contexts[log->context_count++] = (struct gv_memory_context){.process = owner};
    return error;
}

static struct gv_key memory_block_key(const struct gv_memory_event *event)
{
    return (struct gv_key){{(uint64_t)event->process, (uint64_t)event->object, GV_MEMORY_BLOCK}};
}

/* Makes a block for the event's address. */
static int memory_block(struct gv_memory_log *log, const struct gv_memory_event *event,
                        size_t *number)
{
    struct gv_key key = memory_block_key(event);

    if (log->free_block) {
        *number = log->free_block - 1;
        log->free_block = log->blocks[*number].context;
    } else {
        int error =
            gv_array_room(&log->blocks, log->block_count, &log->block_room, sizeof(*log->blocks));
        if (error)
            return error;
        *number = log->block_count++;
    }
    log->blocks[*number] = (struct gv_memory_block){0};
    return gv_key_map_add(&log->places, &key, (int64_t)*number + 1);
}

int64_t gv_memory_log_left(const struct gv_memory_log *log, const struct gv_memory_block *block)
{
    return block->bytes && block->life == log->contexts[block->context].life ? block->bytes : 0;
}

/* Counts a block that appears or disappears. */
static void memory_count(struct gv_memory_log *log, const struct gv_memory_block *block,
                         int64_t bytes)
{
    struct gv_memory_context *context = &log->contexts[block->context];
    struct gv_memory_process *process = &log->processes[context->process];

    if (block->space == GV_MEMORY_HOST)
        return;
    context->live_bytes += bytes;
    process->live_bytes += bytes;
    if (!process->ended)
        log->live_bytes += bytes;
}

static void memory_free_block(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    struct gv_key key = memory_block_key(event);
    int64_t number = gv_key_map_find(&log->places, &key);

    if (number <= 0)
        return;
    struct gv_memory_block *block = &log->blocks[number - 1];
    memory_count(log, block, -gv_memory_log_left(log, block));
    gv_key_map_remove(&log->places, &key);
    block->bytes = 0;
    block->context = log->free_block;
    log->free_block = (size_t)number;
}

static int memory_fill_block(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number, place;
    int error = memory_context(log, event->process, event->context, &place);

    memory_free_block(log, event); /* its free was not seen */
    if (error || event->bytes <= 0)
        return error;
    if (!log->free_block && log->block_count == GV_MEMORY_BLOCKS) {
        log->too_many = true;
        log->block_count = 0;
        log->peak_bytes = log->peak_ns = 0;
        return 0;
    }
    error = memory_block(log, event, &number);
    if (error)
        return error;
    struct gv_memory_context *context = &log->contexts[place];
    if (event->context && !context->made && !context->seen) {
        context->seen = true;
        log->processes[context->process].primaries++;
        log->processes[context->process].context = place;
    }
    log->blocks[number] = (struct gv_memory_block){
        .bytes = event->bytes < GV_MEMORY_BYTES ? event->bytes : GV_MEMORY_BYTES,
        .call = event->call,
        .space = event->space,
        .context = place,
        .life = context->life,
    };
    memory_count(log, &log->blocks[number], log->blocks[number].bytes);
    if (log->live_bytes > log->peak_bytes) {
        log->peak_bytes = log->live_bytes;
        log->peak_ns = event->at_ns;
    }
    return 0;
}

static void memory_end_context(struct gv_memory_log *log, size_t number, bool made)
{
    struct gv_memory_context *context = &log->contexts[number];
    struct gv_memory_process *process = &log->processes[context->process];

    process->live_bytes -= context->live_bytes;
    if (!process->ended)
        log->live_bytes -= context->live_bytes;
    context->live_bytes = 0;
    context->life++;
    context->made = made;
}

/* The call names a device. If its primary context is unknown, assume the one where the thread
 * worked, or the process's only one. */
static int memory_reset(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number, owner;
    int error = memory_context(log, event->process, event->context, &number);

    if (!error)
        error = memory_process(log, event->process, &owner);
    if (error)
        return error;
    if (event->context == 0 || log->contexts[number].made) {
        if (log->processes[owner].primaries != 1)
            return 0;
        number = log->processes[owner].context;
    }
    memory_end_context(log, number, false);
    return 0;
}

static int memory_end_process(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number;
    int error = memory_process(log, event->process, &number);

    if (error || log->processes[number].ended)
        return error;
    log->live_bytes -= log->processes[number].live_bytes;
    log->processes[number].ended = true;
    return 0;
}

int gv_memory_log_take(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number;
    int error;

    if (log->too_many)
        return 0;
    switch (event->space) {
    case GV_MEMORY_DEVICE:
    case GV_MEMORY_HOST:
    case GV_MEMORY_MANAGED:
        return memory_fill_block(log, event);
    case GV_MEMORY_FREE:
        memory_free_block(log, event);
        return 0;
    case GV_MEMORY_CONTEXT_MADE:
    case GV_MEMORY_CONTEXT_ENDED:
        error = memory_context(log, event->process, event->object, &number);
        if (!error)
            memory_end_context(log, number, event->space == GV_MEMORY_CONTEXT_MADE);
        return error;
    case GV_MEMORY_DEVICE_RESET:
        return memory_reset(log, event);
    case GV_MEMORY_PROCESS_ENDED:
        return memory_end_process(log, event);
    default: /* of an untrusted trace */
        return 0;
    }
}

void gv_memory_log_end(struct gv_memory_log *log)
{
    for (size_t i = 0; i < log->block_count; i++)
        if (log->blocks[i].space != GV_MEMORY_HOST)
            log->left_bytes += gv_memory_log_left(log, &log->blocks[i]);
}

void gv_memory_log_free(struct gv_memory_log *log)
{
    free(log->blocks);
    free(log->contexts);
    free(log->processes);
    gv_key_map_free(&log->places);
    memset(log, 0, sizeof(*log));
}
