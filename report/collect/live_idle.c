/* What threads did while a GPU had no work, by the looks at them. */
#include "report/collect/live.h"

#include "report/analyse/idle/where_words.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <string.h>

/* Without any look in so long a time, the thread was in CUDA calls. */
#define LIVE_UNSEEN_NS INT64_C(100000000)
/* Later looks count more. */
#define LIVE_SEEN_MOST 64
/* A look says what a thread does for so long. */
#define LIVE_FRESH_NS INT64_C(500000000)

static struct gv_live_thread *find_thread(struct gv_live *live, int64_t id)
{
    for (uint32_t i = 0; i < live->thread_count; i++)
        if (live->threads[i].id == id)
            return &live->threads[i];
    return NULL;
}

static struct gv_live_thread *thread_of(struct gv_live *live, int64_t id)
{
    struct gv_live_thread *thread = find_thread(live, id);

    if (thread)
        return thread;
    thread = &live->threads[0];
    for (uint32_t i = 0; i < live->thread_count; i++)
        if (live->threads[i].at_ns < thread->at_ns)
            thread = &live->threads[i];
    if (live->thread_count < GV_LIVE_THREADS)
        thread = &live->threads[live->thread_count++];
    *thread = (struct gv_live_thread){.id = id};
    snprintf(thread->name, sizeof(thread->name), "%lld", id < 0 ? -(long long)id : 0);
    gv_live_ask(live, "SELECT tid || ' ' || coalesce(name, '') FROM thread WHERE id = ?", id,
                thread->name, sizeof(thread->name));
    return thread;
}

static int take_look(void *context, const struct gv_idle_look *look)
{
    struct gv_live *live = context;
    struct gv_live_thread *thread = thread_of(live, look->thread);
    struct gv_live_look *one = &live->looks[live->look_next++ % GV_LIVE_LOOKS];
    unsigned int sum = 0;

    one->at_ns = look->at_ns;
    one->thread = look->thread;
    one->what = (uint8_t)look->what;
    gv_idle_say(gv_account_say(look->what).meaning, look->detail, look->where, one->text,
                sizeof(one->text));
    if (strcmp(one->text, thread->text) != 0 || look->at_ns - thread->at_ns > LIVE_FRESH_NS)
        thread->since_ns = look->at_ns;
    memcpy(thread->text, one->text, sizeof(thread->text));
    thread->at_ns = look->at_ns;
    thread->seen[one->what]++;
    for (int i = 0; i < (int)GV_ACCOUNTS; i++)
        sum += thread->seen[i];
    for (int i = 0; sum > LIVE_SEEN_MOST && i < (int)GV_ACCOUNTS; i++)
        thread->seen[i] /= 2;
    if (look->at_ns > live->page.look_ns)
        live->page.look_ns = look->at_ns;
    return 0;
}

static void show_threads(struct gv_live *live)
{
    for (uint32_t i = 0; i < live->thread_count; i++) {
        const struct gv_live_thread *thread = &live->threads[i];
        struct gv_live_row *row =
            live->page.now_ns - thread->at_ns < 2 * LIVE_FRESH_NS
                ? gv_live_find(live, GV_LIVE_thread, thread->name, thread->text)
                : NULL;
        size_t slot = (size_t)((uint64_t)thread->id % GV_LIVE_THREADS);
        if (!row)
            continue;
        row->at_ns = thread->at_ns;
        row->ns = thread->since_ns;
        row->count = 0;
        if (live->called[slot].thread == thread->id && live->called[slot].end_ns > row->ns)
            row->ns = live->called[slot].end_ns;
    }
}

void gv_live_flights(const struct gv_live_process *process, const struct gv_spool_reader *reader,
                     uint64_t epoch_ns)
{
    struct gv_live *live = process->live;
    char thread[48], name[72], class_name[16], text[96];
    struct gv_spool_flight flight;

    for (uint32_t i = 0; i < reader->slots_count; i++) {
        if (!gv_spool_reader_flight(reader, i, &flight) ||
            live->page.now_ns - (int64_t)(flight.start_ns - epoch_ns) < GV_LIVE_CALL_NS)
            continue;
        gv_spool_reader_name(reader, flight.api, name, class_name);
        bool waits = gv_cause_is_expected(gv_stall_rule_find(name, class_name)->cause);
        snprintf(thread, sizeof(thread), "%u %.*s", flight.tid, (int)sizeof(flight.comm),
                 flight.comm);
        snprintf(text, sizeof(text), "%s %s", waits ? "waits in" : "in", name);
        struct gv_live_row *row = gv_live_find(live, GV_LIVE_thread, thread, text);
        if (!row)
            continue;
        row->ns = (int64_t)(flight.start_ns - epoch_ns);
        row->count = waits ? 2 : 1;
    }
}

static void read_looks(struct gv_live *live)
{
    int64_t last = live->looked;

    if (live->reader && gv_idle_looks_are_full(live->reader)) {
        gv_idle_looks_close(live->reader);
        live->reader = NULL;
    }
    if (!live->reader && gv_idle_looks_open(live->trace, &live->reader)) {
        gv_idle_looks_close(live->reader);
        live->reader = NULL;
    }
    if (gv_database_number(live->trace, "SELECT max(id) FROM idle_sample", NULL, 0, &last) == 0 &&
        last > live->looked && live->reader &&
        gv_idle_looks_read(
            live->reader, last - live->looked > GV_LIVE_LOOKS ? last - GV_LIVE_LOOKS : live->looked,
            last, take_look, live) == 0)
        live->looked = last;
}

/* ---- idle times ---- */

static bool is_in(const struct gv_live_look *look, int64_t thread, int64_t start_ns, int64_t end_ns)
{
    return look->text[0] && look->at_ns >= start_ns && look->at_ns <= end_ns &&
           look->thread == thread;
}

static void add_part(struct gv_live *live, unsigned what, int64_t ns)
{
    if (ns > 0)
        gv_live_add(gv_live_find(live, GV_LIVE_idle, gv_account_say(what).name, NULL), 1, ns);
}

/* What was inside the thread's slow calls: how much of it. */
static int64_t add_in_calls(struct gv_live *live, int64_t thread, int64_t start_ns, int64_t end_ns)
{
    int64_t left_ns = end_ns - start_ns;

    for (uint32_t i = 0; i < live->slow_count; i++) {
        const struct gv_live_call *call = &live->slow[i].call;
        int64_t ns = gv_time_overlap(call->start_ns, call->end_ns, start_ns, end_ns);
        if (ns > left_ns)
            ns = left_ns;
        if (call->thread != thread || ns == 0)
            continue;
        add_part(live, live->slow[i].what, ns);
        left_ns -= ns;
    }
    return end_ns - start_ns - left_ns;
}

static void settle_gap(struct gv_live *live, const struct gv_live_gap *gap)
{
    int64_t thread = gap->thread, start_ns = gap->start_ns, end_ns = gap->end_ns;
    int64_t ns = end_ns - start_ns, left_ns;
    unsigned int looks[GV_ACCOUNTS] = {0}, sum = 0;
    const struct gv_live_thread *seen;

    if (ns >= live->threshold_ns) {
        ns -= add_in_calls(live, thread, start_ns, end_ns);
        for (size_t i = 0; i < GV_LIVE_LOOKS; i++)
            if (is_in(&live->looks[i], thread, start_ns, end_ns)) {
                looks[live->looks[i].what]++;
                sum++;
            }
    }
    seen = sum == 0 && ns < LIVE_UNSEEN_NS ? find_thread(live, thread) : NULL;
    for (int i = 0; seen && i < (int)GV_ACCOUNTS; i++)
        sum += looks[i] = seen->seen[i];
    left_ns = ns;
    for (int i = 0; sum > 0 && i < (int)GV_ACCOUNTS; i++) {
        int64_t part_ns = (int64_t)((double)ns * looks[i] / sum);
        add_part(live, (unsigned)i, part_ns);
        left_ns -= part_ns;
    }
    if (sum == 0)
        add_part(live, GV_ACCOUNT_UNKNOWN, left_ns);
}

/* It gets a row by what was seen most. */
static void show_gap(struct gv_live *live, int64_t thread, int64_t start_ns, int64_t end_ns)
{
    const struct gv_live_look *most = NULL;
    int most_count = 0;

    for (size_t i = 0; i < GV_LIVE_LOOKS; i++) {
        int count = 0;
        if (!is_in(&live->looks[i], thread, start_ns, end_ns))
            continue;
        for (size_t j = i; j < GV_LIVE_LOOKS; j++)
            count += is_in(&live->looks[j], thread, start_ns, end_ns) &&
                     strcmp(live->looks[j].text, live->looks[i].text) == 0;
        if (count > most_count) {
            most = &live->looks[i];
            most_count = count;
        }
    }
    gv_live_longest(
        gv_live_find(live, GV_LIVE_gap, most ? most->text : "in CUDA calls, or not seen", NULL),
        start_ns, end_ns - start_ns);
}

void gv_live_idle(struct gv_live *live, const struct gv_live_gap *gap)
{
    if (gap->end_ns <= gap->start_ns && !gap->shown_ns)
        return;
    if (live->gap_count == GV_LIVE_GAPS)
        gv_live_idle_settle(live);
    live->gaps[live->gap_count++] = *gap;
}

void gv_live_idle_settle(struct gv_live *live)
{
    if (!live->trace)
        return;
    read_looks(live);
    for (uint32_t i = 0; i < live->gap_count; i++) {
        const struct gv_live_gap *gap = &live->gaps[i];
        if (gap->end_ns > gap->start_ns)
            settle_gap(live, gap);
        if (gap->shown_ns)
            show_gap(live, gap->thread, gap->shown_ns, gap->end_ns);
    }
    live->gap_count = 0;
    show_threads(live);
}
