/* Reads what is new in the trace, for a few milliseconds at a time. */
#include "report/commands/top/top.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/idle/reason_words.h"
#include "report/analyse/stalls/rule.h"
#include "report/store/time_sum.h"
#include "report/commands/trace_open.h"
#include "report/store/database.h"
#include "trace/futex.h"
#include "trace/mix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It holds up the collector for at most the first; after the second, it pauses where it can. */
#define TOP_READ_NS  INT64_C(4000000)
#define TOP_PAUSE_NS INT64_C(1500000)
/* Steps of SQLite's virtual machine between two looks at the clock. */
#define TOP_STEPS 500
/* Rows of a table at the first look, which shows a whole window. */
#define TOP_FIRST_ROWS 16384u
/* Where not all rows are read: so many in a row. */
#define TOP_BLOCK   64u
#define TOP_CHUNK   256u
#define TOP_LOOKS   32
#define TOP_KNOWN   512u
#define TOP_BUSY_MS 20
/* The result of a poll; its row stands for many. */
#define TOP_NOT_READY 600

static const char *const top_sql[] = {
#define GV_SQL(name, help, text) text,
#include "report/commands_top_read.inc"
#undef GV_SQL
};

struct top_op {
    int64_t start_ns, end_ns, call;
    size_t device;
};

/* A call with a stack: its line is looked up when no statement holds the trace. */
struct top_stacked {
    int64_t stack, one_of, start_ns, duration_ns;
    uint64_t work;
    char name[72], class_name[16];
};

/* One look. */
struct top_look {
    struct gv_top *top;
    double weight;  /* rows for which each row stands */
    bool is_sample; /* there are rows between this block and the one before */
    struct top_op ops[TOP_FIRST_ROWS];
    size_t op_count;
    struct top_stacked stacked[TOP_CHUNK];
    size_t stacked_count;
};

/* What a stack stands for. */
static struct {
    int64_t stack;
    uint64_t line;
} top_known[TOP_KNOWN];

static int64_t top_now_ns(void)
{
    return (int64_t)gv_monotonic_ns();
}

/* ---- the read transaction ---- */

static int top_look_at_clock(void *context)
{
    struct gv_top *top = context;

    top->is_late |= top->began_ns && top_now_ns() - top->began_ns > TOP_READ_NS;
    return top->is_late;
}

static int top_begin(struct gv_top *top)
{
    top->is_late = false;
    top->began_ns = top_now_ns();
    return gv_database_error(top->trace, sqlite3_exec(top->trace, "BEGIN", NULL, NULL, NULL));
}

static void top_end(struct gv_top *top)
{
    for (int i = 0; i < GV_TOP_STATEMENTS; i++)
        sqlite3_reset(top->statements[i]);
    if (!sqlite3_get_autocommit(top->trace))
        sqlite3_exec(top->trace, "COMMIT", NULL, NULL, NULL);
    top->began_ns = 0;
    top->is_late = false;
}

/* Lets the collector write, if it has waited for long enough. */
static int top_pause(struct gv_top *top)
{
    if (top_now_ns() - top->began_ns < TOP_PAUSE_NS)
        return 0;
    top_end(top);
    return top_begin(top);
}

static sqlite3_stmt *top_ask(struct gv_top *top, enum gv_top_statement which, const int64_t *values,
                             int count)
{
    sqlite3_stmt *rows = top->statements[which];

    sqlite3_reset(rows);
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(rows, i + 1, values[i]);
    return rows;
}

/* A single row. 1: there is one; 0; or -errno. */
static int top_row(struct gv_top *top, enum gv_top_statement which, const int64_t *values,
                   int count, sqlite3_stmt **row)
{
    *row = top_ask(top, which, values, count);
    int result = sqlite3_step(*row);

    return result == SQLITE_ROW ? 1 : gv_database_error(top->trace, result);
}

static const char *top_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

static uint64_t top_key(const char *text)
{
    return gv_mix_bytes(0, text, strlen(text));
}

/* ---- lines ---- */

/* The line of the program that a stack stands for. NULL: not known. */
static struct gv_top_item *top_line(struct gv_top *top, int64_t stack)
{
    size_t slot = (size_t)((uint64_t)stack % TOP_KNOWN);
    struct gv_top_item *item = NULL;
    char text[GV_TOP_TEXT_BYTES] = "";

    if (top_known[slot].stack == stack)
        item = gv_top_item_find(&top->lines, top_known[slot].line);
    if (item || stack == 0 || gv_stack_text(top->trace, stack, 1, text, sizeof(text)) != 0 ||
        !text[0])
        return item;
    top_known[slot].stack = stack;
    top_known[slot].line = top_key(text);
    item = gv_top_item_find(&top->lines, top_known[slot].line);
    return item ? item : gv_top_item_add(&top->lines, top_known[slot].line, text);
}

/* ---- what happened ---- */

/* Comes to the front of the list. */
static void top_event(struct gv_top *top, const struct gv_top_event *event)
{
    struct gv_top_event all = *event;
    size_t i = 0;

    while (i < top->event_count && (top->events[i].is_idle != event->is_idle ||
                                    strcmp(top->events[i].what, event->what) != 0 ||
                                    strcmp(top->events[i].where, event->where) != 0))
        i++;
    if (i < top->event_count) {
        all.count += top->events[i].count;
        if (top->events[i].longest_ns > all.longest_ns)
            all.longest_ns = top->events[i].longest_ns;
    } else if (top->event_count < GV_TOP_EVENTS) {
        top->event_count++;
    } else {
        i--;
    }
    memmove(&top->events[1], &top->events[0], i * sizeof(top->events[0]));
    top->events[0] = all;
}

/* A call that took long, and that the program did not make in order to wait. */
static void top_slow_call(struct gv_top *top, int64_t start_ns, int64_t duration_ns,
                          const char *name, const char *class_name, int64_t stack)
{
    struct gv_top_event event = {.count = 1, .last_ns = start_ns, .longest_ns = duration_ns};
    const struct gv_top_item *line;

    if (duration_ns < GV_TOP_CALL_NS ||
        gv_cause_is_expected(gv_stall_rule_find(name, class_name)->cause))
        return;
    line = top_line(top, stack);
    snprintf(event.what, sizeof(event.what), "%s", name);
    snprintf(event.where, sizeof(event.where), "%s", line ? line->text : "");
    top_event(top, &event);
}

/* What the looks at a thread say of a time; at any thread if that has none. */
static void top_reason(const struct gv_top *top, int64_t thread, int64_t start_ns, int64_t end_ns,
                       char *out, size_t size)
{
    const struct gv_top_look *most = NULL;
    int most_count = 0;

    for (size_t i = 0; i < GV_TOP_LOOKS; i++) {
        const struct gv_top_look *one = &top->recent[i];
        int count = 0;
        if (!one->text[0] || one->at_ns < start_ns || one->at_ns > end_ns || one->thread != thread)
            continue;
        for (size_t j = i; j < GV_TOP_LOOKS; j++)
            count += top->recent[j].thread == thread && top->recent[j].at_ns >= start_ns &&
                     top->recent[j].at_ns <= end_ns && strcmp(top->recent[j].text, one->text) == 0;
        if (count > most_count) {
            most = one;
            most_count = count;
        }
    }
    snprintf(out, size, "%s", most ? most->text : "in CUDA calls, or not seen");
}

static void top_idle(struct gv_top *top, int64_t start_ns, const struct top_op *next)
{
    int64_t idle_ns = next->start_ns - start_ns;
    struct gv_top_event event = {
        .is_idle = true, .count = 1, .last_ns = start_ns, .longest_ns = idle_ns};
    const int64_t gap[] = {start_ns, next->start_ns};
    sqlite3_stmt *row;
    int64_t thread = 0;
    /* Work in between may not have been seen: between windows, or while recording was stopped. */
    bool is_known =
        top_row(top, GV_TOP_UNSEEN_PART, gap, 2, &row) == 1 && !sqlite3_column_int(row, 0);

    sqlite3_reset(row);
    if (!is_known)
        return;
    if (top_row(top, GV_TOP_THREAD_OF, &next->call, 1, &row) == 1)
        thread = sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    top_reason(top, thread, start_ns, next->start_ns, event.what, sizeof(event.what));
    top_event(top, &event);
}

/* ---- calls ---- */

static void top_take_call(struct top_look *look, sqlite3_stmt *row)
{
    struct gv_top *top = look->top;
    const char *class_name = top_text(row, 1);
    int64_t start_ns = gv_time_column(row, 2), duration_ns = gv_time_column_duration(row, 3);
    int64_t end_ns = gv_time_sum(start_ns, duration_ns), thread = sqlite3_column_int64(row, 8);
    double count = look->weight * (double)sqlite3_column_int64(row, 9); /* polls share a row */

    for (size_t i = 0; i < top->thread_count; i++)
        if (top->threads[i].id == thread && end_ns > top->threads[i].called_ns)
            top->threads[i].called_ns = end_ns;
    gv_top_series_add(&top->call_count, end_ns, count);
    if (strcmp(class_name, "launch") == 0)
        gv_top_series_add(&top->launch_count, end_ns, look->weight);
    if (strcmp(class_name, "copy") == 0) {
        gv_top_series_add(&top->copy_count, end_ns, look->weight);
        gv_top_series_add(&top->copy_bytes, end_ns,
                          look->weight * (double)sqlite3_column_int64(row, 4));
    }
    if (end_ns > top->call_ns)
        top->call_ns = end_ns;
    /* Those with a stack have been seen: top_take_stack(). */
    if (duration_ns >= GV_TOP_CALL_NS && sqlite3_column_type(row, 6) == SQLITE_NULL &&
        sqlite3_column_int64(row, 7) != TOP_NOT_READY)
        top_slow_call(top, start_ns, duration_ns, top_text(row, 5), class_name, 0);
}

static void top_take_stack(struct top_look *look, sqlite3_stmt *row)
{
    struct top_stacked *one = &look->stacked[look->stacked_count];

    if (sqlite3_column_int64(row, 7) == TOP_NOT_READY || look->stacked_count == TOP_CHUNK)
        return;
    look->stacked_count++;
    one->work = top_key(top_text(row, 8));
    one->stack = sqlite3_column_int64(row, 1);
    one->one_of = sqlite3_column_int64(row, 2);
    one->start_ns = gv_time_column(row, 3);
    one->duration_ns = gv_time_column_duration(row, 4);
    snprintf(one->name, sizeof(one->name), "%s", top_text(row, 5));
    snprintf(one->class_name, sizeof(one->class_name), "%s", top_text(row, 6));
}

static void top_settle_stack(struct gv_top *top, const struct top_stacked *one)
{
    struct gv_top_item *line = NULL, *work;

    top_slow_call(top, one->start_ns, one->duration_ns, one->name, one->class_name, one->stack);
    if (one->one_of > 0)
        line = top_line(top, one->stack);
    if (!line)
        return;
    gv_top_series_add(&line->count, one->start_ns, (double)one->one_of);
    uint64_t key = gv_mix(one->work, line->key);
    work = gv_top_item_find(&top->works, key);
    if (!work)
        work = gv_top_item_add(&top->works, key, "");
    work->work = one->work;
    work->line = line->key;
    gv_top_series_add(&work->count, one->start_ns, (double)one->one_of);
}

/* ---- GPU operations ---- */

static size_t top_device_of_uuid(struct gv_top *top, const char *uuid)
{
    struct gv_top_device *device = top->devices;
    sqlite3_stmt *row;

    for (size_t i = 0; i < top->device_count; i++)
        if (strcmp(top->devices[i].uuid, uuid) == 0)
            return i + 1;
    if (top->device_count >= GV_TOP_DEVICES)
        return 0;
    device += top->device_count++;
    memset(device, 0, sizeof(*device));
    snprintf(device->uuid, sizeof(device->uuid), "%s", uuid);
    row = top_ask(top, GV_TOP_DEVICE_NAME, NULL, 0);
    sqlite3_bind_text(row, 1, device->uuid, -1, SQLITE_STATIC);
    if (sqlite3_step(row) == SQLITE_ROW)
        snprintf(device->name, sizeof(device->name), "%s", top_text(row, 0));
    sqlite3_reset(row);
    return top->device_count;
}

/* + 1; 0: one too many. */
static size_t top_device(struct gv_top *top, int64_t process, int64_t number)
{
    const int64_t values[] = {process, number};
    char uuid[64] = "";
    sqlite3_stmt *row;
    size_t i;

    for (i = 0; i < GV_TOP_PAIRS && top->pairs[i].device; i++)
        if (top->pairs[i].process == process && top->pairs[i].number == number)
            return top->pairs[i].device;
    if (i == GV_TOP_PAIRS) { /* of processes that have long ended, mostly */
        memset(top->pairs, 0, sizeof(top->pairs));
        i = 0;
    }
    if (top_row(top, GV_TOP_DEVICE, values, 2, &row) == 1)
        snprintf(uuid, sizeof(uuid), "%s", top_text(row, 0));
    sqlite3_reset(row);
    if (!uuid[0])
        snprintf(uuid, sizeof(uuid), "device %lld", (long long)number);
    top->pairs[i] = (struct gv_top_pair){process, number, top_device_of_uuid(top, uuid)};
    return top->pairs[i].device;
}

static void top_take_name(struct top_look *look, sqlite3_stmt *row, int64_t start_ns,
                          int64_t duration_ns)
{
    struct gv_top *top = look->top;
    const char *kind = top_text(row, 1), *name = top_text(row, 2);
    uint64_t key = top_key(name);
    struct gv_top_item *item = gv_top_item_find(&top->kernels, key);
    char text[GV_KERNEL_NAME_BYTES];

    if (!item) {
        if (strcmp(kind, "kernel") == 0)
            gv_kernel_name_short(name, text, sizeof(text));
        else if (strcmp(kind, "copy") == 0)
            snprintf(text, sizeof(text), "copy %s", name);
        else
            snprintf(text, sizeof(text), "%s", name);
        item = gv_top_item_add(&top->kernels, key, text[0] ? text : "?");
    }
    if (!item)
        return;
    item->work = top_key(top_text(row, 8));
    gv_top_series_add_time(&item->gpu_ns, start_ns, gv_time_sum(start_ns, duration_ns),
                           look->weight);
    gv_top_series_add(&item->count, start_ns, look->weight);
}

static void top_take_op(struct top_look *look, sqlite3_stmt *row)
{
    struct gv_top *top = look->top;
    int64_t start_ns = gv_time_column(row, 5), duration_ns = gv_time_column_duration(row, 6);
    int64_t call = sqlite3_column_int64(row, 7);
    size_t device = top_device(top, sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4));

    if (sqlite3_column_type(row, 5) == SQLITE_NULL)
        return;
    top_take_name(look, row, start_ns, duration_ns);
    if (device && look->op_count < TOP_FIRST_ROWS)
        look->ops[look->op_count++] =
            (struct top_op){start_ns, gv_time_sum(start_ns, duration_ns), call, device - 1};
}

static int top_compare_ops(const void *one, const void *other)
{
    const struct top_op *a = one, *b = other;

    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The devices' busy time. Operations come in about the order of their ends. */
static void top_settle_ops(struct top_look *look)
{
    struct gv_top *top = look->top;
    bool begun[GV_TOP_DEVICES] = {false};

    qsort(look->ops, look->op_count, sizeof(look->ops[0]), top_compare_ops);
    for (size_t i = 0; i < look->op_count; i++) {
        const struct top_op *op = &look->ops[i];
        struct gv_top_device *device = &top->devices[op->device];
        int64_t from_ns = op->start_ns;
        if (look->is_sample && !begun[op->device] && device->busy_until_ns > from_ns)
            device->busy_until_ns = from_ns;
        else if (device->seen && !look->is_sample &&
                 from_ns - device->busy_until_ns >= GV_TOP_IDLE_NS)
            top_idle(top, device->busy_until_ns, op);
        begun[op->device] = device->seen = true;
        if (device->busy_until_ns > from_ns)
            from_ns = device->busy_until_ns;
        if (op->end_ns <= from_ns)
            continue;
        gv_top_series_add_time(&device->busy_ns, from_ns, op->end_ns, look->weight);
        device->busy_until_ns = op->end_ns;
        if (op->end_ns > top->gpu_until_ns)
            top->gpu_until_ns = op->end_ns;
    }
    look->op_count = 0;
}

/* ---- tables of many rows ---- */

typedef void top_take(struct top_look *look, sqlite3_stmt *row);

/* Rows after `after`, at most `most`; *after moves. */
static int top_read_some(struct top_look *look, enum gv_top_statement which, int64_t *after,
                         int64_t until, size_t most, top_take *take, size_t *taken)
{
    const int64_t values[] = {*after, until, (int64_t)most};
    sqlite3_stmt *rows = top_ask(look->top, which, values, 3);
    size_t before = *taken;
    int result;

    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
        *after = sqlite3_column_int64(rows, 0);
        take(look, rows);
        (*taken)++;
    }
    sqlite3_reset(rows);
    if (result == SQLITE_DONE && *taken - before < most)
        *after = until;
    return gv_database_error(look->top->trace, result);
}

/* All new rows, or some of them from each part of the new ones. */
static int top_read_table(struct top_look *look, enum gv_top_statement which,
                          struct gv_top_cursor *cursor, int64_t last, size_t rows, top_take *take)
{
    int64_t count = last - cursor->id;
    size_t blocks = rows / TOP_BLOCK, taken = 0;
    int error = 0;

    if (count <= 0)
        return 0;
    look->weight = 1;
    look->is_sample = false;
    if ((uint64_t)count <= rows) {
        while (!error && cursor->id < last) {
            error = top_read_some(look, which, &cursor->id, last, TOP_CHUNK, take, &taken);
            if (!error)
                error = top_pause(look->top);
        }
        top_settle_ops(look);
    } else {
        int64_t begin = cursor->id, step = count / (int64_t)blocks, after;
        look->weight = (double)count / (double)(blocks * TOP_BLOCK);
        look->is_sample = true;
        cursor->id = last; /* what is not read now never is */
        /* The newest first, in case this takes too long. */
        for (size_t i = blocks; i-- > 0 && !error;) {
            after = begin + (int64_t)i * step + (int64_t)(random() % (step - TOP_BLOCK + 1));
            error = top_read_some(look, which, &after, last, TOP_BLOCK, take, &taken);
            top_settle_ops(look);
            if (!error)
                error = top_pause(look->top);
        }
    }
    cursor->share = look->is_sample ? (double)taken / (double)count : 1;
    return error;
}

/* They are few: what chooses them has a budget. */
static int top_read_stacks(struct top_look *look, int64_t last)
{
    struct gv_top *top = look->top;
    size_t taken = 0;
    int error = 0;

    look->stacked_count = 0;
    if (top->stacks.id < last)
        error = top_read_some(look, GV_TOP_STACKS, &top->stacks.id, last, TOP_CHUNK, top_take_stack,
                              &taken);
    for (size_t i = 0; i < look->stacked_count && !error; i++) {
        top_settle_stack(top, &look->stacked[i]);
        error = top_pause(top);
    }
    return error;
}

/* ---- looks at threads ---- */

static void top_name_thread(struct gv_top *top, struct gv_top_thread *thread)
{
    sqlite3_stmt *row;

    thread->tid = thread->id < 0 ? 0u - (uint32_t)thread->id : 0;
    if (top_row(top, GV_TOP_THREAD, &thread->id, 1, &row) == 1) {
        thread->tid = (uint32_t)sqlite3_column_int64(row, 0);
        snprintf(thread->name, sizeof(thread->name), "%s", top_text(row, 1));
    }
    sqlite3_reset(row);
}

static struct gv_top_thread *top_thread(struct gv_top *top, int64_t id)
{
    struct gv_top_thread *oldest = &top->threads[0];

    for (size_t i = 0; i < top->thread_count; i++) {
        if (top->threads[i].id == id)
            return &top->threads[i];
        if (top->threads[i].at_ns < oldest->at_ns)
            oldest = &top->threads[i];
    }
    if (top->thread_count < GV_TOP_THREADS)
        oldest = &top->threads[top->thread_count++];
    memset(oldest, 0, sizeof(*oldest));
    oldest->id = id;
    top_name_thread(top, oldest);
    return oldest;
}

static void top_take_look(void *context, const struct gv_idle_look *look)
{
    struct gv_top *top = context;
    struct gv_top_thread *thread = top_thread(top, look->thread);
    struct gv_top_look *recent = &top->recent[top->recent_next++ % GV_TOP_LOOKS];

    recent->at_ns = look->at_ns;
    recent->thread = look->thread;
    gv_idle_reason_say(look->reason, look->detail, look->where, recent->text, sizeof(recent->text));
    if (strcmp(recent->text, thread->text) != 0 ||
        look->at_ns - thread->at_ns > GV_TOP_SECOND_NS / 2)
        thread->since_ns = look->at_ns;
    memcpy(thread->text, recent->text, sizeof(thread->text));
    thread->at_ns = look->at_ns;
    if (look->at_ns > top->look_ns)
        top->look_ns = look->at_ns;
}

static int top_read_looks(struct gv_top *top, int64_t last)
{
    int64_t after = top->looked.id;
    int error;

    if (after >= last)
        return 0;
    if (last - after > (int64_t)TOP_CHUNK)
        after = last - TOP_CHUNK;
    if (gv_idle_looks_are_full(top->idle_looks)) {
        gv_idle_looks_close(top->idle_looks);
        error = gv_idle_looks_open(top->trace, &top->idle_looks);
        if (error)
            return error;
    }
    for (error = 0; after < last && !error; after = top->looked.id) {
        /* New stacks are remembered, also of looks that are given up because they take too long. */
        top->looked.id = last - after > TOP_LOOKS ? after + TOP_LOOKS : last;
        error = gv_idle_looks_read(top->idle_looks, after, top->looked.id, top_take_look, top);
        if (!error)
            error = top_pause(top);
    }
    return error;
}

/* ---- what NVML says, and what seldom changes ---- */

static int64_t top_number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, column);
}

static int top_read_samples(struct gv_top *top, int64_t last)
{
    const int64_t values[] = {top->samples.id, last};
    sqlite3_stmt *row = top_ask(top, GV_TOP_SAMPLES, values, 2);
    int result;

    while ((result = sqlite3_step(row)) == SQLITE_ROW) {
        size_t found = top_device_of_uuid(top, top_text(row, 1));
        struct gv_top_device *device = found ? &top->devices[found - 1] : NULL;
        top->samples.id = sqlite3_column_int64(row, 0);
        if (!device)
            continue;
        device->sampled = true;
        device->at_ns = gv_time_column(row, 2);
        device->gpu_percent = top_number(row, 3);
        device->used_bytes = top_number(row, 4);
        device->power_mw = top_number(row, 5);
        device->clock_mhz = top_number(row, 6);
        device->temperature_c = top_number(row, 7);
    }
    sqlite3_reset(row);
    return gv_database_error(top->trace, result);
}

static int top_read_facts(struct gv_top *top)
{
    sqlite3_stmt *row;
    int found = top_row(top, GV_TOP_FACTS, NULL, 0, &row);

    if (found == 1) {
        top->lost = sqlite3_column_int64(row, 0);
        top->processes = sqlite3_column_int64(row, 1);
        if (sqlite3_column_int64(row, 2) > top->gpu_until_ns)
            top->gpu_until_ns = gv_time_column(row, 2);
        top->complete = sqlite3_column_int(row, 3) != 0;
        top->gpu_seen = sqlite3_column_int64(row, 4) > 0;
        if (!top->session)
            top->now_ns = gv_time_column(row, 6);
    }
    sqlite3_reset(row);
    if (found < 0)
        return found;
    found = top_row(top, GV_TOP_ROOT, NULL, 0, &row);
    if (found == 1) {
        snprintf(top->program, sizeof(top->program), "%s", top_text(row, 0));
        top->pid = sqlite3_column_int64(row, 1);
        snprintf(top->gpu_why, sizeof(top->gpu_why), "%s", top_text(row, 2));
    }
    sqlite3_reset(row);
    if (found < 0)
        return found;
    found = top_row(top, GV_TOP_UNSEEN, NULL, 0, &row);
    snprintf(top->unseen, sizeof(top->unseen), "%s", found == 1 ? top_text(row, 0) : "");
    sqlite3_reset(row);
    return found < 0 ? found : 0;
}

/* ---- a look ---- */

static int top_read_last(struct gv_top *top, int64_t last[4])
{
    sqlite3_stmt *row;
    int found = top_row(top, GV_TOP_LAST, NULL, 0, &row);

    for (int i = 0; i < 4; i++)
        last[i] = found == 1 ? sqlite3_column_int64(row, i) : 0;
    sqlite3_reset(row);
    return found < 0 ? found : 0;
}

/* The row after which the window begins. Rows are in the order of time, about. */
static int top_find_start(struct gv_top *top, enum gv_top_statement which, int64_t last,
                          int64_t span_ns, int64_t *start)
{
    int64_t low = 0, high = last, newest_ns = 0;
    sqlite3_stmt *row;
    int found = top_row(top, which, &last, 1, &row);

    if (found == 1)
        newest_ns = gv_time_column(row, 1);
    sqlite3_reset(row);
    while (found >= 0 && low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        found = top_row(top, which, &middle, 1, &row);
        if (found == 1 && gv_time_column(row, 1) >= newest_ns - span_ns)
            high = middle;
        else
            low = middle;
        sqlite3_reset(row);
    }
    *start = low;
    return found < 0 ? found : 0;
}

/* Begins with the newest window, so that the first picture has something in it. */
static int top_read_first(struct gv_top *top)
{
    int64_t last[4];
    int error = top_begin(top);

    if (!error)
        error = top_read_last(top, last);
    if (!error)
        error = top_find_start(top, GV_TOP_CALL_AT, last[0], top->window_ns * 2, &top->calls.id);
    if (!error)
        error = top_find_start(top, GV_TOP_OP_AT, last[1], top->window_ns * 2, &top->ops.id);
    if (!error)
        error = top_read_facts(top);
    bool is_late = top->is_late;
    top_end(top);
    if (error)
        return is_late ? -EINTR : error;
    top->stacks.id = top->calls.id;
    top->looked.id = last[2] > (int64_t)TOP_CHUNK ? last[2] - (int64_t)TOP_CHUNK : 0;
    top->samples.id = last[3] > GV_TOP_DEVICES ? last[3] - GV_TOP_DEVICES : 0;
    return 0;
}

static int top_read_new(struct top_look *look, size_t rows)
{
    struct gv_top *top = look->top;
    int64_t last[4];
    int error = top_read_last(top, last);

    if (!error && top_now_ns() - top->facts_ns >= GV_TOP_SECOND_NS / 2) {
        error = top_read_facts(top);
        top->facts_ns = top_now_ns();
    }
    if (!error)
        error = top_read_samples(top, last[3]);
    if (!error)
        error = top_read_looks(top, last[2]);
    if (!error)
        error = top_read_stacks(look, last[0]);
    if (last[0] > top->calls.id)
        top->moved_ns = top_now_ns();
    if (!error)
        error = top_read_table(look, GV_TOP_CALLS, &top->calls, last[0], rows, top_take_call);
    if (!error)
        error = top_read_table(look, GV_TOP_OPS, &top->ops, last[1], rows, top_take_op);
    return error;
}

int gv_top_read(struct gv_top *top)
{
    struct top_look *look = calloc(1, sizeof(*look));
    bool first = top->facts_ns == 0;
    int error = look ? 0 : -ENOMEM;

    if (!error && first)
        error = top_read_first(top);
    if (!error) {
        look->top = top;
        error = top_begin(top);
        if (!error)
            error = top_read_new(look, first ? TOP_FIRST_ROWS : top->rows);
        if (top->is_late)
            error = -EINTR;
        top_end(top);
    }
    free(look);
    return error;
}

int gv_top_open(struct gv_top *top)
{
    int error = gv_trace_open_bare(top->path, &top->trace);

    if (!error && stat(top->path, &top->identity) < 0)
        error = -errno;
    for (int i = 0; i < GV_TOP_STATEMENTS && !error; i++)
        error = gv_database_error(top->trace, sqlite3_prepare_v3(top->trace, top_sql[i], -1,
                                                                 SQLITE_PREPARE_PERSISTENT,
                                                                 &top->statements[i], NULL));
    if (!error)
        error = gv_idle_looks_open(top->trace, &top->idle_looks);
    if (!error && !(top->recent = calloc(GV_TOP_LOOKS, sizeof(*top->recent))))
        error = -ENOMEM;
    if (!error && !(top->works.list = calloc(GV_TOP_ITEMS, sizeof(struct gv_top_item))))
        error = -ENOMEM;
    if (!error && !(top->kernels.list = calloc(GV_TOP_ITEMS, sizeof(struct gv_top_item))))
        error = -ENOMEM;
    if (!error && !(top->lines.list = calloc(GV_TOP_ITEMS, sizeof(struct gv_top_item))))
        error = -ENOMEM;
    if (error)
        return error;
    sqlite3_busy_timeout(top->trace, TOP_BUSY_MS);
    sqlite3_progress_handler(top->trace, TOP_STEPS, top_look_at_clock, top);
    return 0;
}

void gv_top_close(struct gv_top *top)
{
    gv_idle_looks_close(top->idle_looks);
    for (int i = 0; i < GV_TOP_STATEMENTS; i++)
        sqlite3_finalize(top->statements[i]);
    sqlite3_close(top->trace);
    free(top->recent);
    free(top->works.list);
    free(top->kernels.list);
    free(top->lines.list);
    top->trace = NULL;
}
