/* The data of a page's timeline. page/timeline.js reads it. */
#include "report/commands/export/export.h"

#include "report/analyse/names/kernel_name.h"
#include "report/store/time_sum.h"
#include "report/commands/export/slices.h"
#include "report/commands_export_timeline.inc"
#include "report/show/json.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GV_TIMELINE_TRACKS     1000u
#define GV_TIMELINE_NAMES      10000u
#define GV_TIMELINE_NAME_BYTES 1024

/* In the order of a page, those of a device or thread together. */
static const struct timeline_kind {
    const char *name, *sql;
    bool of_thread, links;
} timeline_kinds[] = {
    {"idle", sql_idle, false, true},        {"ops", sql_ops, false, true},
    {"steps", sql_steps, true, false},      {"ranges", sql_ranges, true, false},
    {"calls", sql_calls, true, false},      {"stalls", sql_stalls, true, true},
    {"calls", sql_unfinished, true, false},
};
enum { TIMELINE_OPS = 1, TIMELINE_CALLS = 4, TIMELINE_UNFINISHED = 6, TIMELINE_KINDS };

enum {
    COLUMN_PROCESS,
    COLUMN_A,
    COLUMN_B,
    COLUMN_NAME,
    COLUMN_CLASS,
    COLUMN_START,
    COLUMN_DURATION,
    COLUMN_ID,
    COLUMN_LINK,
    COLUMN_COUNT,
    COLUMN_BUSY
};

struct timeline_track {
    size_t kind;
    int64_t process, a, b;
    uint32_t number; /* as in slices */
    size_t count;    /* its slices */
    struct gv_slices_text index, body;
};

struct timeline_name {
    char *text, *shown; /* shown: NULL: text */
    char class[16];
    uint32_t number, count;
};

struct timeline {
    sqlite3 *trace;
    struct gv_json json;
    size_t kind; /* that is being read */
    struct gv_slices slices;
    struct timeline_track tracks[GV_TIMELINE_TRACKS]; /* by number until they are written */
    size_t track_count;
    struct gv_key_map track_of; /* 1 more than the number */
    void *tree;                 /* of names, for tsearch() */
    struct timeline_name *names[GV_TIMELINE_NAMES];
    size_t name_count;
    uint32_t codes[GV_TIMELINE_NAMES];
    uint32_t positions[GV_TIMELINE_TRACKS]; /* by number, once they are written */
    int64_t from_ns, until_ns, left_out;    /* left_out: slices of tracks beyond the limit */
};

/* ---- reading ---- */

static int timeline_name_compare(const void *left, const void *right)
{
    const struct timeline_name *one = left, *other = right;
    int order = strcmp(one->class, other->class);

    return order ? order : strcmp(one->text, other->text);
}

static void timeline_name_free(struct timeline_name *name)
{
    if (name) {
        free(name->text);
        free(name->shown);
    }
    free(name);
}

/* A name that is new. 0 or -ENOMEM. */
static int timeline_name_add(struct timeline *timeline, const struct timeline_name *like,
                             struct timeline_name **added)
{
    struct timeline_name *name = calloc(1, sizeof(*name));
    char shown[GV_KERNEL_NAME_BYTES];
    bool complete;

    if (!name)
        return -ENOMEM;
    *name = *like;
    name->number = (uint32_t)timeline->name_count;
    name->text = strdup(like->text);
    complete = name->text != NULL;
    if (strcmp(like->class, "kernel") == 0) {
        gv_kernel_name_short(like->text, shown, sizeof(shown));
        name->shown = strdup(shown);
        complete = complete && name->shown;
    }
    if (!complete || !tsearch(name, &timeline->tree, timeline_name_compare)) {
        timeline_name_free(name);
        return -ENOMEM;
    }
    timeline->names[timeline->name_count++] = name;
    *added = name;
    return 0;
}

/* Beyond the limit, all names of a class are one. */
static int timeline_name_find(struct timeline *timeline, const char *text, const char *class,
                              uint32_t *number)
{
    char key[GV_TIMELINE_NAME_BYTES];
    struct timeline_name like = {.text = key}, **found, *name = NULL;
    const size_t room_for_others = 64;
    int error = 0;

    snprintf(key, sizeof(key), "%s", text ? text : "?");
    snprintf(like.class, sizeof(like.class), "%s", class ? class : "");
    found = (struct timeline_name **)tfind(&like, &timeline->tree, timeline_name_compare);
    if (!found && timeline->name_count + room_for_others >= GV_TIMELINE_NAMES) {
        snprintf(key, sizeof(key), "others");
        found = (struct timeline_name **)tfind(&like, &timeline->tree, timeline_name_compare);
    }
    if (found)
        name = *found;
    else if (timeline->name_count < GV_TIMELINE_NAMES)
        error = timeline_name_add(timeline, &like, &name);
    else
        name = timeline->names[0];
    if (!error) {
        name->count++;
        *number = name->number;
    }
    return error;
}

/* 0; -ENOENT: the timeline has no room for a further track; -ENOMEM. */
static int timeline_track_find(struct timeline *timeline, size_t kind, int64_t process, int64_t a,
                               int64_t b, bool add, uint32_t *number)
{
    const struct gv_key key = {{(uint64_t)process << 3 | kind, (uint64_t)a, (uint64_t)b}};
    int64_t found = gv_key_map_find(&timeline->track_of, &key);

    if (!found && (!add || timeline->track_count == GV_TIMELINE_TRACKS))
        return -ENOENT;
    if (!found) {
        struct timeline_track *track = &timeline->tracks[timeline->track_count];
        found = (int64_t)timeline->track_count + 1;
        if (gv_key_map_add(&timeline->track_of, &key, found))
            return -ENOMEM;
        *track = (struct timeline_track){kind, process, a, b, (uint32_t)found - 1, 0, {0}, {0}};
        timeline->track_count++;
    }
    *number = (uint32_t)found - 1;
    return 0;
}

static int timeline_take(void *context, sqlite3_stmt *row)
{
    struct timeline *timeline = context;
    struct gv_slice slice = {
        .start_ns = gv_time_column(row, COLUMN_START),
        .duration_ns = gv_time_column_duration(row, COLUMN_DURATION),
        .id = sqlite3_column_int64(row, COLUMN_ID),
        .link = sqlite3_column_int64(row, COLUMN_LINK),
        .count = 1,
    };
    int64_t count = sqlite3_column_int64(row, COLUMN_COUNT);
    size_t kind = timeline->kind == TIMELINE_UNFINISHED ? TIMELINE_CALLS : timeline->kind;
    int error = timeline_track_find(timeline, kind, sqlite3_column_int64(row, COLUMN_PROCESS),
                                    sqlite3_column_int64(row, COLUMN_A),
                                    sqlite3_column_int64(row, COLUMN_B), true, &slice.track);

    if (error == -ENOENT) {
        timeline->left_out++;
        return 0;
    }
    if (!error)
        error =
            timeline_name_find(timeline, (const char *)sqlite3_column_text(row, COLUMN_NAME),
                               (const char *)sqlite3_column_text(row, COLUMN_CLASS), &slice.name);
    if (error)
        return error;
    if (sqlite3_column_type(row, COLUMN_DURATION) == SQLITE_NULL &&
        timeline->until_ns > slice.start_ns)
        slice.duration_ns = timeline->until_ns - slice.start_ns;
    slice.busy_ns = (float)slice.duration_ns;
    if (count > 1) {
        slice.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        slice.busy_ns = (float)gv_time_column_duration(row, COLUMN_BUSY);
    }
    if (gv_time_sum(slice.start_ns, slice.duration_ns) > timeline->until_ns)
        timeline->until_ns = gv_time_sum(slice.start_ns, slice.duration_ns);
    return gv_slices_add(&timeline->slices, &slice);
}

/* Those without an end last until the end of what was read before. */
static int timeline_read(struct timeline *timeline)
{
    static const size_t order[] = {TIMELINE_CALLS, TIMELINE_UNFINISHED, TIMELINE_OPS, 0, 5, 2, 3};
    int error = 0;

    _Static_assert(sizeof(order) / sizeof(order[0]) == TIMELINE_KINDS, "each kind is read");
    for (size_t i = 0; !error && i < TIMELINE_KINDS; i++) {
        timeline->kind = order[i];
        error = gv_database_each(timeline->trace, timeline_kinds[order[i]].sql, NULL, 0,
                                 timeline_take, timeline);
    }
    return error;
}

/* ---- writing ---- */

static int timeline_by_count(const void *left, const void *right)
{
    const struct timeline_name *one = *(struct timeline_name *const *)left;
    const struct timeline_name *other = *(struct timeline_name *const *)right;

    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static int timeline_by_place(const void *left, const void *right)
{
    const struct timeline_track *one = left, *other = right;
    const int64_t keys[][2] = {
        {one->process, other->process},
        {timeline_kinds[one->kind].of_thread, timeline_kinds[other->kind].of_thread},
        {one->a, other->a},
        {(int64_t)one->kind, (int64_t)other->kind},
        {one->b, other->b},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* Frequent names get short codes. */
static void timeline_encode_names(struct timeline *timeline)
{
    if (timeline->name_count > 0)
        qsort(timeline->names, timeline->name_count, sizeof(timeline->names[0]), timeline_by_count);
    for (size_t i = 0; i < timeline->name_count; i++)
        timeline->codes[timeline->names[i]->number] = (uint32_t)i + 1;
}

/* Writes each track as text. -EFBIG: it is longer than it may be. */
static int timeline_encode(struct timeline *timeline)
{
    const struct gv_slices *slices = &timeline->slices;
    size_t bytes = 0;
    int error = 0;

    for (size_t i = 0; i < timeline->track_count; i++) {
        timeline->tracks[i].index.count = timeline->tracks[i].body.count = 0;
        timeline->tracks[i].count = 0;
    }
    for (size_t first = 0, count; !error && first < slices->count; first += count) {
        struct timeline_track *track = &timeline->tracks[slices->list[first].track];
        for (count = 1;
             first + count < slices->count && slices->list[first + count].track == track->number;)
            count++;
        track->count = count;
        error = gv_slices_write(slices, first, count, timeline->from_ns, timeline->codes,
                                timeline_kinds[track->kind].links, &track->index, &track->body);
        bytes += track->index.count + track->body.count;
        if (!error && bytes > GV_SLICES_TEXT_BYTES)
            error = -EFBIG;
    }
    return error;
}

static int timeline_fit(struct timeline *timeline)
{
    const struct gv_slices *slices = &timeline->slices;
    int error;

    gv_slices_sort(&timeline->slices);
    timeline->from_ns = 0;
    for (size_t i = 0; i < slices->count; i++)
        if (slices->list[i].start_ns < timeline->from_ns)
            timeline->from_ns = slices->list[i].start_ns;
    timeline_encode_names(timeline);
    while ((error = timeline_encode(timeline)) == -EFBIG)
        gv_slices_merge(&timeline->slices);
    return error;
}

static int timeline_words(void *context, sqlite3_stmt *row)
{
    struct timeline *timeline = context;

    gv_json_text(&timeline->json, "process", (const char *)sqlite3_column_text(row, 0));
    gv_json_text(&timeline->json, "thread", (const char *)sqlite3_column_text(row, 1));
    return 0;
}

static int timeline_write_track(struct timeline *timeline, const struct timeline_track *track,
                                sqlite3_stmt *words)
{
    const int64_t of[] = {track->process, timeline_kinds[track->kind].of_thread ? track->a : 0};
    struct gv_json *json = &timeline->json;
    int error;

    gv_json_open(json, NULL, '{');
    gv_json_text(json, "kind", timeline_kinds[track->kind].name);
    error = gv_database_rows(words, of, 2, timeline_words, timeline);
    gv_json_number(json, "a", track->a);
    gv_json_number(json, "b", track->b);
    gv_json_number(json, "count", (int64_t)track->count);
    gv_json_bool(json, "links", timeline_kinds[track->kind].links);
    gv_json_bytes(json, "groups", track->index.bytes ? track->index.bytes : "", track->index.count);
    gv_json_bytes(json, "slices", track->body.bytes ? track->body.bytes : "", track->body.count);
    gv_json_close(json, '}');
    return error;
}

enum { ARROW_STALL, ARROW_IS_CALL, ARROW_PROCESS, ARROW_A, ARROW_B, ARROW_START, ARROW_DURATION };

static int timeline_arrow(void *context, sqlite3_stmt *row)
{
    struct timeline *timeline = context;
    size_t kind = sqlite3_column_int(row, ARROW_IS_CALL) ? TIMELINE_CALLS : TIMELINE_OPS;
    uint32_t number;
    int error = timeline_track_find(timeline, kind, sqlite3_column_int64(row, ARROW_PROCESS),
                                    sqlite3_column_int64(row, ARROW_A),
                                    sqlite3_column_int64(row, ARROW_B), false, &number);

    if (error)
        return error == -ENOENT ? 0 : error;
    gv_json_open(&timeline->json, NULL, '[');
    gv_json_number(&timeline->json, NULL, sqlite3_column_int64(row, ARROW_STALL));
    gv_json_number(&timeline->json, NULL, timeline->positions[number]);
    gv_json_number(&timeline->json, NULL, gv_time_column(row, ARROW_START));
    gv_json_number(&timeline->json, NULL, gv_time_column_duration(row, ARROW_DURATION));
    gv_json_close(&timeline->json, ']');
    return 0;
}

static void timeline_write_names(struct timeline *timeline)
{
    gv_json_open(&timeline->json, "names", '[');
    for (size_t i = 0; i < timeline->name_count; i++) {
        const struct timeline_name *name = timeline->names[i];
        gv_json_open(&timeline->json, NULL, '[');
        gv_json_text(&timeline->json, NULL, name->shown ? name->shown : name->text);
        gv_json_text(&timeline->json, NULL, name->class);
        gv_json_close(&timeline->json, ']');
    }
    gv_json_close(&timeline->json, ']');
}

static int timeline_write_tracks(struct timeline *timeline)
{
    sqlite3_stmt *words = NULL;
    int error = gv_database_error(timeline->trace,
                                  sqlite3_prepare_v2(timeline->trace, sql_words, -1, &words, NULL));

    if (timeline->track_count > 0)
        qsort(timeline->tracks, timeline->track_count, sizeof(timeline->tracks[0]),
              timeline_by_place);
    gv_json_open(&timeline->json, "tracks", '[');
    for (size_t i = 0; !error && i < timeline->track_count; i++) {
        timeline->positions[timeline->tracks[i].number] = (uint32_t)i;
        error = timeline_write_track(timeline, &timeline->tracks[i], words);
    }
    gv_json_close(&timeline->json, ']');
    sqlite3_finalize(words);
    return error;
}

static int timeline_write(struct timeline *timeline, FILE *out)
{
    struct gv_json *json = &timeline->json;
    int error;

    if (timeline->track_count == 0)
        return fputs("null", out) < 0 ? -EIO : 0;
    gv_json_begin(json, out, '{');
    gv_json_number(json, "from_ns", timeline->from_ns);
    gv_json_number(json, "until_ns", timeline->until_ns);
    gv_json_number(json, "unit_ns", INT64_C(1) << GV_SLICES_UNIT_SHIFT);
    gv_json_number(json, "merged_ns",
                   timeline->slices.merged_shift ? INT64_C(1) << timeline->slices.merged_shift : 0);
    gv_json_number(json, "left_out", timeline->left_out);
    gv_json_number(json, "group", GV_SLICES_GROUP);
    gv_json_text(json, "digits", gv_slices_digits);
    timeline_write_names(timeline);
    error = timeline_write_tracks(timeline);
    gv_json_open(json, "arrows", '[');
    if (!error)
        error = gv_database_each(timeline->trace, sql_arrows, NULL, 0, timeline_arrow, timeline);
    gv_json_close(json, ']');
    gv_json_end(json, '}');
    return error;
}

static void timeline_stays(void *name)
{
    (void)name;
}

int gv_timeline_write(sqlite3 *trace, FILE *out)
{
    struct timeline *timeline = calloc(1, sizeof(*timeline));
    int error;

    if (!timeline)
        return -ENOMEM;
    timeline->trace = trace;
    error = timeline_read(timeline);
    if (!error)
        error = timeline_fit(timeline);
    if (!error)
        error = timeline_write(timeline, out);
    for (size_t i = 0; i < timeline->track_count; i++) {
        free(timeline->tracks[i].index.bytes);
        free(timeline->tracks[i].body.bytes);
    }
    for (size_t i = 0; i < timeline->name_count; i++)
        timeline_name_free(timeline->names[i]);
    tdestroy(timeline->tree, timeline_stays);
    gv_key_map_free(&timeline->track_of);
    gv_slices_free(&timeline->slices);
    free(timeline);
    return error;
}
