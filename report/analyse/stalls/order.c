#include "report/analyse/stalls/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A call and what it is ordered by. */
struct gv_stall_key {
    int64_t major, minor;
    uint32_t position;
};

static int gv_stall_key_compare(const void *left, const void *right)
{
    const struct gv_stall_key *a = left, *b = right;

    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

typedef bool gv_stall_key_of(const struct gv_held *held, struct gv_stall_key *key);

static bool gv_stall_key_thread(const struct gv_held *held, struct gv_stall_key *key)
{
    key->major = held->process;
    key->minor = held->thread;
    return held->process > 0;
}

/* Waits for the whole context, or may turn out to. */
static bool gv_stall_key_context(const struct gv_held *held, struct gv_stall_key *key)
{
    key->major = held->context;
    return held->context > 0 && !gv_cause_is_expected(held->rule->cause);
}

static bool gv_stall_key_stream(const struct gv_held *held, struct gv_stall_key *key)
{
    key->major = held->stream;
    return held->stream > 0 && held->own_start_ns && (held->rule->flags & GV_CALL_SUBMITS);
}

static bool gv_stall_key_call(const struct gv_held *held, struct gv_stall_key *key)
{
    key->major = held->call;
    return (held->rule->flags & GV_CALL_SUBMITS) != 0;
}

/* The calls that have a key, by it. The chunk is in order of time, and positions keep that. */
static int gv_stall_order_sort(const struct gv_stall_run *run, gv_stall_key_of *key_of,
                               uint32_t **positions, size_t *count, struct gv_stall_key **sorted)
{
    struct gv_stall_key *keys = calloc(run->held_count + 1, sizeof(*keys));

    *count = 0;
    *positions = calloc(run->held_count + 1, sizeof(**positions));
    *sorted = keys;
    if (!keys || !*positions)
        return -ENOMEM;
    for (size_t i = 0; i < run->held_count; i++) {
        keys[*count].position = (uint32_t)i;
        keys[*count].minor = 0;
        if (run->held[i].measured && key_of(&run->held[i], &keys[*count]))
            (*count)++;
    }
    qsort(keys, *count, sizeof(*keys), gv_stall_key_compare);
    for (size_t i = 0; i < *count; i++)
        (*positions)[i] = keys[i].position;
    return 0;
}

/* Spans by the keys' major, which are rows of a table. */
static int gv_stall_order_spans(const struct gv_stall_key *keys, size_t count, size_t rows,
                                struct gv_stall_span **spans)
{
    *spans = calloc(rows, sizeof(**spans));
    if (!*spans)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct gv_stall_span *span =
            keys[i].major < (int64_t)rows ? &(*spans)[keys[i].major] : NULL;
        if (span && span->count++ == 0)
            span->first = (uint32_t)i;
    }
    return 0;
}

static int gv_stall_order_make_threads(struct gv_stall_order *order,
                                       const struct gv_stall_key *keys, size_t rows)
{
    size_t used = 0;

    order->process_count = rows;
    order->processes = calloc(rows, sizeof(*order->processes));
    order->threads = calloc(order->thread_positions + 1, sizeof(*order->threads));
    if (!order->processes || !order->threads)
        return -ENOMEM;
    for (size_t i = 0; i < order->thread_positions; i++) {
        struct gv_stall_span *process =
            keys[i].major < (int64_t)rows ? &order->processes[keys[i].major] : NULL;
        if (i == 0 || keys[i].major != keys[i - 1].major || keys[i].minor != keys[i - 1].minor) {
            order->threads[used].first = (uint32_t)i;
            if (process && process->count++ == 0)
                process->first = (uint32_t)used;
            used++;
        }
        order->threads[used - 1].count++;
    }
    return 0;
}

int gv_stall_order_make(struct gv_stall_order *order, const struct gv_stall_run *run)
{
    struct gv_stall_key *keys = NULL;
    int error;

    memset(order, 0, sizeof(*order));
    order->context_count = run->context_count;
    error = gv_stall_order_sort(run, gv_stall_key_thread, &order->by_thread,
                                &order->thread_positions, &keys);
    if (!error)
        error = gv_stall_order_make_threads(order, keys, run->process_count);
    free(keys);
    keys = NULL;
    if (!error)
        error = gv_stall_order_sort(run, gv_stall_key_context, &order->by_context,
                                    &order->context_positions, &keys);
    if (!error)
        error = gv_stall_order_spans(keys, order->context_positions, order->context_count,
                                     &order->contexts);
    free(keys);
    keys = NULL;
    if (!error)
        error =
            gv_stall_order_sort(run, gv_stall_key_call, &order->by_call, &order->call_count, &keys);
    free(keys);
    order->marks = calloc(order->context_positions + 1, sizeof(*order->marks));
    return !error && !order->marks ? -ENOMEM : error;
}

int gv_stall_order_streams(struct gv_stall_order *order, const struct gv_stall_run *run)
{
    struct gv_stall_key *keys = NULL;
    int error = gv_stall_order_sort(run, gv_stall_key_stream, &order->by_stream,
                                    &order->stream_positions, &keys);

    order->stream_count = run->stream_count;
    if (!error)
        error = gv_stall_order_spans(keys, order->stream_positions, order->stream_count,
                                     &order->streams);
    free(keys);
    order->ahead = calloc(order->stream_positions + 1, sizeof(*order->ahead));
    return !error && !order->ahead ? -ENOMEM : error;
}

void gv_stall_order_free(struct gv_stall_order *order)
{
    free(order->by_thread);
    free(order->by_context);
    free(order->by_stream);
    free(order->by_call);
    free(order->threads);
    free(order->processes);
    free(order->contexts);
    free(order->streams);
    free(order->marks);
    free(order->ahead);
    memset(order, 0, sizeof(*order));
}

struct gv_held *gv_stall_order_call(const struct gv_stall_order *order, struct gv_held *held,
                                    int64_t call)
{
    size_t low = 0, high = order->call_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (held[order->by_call[middle]].call < call)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == order->call_count || held[order->by_call[low]].call != call)
        return NULL;
    return &held[order->by_call[low]];
}

size_t gv_stall_order_threads(const struct gv_stall_order *order, int64_t process,
                              struct gv_stall_span **threads)
{
    const struct gv_stall_span *span =
        GV_STALL_ROW(order->processes, order->process_count, process);

    *threads = span ? &order->threads[span->first] : NULL;
    return span ? span->count : 0;
}

struct gv_held *gv_stall_order_ending(const struct gv_stall_order *order, struct gv_held *held,
                                      struct gv_stall_span *thread, int64_t at_ns)
{
    const uint32_t *positions = order->by_thread + thread->first;
    uint32_t low = 0, high = thread->count;

    /* Most operations end a little after the one before. */
    if (thread->hint < high && held[positions[thread->hint]].end_ns < at_ns)
        low = thread->hint;
    else if (thread->hint == 0 || held[positions[thread->hint - 1]].end_ns < at_ns)
        high = thread->hint;
    for (uint32_t step = 1; low + step < high && held[positions[low + step]].end_ns < at_ns;
         step *= 2)
        low += step;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (held[positions[middle]].end_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == thread->count)
        return NULL;
    thread->hint = low;
    return &held[positions[low]];
}

/* How many of a span's calls began before a time, or at it. */
static uint32_t gv_stall_order_begun(const uint32_t *positions, const struct gv_held *held,
                                     const struct gv_stall_span *span, int64_t at_ns)
{
    uint32_t low = 0, high = span->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (held[positions[span->first + middle]].start_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void gv_stall_order_running(struct gv_stall_order *order, const struct gv_held *held,
                            int64_t context, int64_t start_ns, int64_t end_ns, int64_t local_bytes)
{
    const struct gv_stall_span *span = GV_STALL_ROW(order->contexts, order->context_count, context);
    struct gv_stall_mark *mark;
    uint32_t first;

    if (!span || span->count == 0)
        return;
    first = gv_stall_order_begun(order->by_context, held, span, start_ns);
    if (first == span->count)
        return;
    mark = &order->marks[span->first + first];
    if (end_ns > mark->busy_until_ns)
        mark->busy_until_ns = end_ns;
    if (local_bytes > mark->local_bytes)
        mark->local_bytes = local_bytes;
}

/* The stream's operations run one after the other: those that ended after the call began, and began
 * before its own did, were in the queue before it. */
void gv_stall_order_queued(struct gv_stall_order *order, const struct gv_held *held, int64_t stream,
                           int64_t start_ns, int64_t end_ns)
{
    const struct gv_stall_span *span = GV_STALL_ROW(order->streams, order->stream_count, stream);
    uint32_t low = 0, high, last;

    if (!span || span->count == 0)
        return;
    last = gv_stall_order_begun(order->by_stream, held, span, end_ns - 1);
    high = last;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (held[order->by_stream[span->first + middle]].own_start_ns <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= last)
        return;
    order->ahead[span->first + low]++;
    if (last < span->count)
        order->ahead[span->first + last]--;
}

void gv_stall_order_finish(const struct gv_stall_order *order, struct gv_held *held)
{
    for (size_t context = 0; context < order->context_count; context++) {
        const struct gv_stall_span *span = &order->contexts[context];
        struct gv_stall_mark most = {0};
        for (uint32_t i = span->first; i < span->first + span->count; i++) {
            if (order->marks[i].busy_until_ns > most.busy_until_ns)
                most.busy_until_ns = order->marks[i].busy_until_ns;
            if (order->marks[i].local_bytes > most.local_bytes)
                most.local_bytes = order->marks[i].local_bytes;
            held[order->by_context[i]].busy_until_ns = most.busy_until_ns;
            held[order->by_context[i]].local_before_bytes = most.local_bytes;
        }
    }
    for (size_t stream = 0; stream < order->stream_count; stream++) {
        const struct gv_stall_span *span = &order->streams[stream];
        int64_t ahead = 0;
        for (uint32_t i = span->first; i < span->first + span->count; i++) {
            ahead += order->ahead[i];
            held[order->by_stream[i]].ahead = ahead;
        }
    }
}
