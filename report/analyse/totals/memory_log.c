#include "report/analyse/totals/memory_log.h"

#include "report/store/time_sum.h"
#include "report/store/array.h"

#include <stdlib.h>
#include <string.h>

#define GV_MEMORY_BYTES (INT64_C(1) << 42)

enum gv_memory_place {
    GV_MEMORY_BLOCK,   /* process, address */
    GV_MEMORY_HANDLE,  /* process, handle */
    GV_MEMORY_MAPPING, /* process, address */
    GV_MEMORY_CONTEXT, /* process, handle */
    GV_MEMORY_PROCESS, /* process */
    GV_MEMORY_LINE,    /* place, call's name; space */
    GV_MEMORY_HOLDER,  /* line, process; device */
};

static struct gv_key memory_key(enum gv_memory_place kind, size_t detail, int64_t one,
                                int64_t other)
{
    return (struct gv_key){
        {(uint64_t)one, (uint64_t)other, (uint64_t)kind | (uint64_t)detail << 8}};
}

/* The number of a key; `next` if it is new. */
static int memory_find(struct gv_memory_log *log, const struct gv_key *key, size_t next,
                       size_t *number)
{
    int64_t found = gv_key_map_find(&log->places, key);

    *number = found > 0 ? (size_t)found - 1 : next;
    return found > 0 ? 0 : gv_key_map_add(&log->places, key, (int64_t)next + 1);
}

/* The number of a key, or -1. */
static int64_t memory_number(const struct gv_memory_log *log, const struct gv_key *key)
{
    return gv_key_map_find(&log->places, key) - 1;
}

static int memory_process(struct gv_memory_log *log, int64_t id, size_t *number)
{
    struct gv_key key = memory_key(GV_MEMORY_PROCESS, 0, id, 0);
    int error = gv_array_room(&log->processes, log->process_count, &log->process_room,
                              sizeof(*log->processes));

    if (!error)
        error = memory_find(log, &key, log->process_count, number);
    if (!error && *number == log->process_count)
        log->processes[log->process_count++] = (struct gv_memory_process){0};
    return error;
}

static int memory_context(struct gv_memory_log *log, int64_t process, int64_t handle,
                          size_t *number)
{
    struct gv_key key = memory_key(GV_MEMORY_CONTEXT, 0, process, handle);
    size_t owner;
    int error = memory_process(log, process, &owner);

    if (!error)
        error = gv_array_room(&log->contexts, log->context_count, &log->context_room,
                              sizeof(*log->contexts));
    if (!error)
        error = memory_find(log, &key, log->context_count, number);
    if (!error && *number == log->context_count)
        log->contexts[log->context_count++] = (struct gv_memory_context){.process = owner};
    return error;
}

static int memory_line(struct gv_memory_log *log, const struct gv_memory_event *event,
                       enum gv_memory_space space, size_t *number)
{
    struct gv_key key = memory_key(GV_MEMORY_LINE, space, event->place, event->api);
    int error = gv_array_room(&log->lines, log->line_count, &log->line_room, sizeof(*log->lines));

    if (!error)
        error = memory_find(log, &key, log->line_count, number);
    if (!error && *number == log->line_count)
        log->lines[log->line_count++] =
            (struct gv_memory_line){.place = event->place, .api = event->api, .space = space};
    return error;
}

static int memory_holder(struct gv_memory_log *log, const struct gv_memory_event *event,
                         enum gv_memory_space space, size_t *number)
{
    size_t device = space == GV_MEMORY_HOST ? GV_MEMORY_ON_HOST : event->device;
    size_t line;
    int error = memory_line(log, event, space, &line);
    struct gv_key key = memory_key(GV_MEMORY_HOLDER, device, (int64_t)line, event->process);

    if (!error)
        error = gv_array_room(&log->holders, log->holder_count, &log->holder_room,
                              sizeof(*log->holders));
    if (!error)
        error = memory_find(log, &key, log->holder_count, number);
    if (!error && *number == log->holder_count)
        log->holders[log->holder_count++] =
            (struct gv_memory_holder){.line = line, .device = device, .process = event->process};
    return error;
}

/* ---- what is live ---- */

/* Before what it holds changes, and at the end: it has held that since the device's peak. */
static void memory_note_peak(struct gv_memory_holder *holder, const struct gv_memory_device *device)
{
    if (holder->peak == device->peaks)
        return;
    holder->peak = device->peaks;
    holder->peak_bytes = holder->live_bytes;
    holder->peak_blocks = holder->live_blocks;
}

/* The nearest sample so far is the last one. */
static void memory_reach_peak(struct gv_memory_device *device, int64_t at_ns)
{
    device->peak_bytes = device->live_bytes;
    device->peak_ns = at_ns;
    device->peaks++;
    device->near_ns = INT64_MAX;
    if (!device->sampled_ns || at_ns - device->sampled_ns > GV_MEMORY_SAMPLE_NS)
        return;
    device->near_ns = at_ns - device->sampled_ns;
    device->near_at_ns = device->sampled_ns;
    device->outside_bytes = device->sampled_bytes;
}

/* Counts a block that appears (1) or disappears (-1). */
static void memory_count(struct gv_memory_log *log, const struct gv_memory_block *block, int sign,
                         int64_t at_ns)
{
    struct gv_memory_holder *holder = &log->holders[block->holder];
    struct gv_memory_line *line = &log->lines[holder->line];
    struct gv_memory_device *device = &log->devices[holder->device];
    int64_t bytes = sign * block->bytes;

    memory_note_peak(holder, device);
    holder->live_bytes += bytes;
    holder->live_blocks += sign;
    line->live_bytes += bytes;
    device->live_bytes += bytes;
    if (block->space == GV_MEMORY_MANAGED)
        device->managed_bytes += bytes;
    if (line->live_bytes > line->peak_bytes)
        line->peak_bytes = line->live_bytes;
    if (device->live_bytes > device->peak_bytes)
        memory_reach_peak(device, at_ns);
}

static void memory_end_block(struct gv_memory_log *log, size_t number, int64_t at_ns)
{
    struct gv_memory_block *block = &log->blocks[number];
    struct gv_key key = memory_key(GV_MEMORY_BLOCK, 0, block->process, block->object);

    if (!block->ended)
        memory_count(log, block, -1, at_ns);
    if (!block->physical)
        gv_key_map_remove(&log->places, &key);
    block->bytes = 0;
    block->context = log->free_block;
    log->free_block = number + 1;
}

/* The same for a block that the program freed. */
static int memory_freed(struct gv_memory_log *log, size_t number,
                        const struct gv_memory_event *event)
{
    const struct gv_memory_block *block = &log->blocks[number];
    struct gv_memory_line *line = &log->lines[log->holders[block->holder].line];
    int error = gv_duration_total_add(&line->life, event->at_ns - block->from_ns, 1);

    line->freed++;
    line->time_ns = gv_time_sum(line->time_ns, event->duration_ns);
    memory_end_block(log, number, event->at_ns);
    return error;
}

/* ---- calls that allocate and free ---- */

static int memory_new_block(struct gv_memory_log *log, size_t *number)
{
    if (log->free_block) {
        *number = log->free_block - 1;
        log->free_block = log->blocks[*number].context;
        return 0;
    }
    int error =
        gv_array_room(&log->blocks, log->block_count, &log->block_room, sizeof(*log->blocks));
    if (!error)
        *number = log->block_count++;
    return error;
}

/* A context that a block is in, and that no call made, is a primary one. */
static void memory_see_primary(struct gv_memory_log *log, size_t number)
{
    struct gv_memory_context *context = &log->contexts[number];

    if (context->made || context->seen)
        return;
    context->seen = true;
    log->processes[context->process].primaries++;
    log->processes[context->process].context = number;
}

static int memory_allocated(struct gv_memory_log *log, const struct gv_memory_event *event,
                            enum gv_memory_space space, size_t *number)
{
    size_t context, holder = 0;
    int error = memory_context(log, event->process, event->context, &context);

    if (!error)
        error = memory_holder(log, event, space, &holder);
    if (!error)
        error = memory_new_block(log, number);
    if (error)
        return error;
    if (event->context)
        memory_see_primary(log, context);
    struct gv_memory_line *line = &log->lines[log->holders[holder].line];
    struct gv_memory_block *block = &log->blocks[*number];
    *block = (struct gv_memory_block){
        .bytes = event->bytes < GV_MEMORY_BYTES ? event->bytes : GV_MEMORY_BYTES,
        .process = event->process,
        .object = event->object,
        .call = event->call,
        .from_ns = event->at_ns,
        .space = space,
        .physical = event->space == GV_MEMORY_PHYSICAL,
        .holder = holder,
        .context = context,
        .ended = log->processes[log->contexts[context].process].ended,
    };
    line->allocations++;
    line->allocated_bytes = gv_time_sum(line->allocated_bytes, block->bytes);
    line->time_ns = gv_time_sum(line->time_ns, event->duration_ns);
    if (block->bytes > line->largest_bytes)
        line->largest_bytes = block->bytes;
    if (!block->ended)
        memory_count(log, block, 1, event->at_ns);
    return 0;
}

static bool memory_is_full(struct gv_memory_log *log)
{
    if (log->free_block || log->block_count < GV_MEMORY_BLOCKS)
        return false;
    gv_memory_log_free(log);
    log->too_many = true;
    return true;
}

static int memory_free(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    struct gv_key key = memory_key(GV_MEMORY_BLOCK, 0, event->process, event->object);
    int64_t number = memory_number(log, &key);

    return number < 0 ? 0 : memory_freed(log, (size_t)number, event);
}

static int memory_allocate(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    struct gv_key key = memory_key(GV_MEMORY_BLOCK, 0, event->process, event->object);
    int64_t lost = memory_number(log, &key);
    size_t number;

    if (lost >= 0) /* its free was not seen */
        memory_end_block(log, (size_t)lost, event->at_ns);
    if (event->bytes <= 0 || memory_is_full(log))
        return 0;
    int error = memory_allocated(log, event, event->space, &number);
    return error ? error : gv_key_map_add(&log->places, &key, (int64_t)number + 1);
}

/* ---- physical memory ---- */

/* The use with this key; -1: it is of memory that is not ours. */
static int64_t memory_use(const struct gv_memory_log *log, enum gv_memory_place kind,
                          int64_t process, int64_t object)
{
    struct gv_key key = memory_key(kind, 0, process, object);

    return memory_number(log, &key);
}

static int memory_add_use(struct gv_memory_log *log, enum gv_memory_place kind, int64_t process,
                          int64_t object, size_t block, int64_t bytes)
{
    struct gv_key key = memory_key(kind, 0, process, object);
    size_t number = log->free_use ? log->free_use - 1 : log->use_count;
    int error = gv_array_room(&log->uses, log->use_count, &log->use_room, sizeof(*log->uses));

    if (!error)
        error = gv_key_map_add(&log->places, &key, (int64_t)number + 1);
    if (error)
        return error;
    if (log->free_use)
        log->free_use = log->uses[number].block;
    else
        log->use_count++;
    log->uses[number] = (struct gv_memory_use){.block = block, .count = 1, .bytes = bytes};
    log->blocks[block].uses++;
    return 0;
}

static int memory_end_use(struct gv_memory_log *log, enum gv_memory_place kind, int64_t number,
                          const struct gv_memory_event *event, int64_t object)
{
    struct gv_key key = memory_key(kind, 0, event->process, object);
    struct gv_memory_use *use = &log->uses[number];
    size_t block = use->block;

    if (--use->count > 0)
        return 0;
    gv_key_map_remove(&log->places, &key);
    use->block = log->free_use;
    log->free_use = (size_t)number + 1;
    return --log->blocks[block].uses > 0 ? 0 : memory_freed(log, block, event);
}

static int memory_create(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int64_t lost = memory_use(log, GV_MEMORY_HANDLE, event->process, event->object);
    size_t number;
    int error = 0;

    if (lost >= 0) { /* its release was not seen */
        log->uses[lost].count = 1;
        error = memory_end_use(log, GV_MEMORY_HANDLE, lost, event, event->object);
    }
    if (error || event->bytes <= 0 || memory_is_full(log))
        return error;
    error = memory_allocated(log, event, GV_MEMORY_DEVICE, &number);
    return error ? error
                 : memory_add_use(log, GV_MEMORY_HANDLE, event->process, event->object, number, 0);
}

static int memory_release(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int64_t handle = memory_use(log, GV_MEMORY_HANDLE, event->process, event->object);

    return handle < 0 ? 0 : memory_end_use(log, GV_MEMORY_HANDLE, handle, event, event->object);
}

static int memory_map(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int64_t handle = memory_use(log, GV_MEMORY_HANDLE, event->process, event->second);
    int64_t lost = memory_use(log, GV_MEMORY_MAPPING, event->process, event->object);
    int error = 0;

    if (lost >= 0) /* its end was not seen */
        error = memory_end_use(log, GV_MEMORY_MAPPING, lost, event, event->object);
    return error || handle < 0 || event->bytes <= 0
               ? error
               : memory_add_use(log, GV_MEMORY_MAPPING, event->process, event->object,
                                log->uses[handle].block, event->bytes);
}

/* Ends all mappings of a range, which follow one another. */
static int memory_unmap(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int64_t at = event->object, end = gv_time_sum(event->object, event->bytes), mapping;
    int error = 0;

    while (!error && (mapping = memory_use(log, GV_MEMORY_MAPPING, event->process, at)) >= 0) {
        int64_t next = gv_time_sum(at, log->uses[mapping].bytes);
        error = memory_end_use(log, GV_MEMORY_MAPPING, mapping, event, at);
        at = next;
        if (at >= end)
            break;
    }
    return error;
}

/* A handle of what is mapped at an address: the one that there is, or another one. */
static int memory_retain(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    int64_t handle = memory_use(log, GV_MEMORY_HANDLE, event->process, event->object);
    int64_t mapping = memory_use(log, GV_MEMORY_MAPPING, event->process, event->second);

    if (handle >= 0)
        log->uses[handle].count++;
    else if (mapping >= 0)
        return memory_add_use(log, GV_MEMORY_HANDLE, event->process, event->object,
                              log->uses[mapping].block, 0);
    return 0;
}

/* ---- contexts and processes ---- */

static void memory_end_context(struct gv_memory_log *log, size_t number, bool made, int64_t at_ns)
{
    for (size_t i = 0; i < log->block_count; i++)
        if (log->blocks[i].bytes && log->blocks[i].context == number)
            memory_end_block(log, i, at_ns);
    log->contexts[number].made = made;
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
    memory_end_context(log, number, false, event->at_ns);
    return 0;
}

static int memory_end_process(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number;
    int error = memory_process(log, event->process, &number);

    for (size_t i = 0; i < log->block_count && !error; i++) {
        struct gv_memory_block *block = &log->blocks[i];
        if (!block->bytes || block->ended || block->process != event->process)
            continue;
        memory_count(log, block, -1, event->at_ns);
        block->ended = true;
    }
    if (!error)
        log->processes[number].ended = true;
    return error;
}

/* What is used and was not allocated by calls that are known. Managed memory may lie on the host.
 */
static void memory_sample(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    struct gv_memory_device *device = &log->devices[event->device];
    bool known = device->managed_bytes == 0 && log->devices[0].live_bytes == 0 &&
                 event->bytes >= device->live_bytes;
    int64_t away_ns = event->at_ns - device->peak_ns;

    device->sampled_ns = event->at_ns > 0 ? event->at_ns : 1;
    device->sampled_bytes = known ? event->bytes - device->live_bytes : -1;
    if (device->peak_bytes == 0 || away_ns > GV_MEMORY_SAMPLE_NS || away_ns >= device->near_ns)
        return;
    device->near_ns = away_ns;
    device->near_at_ns = event->at_ns;
    device->outside_bytes = device->sampled_bytes;
}

int gv_memory_log_take(struct gv_memory_log *log, const struct gv_memory_event *event)
{
    size_t number;
    int error;

    if (log->too_many || event->device > GV_MEMORY_DEVICES)
        return 0;
    if (event->space == GV_MEMORY_SAMPLED) {
        memory_sample(log, event);
        return 0;
    }
    switch (event->space) {
    case GV_MEMORY_DEVICE:
    case GV_MEMORY_HOST:
    case GV_MEMORY_MANAGED:
        return memory_allocate(log, event);
    case GV_MEMORY_PHYSICAL:
        return memory_create(log, event);
    case GV_MEMORY_FREE:
        return memory_free(log, event);
    case GV_MEMORY_MAPPED:
        return memory_map(log, event);
    case GV_MEMORY_RETAINED:
        return memory_retain(log, event);
    case GV_MEMORY_UNMAPPED:
        return memory_unmap(log, event);
    case GV_MEMORY_RELEASED:
        return memory_release(log, event);
    case GV_MEMORY_CONTEXT_MADE:
    case GV_MEMORY_CONTEXT_ENDED:
        error = memory_context(log, event->process, event->object, &number);
        if (!error)
            memory_end_context(log, number, event->space == GV_MEMORY_CONTEXT_MADE, event->at_ns);
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
    for (size_t i = 0; i < log->holder_count; i++) {
        struct gv_memory_holder *holder = &log->holders[i];
        memory_note_peak(holder, &log->devices[holder->device]);
        log->lines[holder->line].at_peak_bytes += holder->peak_bytes;
    }
    for (size_t i = 0; i < log->block_count; i++) {
        const struct gv_memory_block *block = &log->blocks[i];
        if (!block->bytes)
            continue;
        struct gv_memory_line *line = &log->lines[log->holders[block->holder].line];
        line->left_bytes = gv_time_sum(line->left_bytes, block->bytes);
        if (block->space != GV_MEMORY_HOST)
            log->left_bytes = gv_time_sum(log->left_bytes, block->bytes);
    }
}

const struct gv_memory_device *gv_memory_log_fullest(const struct gv_memory_log *log)
{
    const struct gv_memory_device *fullest = &log->devices[0];

    for (size_t i = 1; i < GV_MEMORY_ON_HOST; i++)
        if (log->devices[i].peak_bytes > fullest->peak_bytes)
            fullest = &log->devices[i];
    return fullest;
}

void gv_memory_log_free(struct gv_memory_log *log)
{
    for (size_t i = 0; i < log->line_count; i++)
        gv_duration_total_free(&log->lines[i].life);
    free(log->blocks);
    free(log->uses);
    free(log->lines);
    free(log->holders);
    free(log->contexts);
    free(log->processes);
    gv_key_map_free(&log->places);
    memset(log, 0, sizeof(*log));
}
