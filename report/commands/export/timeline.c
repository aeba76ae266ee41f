/* The data of a page's timeline. page/timeline.js reads it. */
#include "report/commands/export/export.h"

#include "report/store/time_sum.h"
#include "report/commands/export/slices.h"
#include "report/commands/export/tracks.h"
#include "report/commands/statement_rows.h"
#include "report/commands_export_timeline.inc"
#include "report/show/json.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include "trace/mix.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GV_TIMELINE_ROWS       1000u
#define GV_TIMELINE_NAMES      10000u
#define GV_TIMELINE_NAME_BYTES 1024
/* Rows of a track whose pieces are inside each other. */
#define GV_TIMELINE_DEPTH 16u
/* Points of a counter; an even number. */
#define GV_TIMELINE_POINTS 4096u

struct timeline_row {
    uint32_t track, depth;
    size_t count; /* its slices */
    struct gv_slices_text index, body;
};

struct timeline_name {
    char *text, class[16];
};

/* The mean of one sample or of several. */
struct timeline_point {
    int64_t from_ns, length_ns;
    double value;
};

/* Of a longer trace, each point is of more samples. */
struct timeline_counter {
    uint32_t track;
    size_t count, of_each, of_last;
    struct timeline_point points[GV_TIMELINE_POINTS];
};

struct timeline {
    struct gv_json json;
    struct gv_slices slices;
    struct gv_track *tracks; /* by their ids, from 1 */
    size_t track_count, track_room;
    struct timeline_counter **counters;
    size_t counter_count, counter_room;
    struct timeline_row rows[GV_TIMELINE_ROWS];
    struct timeline_name names[GV_TIMELINE_NAMES];
    size_t row_count, name_count;
    struct gv_key_map row_of, name_of; /* 1 more than the number of a track and depth, of a name */
    int64_t until_ns, left_out;        /* left_out: slices of rows beyond the limit */
};

/* ---- reading ---- */

/* Beyond the limit, all names of a class are one. 0 or -ENOMEM. */
static int timeline_name_find(struct timeline *timeline, const char *text, const char *class,
                              uint32_t *number)
{
    const size_t room_for_others = 64;
    struct gv_key key = {{0, gv_mix_bytes(0, class, strlen(class)), 0}};
    struct timeline_name *name;

    for (int i = 0; i < 2; i++) {
        key.part[0] = gv_mix_bytes(0, text, strlen(text));
        key.part[2] = gv_mix_bytes(1, text, strlen(text));
        *number = (uint32_t)gv_key_map_find(&timeline->name_of, &key);
        if (*number || timeline->name_count + room_for_others < GV_TIMELINE_NAMES)
            break;
        text = "others";
    }
    if (*number == 0 && timeline->name_count == GV_TIMELINE_NAMES)
        *number = 1;
    if (*number == 0) {
        name = &timeline->names[timeline->name_count];
        name->text = strdup(text);
        if (!name->text ||
            gv_key_map_add(&timeline->name_of, &key, (int64_t)timeline->name_count + 1)) {
            free(name->text);
            return -ENOMEM;
        }
        snprintf(name->class, sizeof(name->class), "%s", class);
        *number = (uint32_t)++timeline->name_count;
    }
    return 0;
}

/* 0; -ENOENT: the timeline has no room for a further row; -ENOMEM. */
static int timeline_row_find(struct timeline *timeline, uint32_t track, uint32_t depth,
                             uint32_t *number)
{
    const struct gv_key key = {{track, depth, 0}};
    int64_t found = gv_key_map_find(&timeline->row_of, &key);

    if (!found && timeline->row_count == GV_TIMELINE_ROWS)
        return -ENOENT;
    if (!found) {
        found = (int64_t)timeline->row_count + 1;
        if (gv_key_map_add(&timeline->row_of, &key, found))
            return -ENOMEM;
        timeline->rows[timeline->row_count++] =
            (struct timeline_row){.track = track, .depth = depth};
    }
    *number = (uint32_t)found - 1;
    return 0;
}

static int timeline_track(void *context, const struct gv_track *track)
{
    struct timeline *timeline = context;
    struct gv_track *kept;

    if (gv_array_room(&timeline->tracks, timeline->track_count, &timeline->track_room,
                      sizeof(*track)))
        return -ENOMEM;
    kept = &timeline->tracks[timeline->track_count++];
    *kept = *track;
    kept->name = strdup(track->name);
    kept->unit = track->unit ? strdup(track->unit) : NULL;
    return kept->name && !kept->unit == !track->unit ? 0 : -ENOMEM;
}

/* Another id that its pieces have: an argument of theirs. NULL: none. */
static const char *timeline_link(const struct gv_track *track)
{
    return strcmp(track->kind, "stream") == 0 ? "call"
           : strcmp(track->kind, "idle") == 0 ? "next_call"
                                              : NULL;
}

static const struct gv_track_argument *timeline_argument(const struct gv_track_piece *piece,
                                                         const char *name)
{
    for (int i = 0; i < piece->argument_count; i++)
        if (strcmp(piece->arguments[i].name, name) == 0)
            return &piece->arguments[i];
    return NULL;
}

static int64_t timeline_number(const struct gv_track_piece *piece, const char *name)
{
    const struct gv_track_argument *argument = timeline_argument(piece, name);

    /* A damaged trace may have anything there. */
    return argument && !argument->text && !argument->is_real && argument->number > 0
               ? argument->number
               : 0;
}

/* Steps share a name: their ids tell them apart. */
static void timeline_name(const struct gv_track_piece *piece, char name[GV_TIMELINE_NAME_BYTES])
{
    const struct gv_track_argument *domain = timeline_argument(piece, "domain");
    char *number;

    snprintf(name, GV_TIMELINE_NAME_BYTES, "%s%s%s%s", domain && domain->text ? domain->text : "",
             domain && domain->text ? ": " : "", piece->name,
             timeline_argument(piece, "elapsed_ns") ? " (did not return)" : "");
    if (strcmp(piece->category, "step") == 0 && (number = strrchr(name, ' ')))
        *number = '\0';
}

static int timeline_piece(void *context, const struct gv_track_piece *piece)
{
    struct timeline *timeline = context;
    const struct gv_track *track = &timeline->tracks[piece->track - 1];
    uint32_t depth = piece->depth < GV_TIMELINE_DEPTH ? piece->depth : GV_TIMELINE_DEPTH - 1;
    int64_t end_ns = piece->end_ns, count = timeline_number(piece, "count");
    const char *link = timeline_link(track);
    struct gv_slice slice = {.start_ns = piece->start_ns, .id = piece->id, .count = 1};
    char name[GV_TIMELINE_NAME_BYTES];
    int error;

    /* When short idle times were that one stands for is not known. */
    if (piece->extent == GV_TRACK_MOMENT && end_ns == piece->start_ns &&
        track->shape != GV_TRACK_NESTED)
        return 0;
    error = timeline_row_find(timeline, piece->track, depth, &slice.track);
    if (error == -ENOENT) {
        timeline->left_out++;
        return 0;
    }
    timeline_name(piece, name);
    if (!error)
        error = timeline_name_find(timeline, name, piece->category, &slice.name);
    if (error)
        return error;
    if (piece->extent == GV_TRACK_OPEN) {
        end_ns = gv_time_sum(end_ns, timeline_number(piece, "elapsed_ns"));
        if (end_ns == piece->start_ns && timeline->until_ns > end_ns)
            end_ns = timeline->until_ns;
    }
    if (end_ns > timeline->until_ns)
        timeline->until_ns = end_ns;
    slice.duration_ns = end_ns - piece->start_ns;
    slice.busy_ns = (float)slice.duration_ns;
    slice.link = link ? timeline_number(piece, link) : 0;
    if (count > 1) {
        slice.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        slice.busy_ns = (float)timeline_number(piece, "in_calls_ns");
    }
    return gv_slices_add(&timeline->slices, &slice);
}

static void timeline_point_add(struct timeline_point *to, const struct timeline_point *next)
{
    int64_t length_ns = gv_time_sum(to->length_ns, next->length_ns);

    if (length_ns > 0)
        to->value = (to->value * (double)to->length_ns + next->value * (double)next->length_ns) /
                    (double)length_ns;
    to->length_ns = length_ns;
}

static int timeline_count(void *context, uint32_t track, int64_t at_ns, int64_t length_ns,
                          double value)
{
    struct timeline *timeline = context;
    struct timeline_point point = {at_ns - length_ns, length_ns, value};
    struct timeline_counter *counter = NULL;

    for (size_t i = timeline->counter_count; i-- > 0 && !counter;)
        if (timeline->counters[i]->track == track)
            counter = timeline->counters[i];
    if (!counter) {
        if (gv_array_room(&timeline->counters, timeline->counter_count, &timeline->counter_room,
                          sizeof(counter)) ||
            !(counter = calloc(1, sizeof(*counter))))
            return -ENOMEM;
        counter->track = track;
        counter->of_each = counter->of_last = 1;
        timeline->counters[timeline->counter_count++] = counter;
    }
    if (counter->of_last < counter->of_each) {
        counter->of_last++;
        timeline_point_add(&counter->points[counter->count - 1], &point);
        return 0;
    }
    if (counter->count == GV_TIMELINE_POINTS) {
        counter->count /= 2;
        counter->of_each *= 2;
        for (size_t i = 0; i < counter->count; i++) {
            counter->points[i] = counter->points[2 * i];
            timeline_point_add(&counter->points[i], &counter->points[2 * i + 1]);
        }
    }
    counter->points[counter->count++] = point;
    counter->of_last = 1;
    return 0;
}

/* ---- writing ---- */

/* Writes each row as text. -EFBIG: it is longer than it may be. */
static int timeline_encode(struct timeline *timeline)
{
    const struct gv_slices *slices = &timeline->slices;
    size_t bytes = 0;
    int error = 0;

    for (size_t first = 0, count; !error && first < slices->count; first += count) {
        uint32_t number = slices->list[first].track;
        struct timeline_row *row = &timeline->rows[number];
        for (count = 1;
             first + count < slices->count && slices->list[first + count].track == number;)
            count++;
        row->count = count;
        row->index.count = row->body.count = 0;
        error = gv_slices_write(slices, first, count,
                                timeline_link(&timeline->tracks[row->track - 1]) != NULL,
                                &row->index, &row->body);
        bytes += row->index.count + row->body.count;
        if (!error && bytes > GV_SLICES_TEXT_BYTES)
            error = -EFBIG;
    }
    return error;
}

static void timeline_write_row(struct gv_json *json, const struct timeline_row *row)
{
    gv_json_open(json, NULL, '{');
    gv_json_number(json, "track", row->track);
    gv_json_number(json, "depth", row->depth);
    gv_json_number(json, "count", (int64_t)row->count);
    gv_json_bytes(json, "groups", row->index.bytes ? row->index.bytes : "", row->index.count);
    gv_json_bytes(json, "slices", row->body.bytes ? row->body.bytes : "", row->body.count);
    gv_json_close(json, '}');
}

static void timeline_write_track(struct gv_json *json, const struct gv_track *track)
{
    gv_json_open(json, NULL, '{');
    gv_json_text(json, "kind", track->kind);
    gv_json_text(json, "name", track->name);
    gv_json_number(json, "of", track->of);
    gv_json_number(json, "parent", track->parent);
    gv_json_number(json, "pid", track->pid);
    gv_json_number(json, "tid", track->tid);
    gv_json_number(json, "rank", track->rank);
    gv_json_bool(json, "links", timeline_link(track) != NULL);
    gv_json_close(json, '}');
}

/* Of each point: microseconds since the end of the one before, its length, the value. */
static void timeline_write_counter(struct timeline *timeline,
                                   const struct timeline_counter *counter)
{
    const struct gv_track *track = &timeline->tracks[counter->track - 1];
    struct gv_json *json = &timeline->json;
    int64_t before = 0;

    gv_json_open(json, NULL, '{');
    gv_json_text(json, "name", track->name);
    gv_json_text(json, "unit", track->unit);
    gv_json_text(json, "device", timeline->tracks[track->parent - 1].name);
    gv_json_open(json, "points", '[');
    for (size_t i = 0; i < counter->count; i++) {
        const struct timeline_point *point = &counter->points[i];
        int64_t from = point->from_ns / 1000, length = point->length_ns / 1000;
        gv_json_number(json, NULL, from - before);
        gv_json_number(json, NULL, length);
        gv_json_real(json, NULL, round(point->value * 10) / 10);
        before = from + length;
    }
    gv_json_close(json, ']');
    gv_json_close(json, '}');
}

static int timeline_write(struct timeline *timeline, sqlite3 *trace, FILE *out)
{
    const unsigned int shift = timeline->slices.merged_shift;
    struct gv_json *json = &timeline->json;
    uint32_t tracks = 0; /* those before and the last one that has a row */
    int error;

    if (timeline->row_count == 0)
        return fputs("null", out) < 0 ? -EIO : 0;
    gv_json_begin(json, out, '{');
    gv_json_number(json, "until_ns", timeline->until_ns);
    gv_json_number(json, "unit_ns", INT64_C(1) << GV_SLICES_UNIT_SHIFT);
    gv_json_number(json, "merged_ns", shift ? INT64_C(1) << shift : 0);
    gv_json_number(json, "left_out", timeline->left_out);
    gv_json_number(json, "group", GV_SLICES_GROUP);
    gv_json_text(json, "digits", gv_slices_digits);
    gv_json_open(json, "names", '[');
    for (size_t i = 0; i < timeline->name_count; i++) {
        gv_json_open(json, NULL, '[');
        gv_json_text(json, NULL, timeline->names[i].text);
        gv_json_text(json, NULL, timeline->names[i].class);
        gv_json_close(json, ']');
    }
    gv_json_close(json, ']');
    gv_json_open(json, "rows", '[');
    for (size_t i = 0; i < timeline->row_count; i++) {
        timeline_write_row(json, &timeline->rows[i]);
        tracks = timeline->rows[i].track > tracks ? timeline->rows[i].track : tracks;
    }
    gv_json_close(json, ']');
    gv_json_open(json, "tracks", '[');
    for (size_t i = 0; i < tracks; i++)
        timeline_write_track(json, &timeline->tracks[i]);
    gv_json_close(json, ']');
    gv_json_open(json, "counters", '[');
    for (size_t i = 0; i < timeline->counter_count; i++)
        timeline_write_counter(timeline, timeline->counters[i]);
    gv_json_close(json, ']');
    gv_json_open(json, "arrows", '[');
    error = gv_database_each(trace, sql_arrows, NULL, 0, gv_statement_rows_array, json);
    gv_json_close(json, ']');
    gv_json_end(json, '}');
    return error;
}

int gv_timeline_write(sqlite3 *trace, FILE *out)
{
    struct timeline *timeline = calloc(1, sizeof(*timeline));
    const struct gv_tracks_writer writer = {timeline, true, timeline_track, timeline_piece,
                                            timeline_count};
    int error;

    if (!timeline)
        return -ENOMEM;
    error = gv_tracks_walk(trace, &writer);
    if (!error) {
        gv_slices_sort(&timeline->slices);
        while ((error = timeline_encode(timeline)) == -EFBIG)
            gv_slices_merge(&timeline->slices);
    }
    if (!error)
        error = timeline_write(timeline, trace, out);
    for (size_t i = 0; i < timeline->row_count; i++) {
        free(timeline->rows[i].index.bytes);
        free(timeline->rows[i].body.bytes);
    }
    for (size_t i = 0; i < timeline->track_count; i++) {
        free((char *)timeline->tracks[i].name);
        free((char *)timeline->tracks[i].unit);
    }
    for (size_t i = 0; i < timeline->counter_count; i++)
        free(timeline->counters[i]);
    free(timeline->counters);
    for (size_t i = 0; i < timeline->name_count; i++)
        free(timeline->names[i].text);
    free(timeline->tracks);
    gv_key_map_free(&timeline->row_of);
    gv_key_map_free(&timeline->name_of);
    gv_slices_free(&timeline->slices);
    free(timeline);
    return error;
}
