#include "report/analyse/ranges/choice.h"

#include "report/analyse/ranges/membership.h"
#include "report/analyse/ranges/range_name.h"
#include "report/store/time_sum.h"
#include "report/analyse/time_union.h"
#include "report/analyse_ranges_choice.inc"
#include "report/show/format.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace may come from anybody: ids that are far too high for its rows are left out. */
#define SPARE_IDS   (INT64_C(1) << 16)
#define IDS_FOR_ROW 64

/* A set of ids. */
struct bits {
    uint8_t *bytes;
    size_t room;
    int64_t rows; /* that were seen */
};

/* When a process is in a chosen range. */
struct own_time {
    int64_t process, from_ns, to_ns;
};

struct gv_range_choice {
    char name[GV_RANGE_NAME_BYTES];
    int64_t ranges_count;
    struct bits ranges, calls;
    struct own_time *times; /* by process, then by time, without overlaps */
    size_t count, room;
    int64_t own_ns;
};

/* While the choice is being made. */
struct choosing {
    struct gv_range_choice *choice;
    const char *name;
    struct gv_key_map names; /* domain, text -> 1: chosen, 2: not */
    struct gv_membership *membership;
    struct bits threads; /* whose last call was in a chosen range */
    int64_t last_ns;
};

/* ---- sets ---- */

static bool bits_have(const struct bits *bits, int64_t id)
{
    return id > 0 && (uint64_t)id / 8 < bits->room && bits->bytes[id / 8] >> (id % 8) & 1;
}

static int bits_set(struct bits *bits, int64_t id, bool value)
{
    size_t at = (size_t)id / 8, room = bits->room ? bits->room : 64;
    uint8_t *bytes;

    bits->rows++;
    if (id <= 0 || id >= SPARE_IDS + bits->rows * IDS_FOR_ROW || (!value && at >= bits->room))
        return 0;
    while (room <= at)
        room *= 2;
    if (room > bits->room) {
        bytes = realloc(bits->bytes, room);
        if (!bytes)
            return -ENOMEM;
        memset(bytes + bits->room, 0, room - bits->room);
        bits->bytes = bytes;
        bits->room = room;
    }
    if (value)
        bits->bytes[at] |= (uint8_t)(1 << id % 8);
    else
        bits->bytes[at] &= (uint8_t) ~(1 << id % 8);
    return 0;
}

/* ---- the ranges ---- */

static int take_range(void *context, sqlite3_stmt *row)
{
    struct choosing *choosing = context;
    struct gv_range_choice *choice = choosing->choice;
    const struct gv_key key = {
        {(uint64_t)sqlite3_column_int64(row, 4), (uint64_t)sqlite3_column_int64(row, 5), 0}};
    int64_t known = gv_key_map_find(&choosing->names, &key);
    int error = 0;

    if (!known) {
        known = gv_range_name_matches(choosing->name, (const char *)sqlite3_column_text(row, 6),
                                      (const char *)sqlite3_column_text(row, 7))
                    ? 1
                    : 2;
        error = gv_key_map_add(&choosing->names, &key, known);
    }
    if (!error)
        error = bits_set(&choice->ranges, sqlite3_column_int64(row, 0), known == 1);
    if (error || known != 1)
        return error;
    error = gv_array_room(&choice->times, choice->count, &choice->room, sizeof(*choice->times));
    if (error)
        return error;
    struct own_time *time = &choice->times[choice->count++];
    *time = (struct own_time){sqlite3_column_int64(row, 1), gv_time_column(row, 2),
                              sqlite3_column_type(row, 3) == SQLITE_NULL ? INT64_MAX
                                                                         : gv_time_column(row, 3)};
    if (time->to_ns < time->from_ns) /* in a trace of anybody's */
        time->to_ns = time->from_ns;
    return 0;
}

static int compare_times(const void *left, const void *right)
{
    const struct own_time *one = left, *other = right;

    return one->from_ns < other->from_ns ? -1 : one->from_ns > other->from_ns;
}

static int compare_processes(const void *left, const void *right)
{
    const struct own_time *one = left, *other = right;

    if (one->process != other->process)
        return one->process < other->process ? -1 : 1;
    return compare_times(left, right);
}

/* Nothing is known after the last call. */
static void join_times(struct gv_range_choice *choice, int64_t last_ns)
{
    struct gv_time_union all = {0};
    size_t kept = 0;

    for (size_t i = 0; i < choice->count; i++)
        if (choice->times[i].to_ns == INT64_MAX)
            choice->times[i].to_ns =
                last_ns > choice->times[i].from_ns ? last_ns : choice->times[i].from_ns;
    if (choice->count)
        qsort(choice->times, choice->count, sizeof(*choice->times), compare_times);
    for (size_t i = 0; i < choice->count; i++)
        gv_time_union_add(&all, choice->times[i].from_ns, choice->times[i].to_ns);
    choice->own_ns = all.sum_ns;
    choice->ranges_count = (int64_t)choice->count;
    if (choice->count)
        qsort(choice->times, choice->count, sizeof(*choice->times), compare_processes);
    for (size_t i = 0; i < choice->count; i++) {
        const struct own_time *time = &choice->times[i];
        struct own_time *last = kept ? &choice->times[kept - 1] : NULL;
        if (!last || last->process != time->process || last->to_ns < time->from_ns)
            choice->times[kept++] = *time;
        else if (time->to_ns > last->to_ns)
            last->to_ns = time->to_ns;
    }
    choice->count = kept;
}

/* ---- the calls ---- */

static int take_call(void *context, sqlite3_stmt *row)
{
    struct choosing *choosing = context;
    struct gv_range_choice *choice = choosing->choice;
    int64_t call = sqlite3_column_int64(row, 0), thread = sqlite3_column_int64(row, 1);
    int64_t start_ns = gv_time_column(row, 2);
    int64_t end_ns = start_ns + gv_time_column_duration(row, 3);
    struct gv_member_of of;
    int error = gv_membership_of(choosing->membership, thread, call, start_ns, &of);

    if (end_ns > choosing->last_ns)
        choosing->last_ns = end_ns;
    if (!error && !of.same) {
        bool chosen = false;
        for (size_t i = 0; i < of.count && !chosen; i++)
            chosen = bits_have(&choice->ranges, of.ids[i]);
        error = bits_set(&choosing->threads, thread, chosen);
    }
    return error ? error : bits_set(&choice->calls, call, bits_have(&choosing->threads, thread));
}

/* ---- from the start to the end ---- */

int gv_range_choice_open(struct gv_range_choice **made, sqlite3 *trace, const char *name)
{
    struct gv_range_choice *choice = *made = calloc(1, sizeof(*choice));
    struct choosing choosing = {.choice = choice, .name = name};
    int error;

    if (!choice)
        return -ENOMEM;
    snprintf(choice->name, sizeof(choice->name), "%s", name);
    error = gv_database_each(trace, sql_named, NULL, 0, take_range, &choosing);
    if (!error && choice->count == 0)
        error = -ENOENT;
    if (!error)
        error = gv_membership_open(&choosing.membership, trace);
    if (!error)
        error = gv_database_each(trace, sql_calls, NULL, 0, take_call, &choosing);
    if (!error)
        join_times(choice, choosing.last_ns);
    gv_membership_close(choosing.membership);
    gv_key_map_free(&choosing.names);
    free(choosing.threads.bytes);
    return error;
}

void gv_range_choice_close(struct gv_range_choice *choice)
{
    if (!choice)
        return;
    free(choice->ranges.bytes);
    free(choice->calls.bytes);
    free(choice->times);
    free(choice);
}

/* ---- what is asked of it ---- */

bool gv_range_choice_has(const struct gv_range_choice *choice, int64_t call)
{
    return !choice || bits_have(&choice->calls, call);
}

static void in_ranges(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3_result_int(
        context, gv_range_choice_has(sqlite3_user_data(context), sqlite3_value_int64(values[0])));
}

int gv_range_choice_install(const struct gv_range_choice *choice, sqlite3 *trace)
{
    return gv_database_error(trace, sqlite3_create_function(trace, "gv_in_ranges", 1,
                                                            SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                                            (void *)choice, in_ranges, NULL, NULL));
}

bool gv_range_choice_cut(const struct gv_range_choice *choice, int64_t process, int64_t *from_ns,
                         int64_t *to_ns)
{
    size_t low = 0, high = choice->count;

    /* The first one of the process that ends later. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct own_time *time = &choice->times[middle];
        if (time->process < process || (time->process == process && time->to_ns <= *from_ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == choice->count || choice->times[low].process != process ||
        choice->times[low].from_ns >= *to_ns)
        return false;
    if (choice->times[low].from_ns > *from_ns)
        *from_ns = choice->times[low].from_ns;
    if (choice->times[low].to_ns < *to_ns)
        *to_ns = choice->times[low].to_ns;
    return *from_ns < *to_ns;
}

int64_t gv_range_choice_own_ns(const struct gv_range_choice *choice)
{
    return choice->own_ns;
}

void gv_range_choice_say(const struct gv_range_choice *choice, char *out, size_t size)
{
    char took[GV_FORMAT_BYTES];

    snprintf(out, size, "%" PRId64 " range%s '%s', which took %s", choice->ranges_count,
             choice->ranges_count == 1 ? "" : "s", choice->name,
             gv_format_duration(took, choice->own_ns));
}
