/* Sums of what the GPUs did. */
#include "report/collect/live.h"

#include "report/analyse/names/kernel_name.h"
#include "report/store/time_sum.h"
#include "trace/spool.h"

#include <stdlib.h>

/* Between two operations, these are one in the list of what a call may have waited for. */
#define LIVE_JOIN_NS 20000
/* Idle time that goes on is booked when it is longer. */
#define LIVE_OPEN_NS (2 * GV_LIVE_SETTLE_NS)

/* ---- devices ---- */

/* The same GPU has one name in all processes; live.sql says the same. */
static struct gv_live_unit *unit_of(struct gv_live *live, const struct gv_live_device *device)
{
    char name[GV_LIVE_TEXT_BYTES] = "";
    struct gv_live_row *busy;

    if (!live->trace)
        return NULL;
    gv_live_ask(live, "SELECT uuid FROM device WHERE process << 32 | device = ?",
                device->process << 32 | device->number, name, sizeof(name));
    if (!name[0])
        snprintf(name, sizeof(name), "process %lld device %lld", (long long)device->process,
                 (long long)device->number);
    busy = gv_live_find(live, GV_LIVE_busy, name, NULL);
    for (uint32_t i = 0; i < live->unit_count; i++)
        if (live->units[i].busy == busy)
            return &live->units[i];
    if (!busy || live->unit_count == GV_LIVE_DEVICES)
        return NULL;
    live->units[live->unit_count] = (struct gv_live_unit){.busy = busy};
    return &live->units[live->unit_count++];
}

static struct gv_live_device *device_of(struct gv_live_process *process, int64_t number)
{
    struct gv_live *live = process->live;
    struct gv_live_device *device;

    for (uint32_t i = 0; i < live->device_count; i++)
        if (live->devices[i].process == process->id && live->devices[i].number == number)
            return &live->devices[i];
    if (live->device_count == GV_LIVE_DEVICES)
        return NULL;
    device = &live->devices[live->device_count++];
    *device = (struct gv_live_device){.process = process->id,
                                      .number = number,
                                      .until_ns = process->start_ns,
                                      .booked_ns = process->start_ns,
                                      .known = !process->resumed,
                                      .spans = calloc(GV_LIVE_SPANS, sizeof(*device->spans))};
    return device;
}

void gv_live_flushed(struct gv_live_process *process, bool seen, int64_t until_ns)
{
    process->gpu_seen = seen;
    if (process->live && seen && until_ns > process->live->page.gpu_ns)
        process->live->page.gpu_ns = until_ns;
}

void gv_live_unseen(struct gv_live_process *process)
{
    struct gv_live *live = process->live;

    for (uint32_t i = 0; live && i < live->device_count; i++)
        if (live->devices[i].process == process->id)
            live->devices[i].known = false;
}

int64_t gv_live_busy_ns(const struct gv_live *live, int64_t process, int64_t start_ns,
                        int64_t end_ns)
{
    int64_t most_ns = 0;

    for (uint32_t i = 0; i < live->device_count; i++) {
        const struct gv_live_device *device = &live->devices[i];
        int64_t ns = 0;
        for (uint64_t back = 1; device->process == process && device->spans &&
                                back <= device->span_count && back <= GV_LIVE_SPANS;
             back++) {
            const struct gv_live_span *span =
                &device->spans[(device->span_count - back) % GV_LIVE_SPANS];
            if (span->end_ns <= start_ns)
                break;
            ns += gv_time_overlap(span->start_ns, span->end_ns, start_ns, end_ns);
        }
        if (ns > most_ns)
            most_ns = ns;
    }
    return most_ns;
}

/* ---- operations ---- */

static void add_span(struct gv_live_device *device, int64_t start_ns, int64_t end_ns)
{
    struct gv_live_span *last =
        device->spans ? &device->spans[(device->span_count - 1) % GV_LIVE_SPANS] : NULL;

    if (last && device->span_count > 0 && start_ns - last->end_ns < LIVE_JOIN_NS)
        last->end_ns = end_ns;
    else if (last)
        device->spans[device->span_count++ % GV_LIVE_SPANS] =
            (struct gv_live_span){start_ns, end_ns};
}

static void add_busy(struct gv_live_unit *unit, int64_t start_ns, int64_t end_ns)
{
    int64_t level = unit->until_ns / GV_LIVE_LEVEL_NS, last = end_ns / GV_LIVE_LEVEL_NS;

    if (unit->until_ns > start_ns)
        start_ns = unit->until_ns;
    if (end_ns <= start_ns)
        return;
    gv_live_add(unit->busy, 0, end_ns - start_ns);
    unit->busy->at_ns = unit->until_ns = end_ns;
    for (level = last - level > GV_LIVE_LEVELS ? last - GV_LIVE_LEVELS : level; level < last;)
        unit->busy->levels[++level % GV_LIVE_LEVELS] = 0;
    while (end_ns > start_ns && last - level < GV_LIVE_LEVELS) {
        int64_t from_ns = level * GV_LIVE_LEVEL_NS > start_ns ? level * GV_LIVE_LEVEL_NS : start_ns;
        unit->busy->levels[level-- % GV_LIVE_LEVELS] += (uint32_t)(end_ns - from_ns);
        end_ns = from_ns;
    }
}

static void take_op(struct gv_live *live, const struct gv_live_op *op)
{
    struct gv_live_device *device = op->device;
    const struct gv_live_call *call = &live->calls[(uint64_t)op->call % GV_LIVE_CALLS];
    int64_t idle_ns = op->start_ns - device->until_ns;

    if (op->call && call->id == op->call)
        device->thread = call->thread;
    if (device->known)
        gv_live_idle(
            live,
            &(struct gv_live_gap){
                .thread = device->thread,
                .start_ns = device->booked_ns,
                .end_ns = op->start_ns,
                .shown_ns = device->begun && idle_ns >= GV_LIVE_IDLE_NS ? device->until_ns : 0,
            });
    if (!device->known)
        device->until_ns = device->booked_ns = op->start_ns;
    device->begun = device->known = true;
    if (idle_ns > 0 || op->end_ns > device->until_ns)
        add_span(device, idle_ns > 0 ? op->start_ns : device->until_ns, op->end_ns);
    if (op->end_ns > device->until_ns)
        device->until_ns = op->end_ns;
    if (device->until_ns > device->booked_ns)
        device->booked_ns = device->until_ns;
    if (!device->unit)
        device->unit = unit_of(live, device);
    if (device->unit)
        add_busy(device->unit, op->start_ns, op->end_ns);
}

/* ---- their calls ---- */

struct gv_live_slow *gv_live_slow_of(struct gv_live *live, int64_t call)
{
    if (live->slow_ids[(uint64_t)call % GV_LIVE_SAMPLED] != call)
        return NULL;
    for (uint32_t i = 0; i < live->slow_count; i++)
        if (live->slow[i].call.id == call)
            return &live->slow[i];
    return NULL;
}

/* An operation of a call that is looked at. */
static void note_call(struct gv_live *live, const struct gv_live_op *op)
{
    int64_t call = op->call, ns = op->end_ns - op->start_ns;
    struct gv_live_sampled *sampled = &live->sampled[(uint64_t)call % GV_LIVE_SAMPLED];
    struct gv_live_slow *slow = gv_live_slow_of(live, call);

    for (uint32_t i = 0; i < live->slow_count; i++)
        live->slow[i].ahead += live->slow[i].rule->cause == GV_CAUSE_QUEUE_FULL &&
                               live->slow[i].call.id > call &&
                               live->slow[i].call.start_ns < op->start_ns;

    if (slow)
        slow->own_ns += ns;
    if (sampled->call == call && ns < INT64_MAX / 1000000)
        sampled->gpu_ns += ns * (sampled->weight < 1000000 ? sampled->weight : 1000000);
}

/* ---- names ---- */

static struct gv_live_row *name_of(struct gv_live *live, int64_t what)
{
    const struct gv_key key = {{(uint64_t)what}};
    uint64_t hash = (uint64_t)gv_key_map_find(&live->names, &key);
    struct gv_live_row *row = hash ? gv_live_row_of(live, hash) : NULL;
    int64_t kind = what < 0 ? -what >> 8 : 0;
    char name[GV_LIVE_TEXT_BYTES], full[8192] = "?", text[GV_KERNEL_NAME_BYTES] = "";

    if (row || !live->trace)
        return row;
    if (what > 0) {
        gv_live_ask(
            live, "SELECT n.name FROM gpu_shape s JOIN gpu_name n ON n.id = s.name WHERE s.id = ?",
            what, full, sizeof(full));
        gv_kernel_name_short(full, text, sizeof(text));
    } else if (kind == GV_GPU_COPY) {
        gv_live_ask(live, "SELECT 'copy ' || name FROM copy_kind WHERE id = ?", -what & 255, text,
                    sizeof(text));
    }
    gv_live_text(name, text[0]                ? text
                       : kind == GV_GPU_GRAPH ? "graph"
                       : kind == GV_GPU_COPY  ? "copy"
                       : kind == GV_GPU_SET   ? "memset"
                                              : "?");
    if (!hash && live->names.used < GV_LIVE_ROWS * 8)
        gv_key_map_add(&live->names, &key, (int64_t)gv_live_hash(GV_LIVE_kernel, name, NULL));
    return gv_live_find(live, GV_LIVE_kernel, name, NULL);
}

void gv_live_take_op(struct gv_live_process *process, int64_t number, const struct gv_live_op *op)
{
    struct gv_live *live = process->live;
    struct gv_live_device *device = live ? device_of(process, number) : NULL;

    if (!device || op->start_ns < 0 || op->end_ns < op->start_ns)
        return;
    if (live->op_count == GV_LIVE_OPS)
        gv_live_ops_settle(live);
    live->ops[live->op_count] = *op;
    live->ops[live->op_count++].device = device;
}

static int compare_ops(const void *one, const void *other)
{
    const struct gv_live_op *a = one, *b = other;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Of a GPU that has nothing to do, and whose process waits for something. */
static void book_open(struct gv_live *live)
{
    int64_t until_ns = live->page.gpu_ns - GV_LIVE_SETTLE_NS;

    for (uint32_t i = 0; i < live->device_count; i++) {
        struct gv_live_device *device = &live->devices[i];
        if (!device->known || !device->begun || until_ns - device->booked_ns < LIVE_OPEN_NS)
            continue;
        gv_live_idle(live, &(struct gv_live_gap){device->thread, device->booked_ns, until_ns, 0});
        device->booked_ns = until_ns;
    }
}

void gv_live_ops_settle(struct gv_live *live)
{
    qsort(live->ops, live->op_count, sizeof(live->ops[0]), compare_ops);
    for (uint32_t i = 0; i < live->op_count; i++) {
        const struct gv_live_op *op = &live->ops[i];
        int64_t ns = op->end_ns - op->start_ns;
        gv_live_add(name_of(live, op->what), 1, ns);
        if (op->call)
            note_call(live, op);
        take_op(live, op);
        if (op->end_ns > live->page.gpu_ns)
            live->page.gpu_ns = op->end_ns;
    }
    live->op_count = 0;
    book_open(live);
}

void gv_live_devices_end(const struct gv_live_process *process, int64_t end_ns)
{
    struct gv_live *live = process->live;

    for (uint32_t i = live->device_count; i-- > 0;) {
        struct gv_live_device *device = &live->devices[i];
        if (device->process != process->id)
            continue;
        if (device->known && device->begun)
            gv_live_idle(live, &(struct gv_live_gap){device->thread, device->booked_ns, end_ns, 0});
        free(device->spans);
        *device = live->devices[--live->device_count];
    }
}
