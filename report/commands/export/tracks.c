#include "report/commands/export/tracks.h"

#include "report/analyse/names/stack_text.h"
#include "report/store/time_sum.h"
#include "report/commands_export_tracks.inc"
#include "report/show/message.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/key_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a long run, with threads that came and went. */
#define GV_TRACKS_MOST 262144u
/* Beside each other, for pieces that overlap. Further pieces are shown as moments. */
#define GV_TRACK_LANES 64u
/* How deep pieces may be nested in a lane. */
#define GV_TRACK_DEPTH      256u
#define GV_TRACK_STACKS     4096u
#define GV_TRACK_LINE_BYTES 256u

enum track_kind {
#define GV_TRACK(name, shape) TRACK_##name,
#include "report/commands/export/tracks.def"
    TRACK_KINDS,
    TRACK_COUNTERS = TRACK_KINDS /* a counter of the kind "sampled" */
};

static const struct {
    const char *name, *sql;
    enum gv_track_shape shape;
} track_kinds[] = {
#define GV_TRACK(name, shape) {#name, sql_##name, GV_TRACK_##shape},
#include "report/commands/export/tracks.def"
};

static const struct track_source {
    const char *sql;
    enum track_kind kind;
    bool is_paged, is_on_page;
} track_sources[] = {
#define GV_TRACK_PIECES(name, track, is_paged, is_on_page)                                         \
    {sql_##name, TRACK_##track, is_paged, is_on_page},
#include "report/commands/export/track_pieces.def"
};

/* The columns of a description of a track, and of a piece. */
enum {
    TRACK_PARENT,
    TRACK_PARENT_FIRST,
    TRACK_PARENT_SECOND,
    TRACK_NAME,
    TRACK_RANK,
    TRACK_PID, /* of a process and a thread */
    TRACK_TID,
    TRACK_ARGUMENTS, /* of a process */
    TRACK_START,
};
enum {
    PIECE_ID,
    PIECE_FIRST,
    PIECE_SECOND,
    PIECE_START,
    PIECE_DURATION,
    PIECE_NAME,
    PIECE_CATEGORY,
    PIECE_ARROW,
    PIECE_OTHER_ARROW,
    PIECE_ARGUMENTS,
};
enum {
    SAMPLE_ID,
    SAMPLE_DEVICE,
    SAMPLE_AT,
    SAMPLE_LENGTH,
    SAMPLE_COUNTERS,
};

/* A row of pieces that do not overlap, unless one is inside another. */
struct track_lane {
    uint32_t id;
    uint16_t count,
        room; /* of the pieces that its last one is in: their ends, the outermost first */
    int64_t *ends_ns;
    int64_t start_ns; /* of the last piece */
};

struct track_base {
    enum track_kind kind;
    int64_t first, second;
    struct track_lane lane;   /* the track itself; its id is 0 if it has no description */
    struct track_lane *lanes; /* further ones */
    size_t count, room;
};

struct track_line {
    int64_t stack; /* 0: not used */
    char text[GV_TRACK_LINE_BYTES];
};

struct tracks_walk {
    sqlite3 *trace;
    const struct gv_tracks_writer *writer;
    sqlite3_stmt *describe[TRACK_KINDS];
    struct gv_key_map numbers; /* of a kind and two numbers: the index in `bases`, from 1 */
    struct track_base *bases;
    size_t count, room;
    uint32_t tracks;
    uint64_t left_out;
    /* Of the source that is read. */
    const struct track_source *source;
    struct gv_track_argument arguments[GV_TRACK_ARGUMENTS];
    int64_t last_id;
    bool any;
    struct track_line lines[GV_TRACK_STACKS];
};

/* ---- lines of stacks ---- */

/* Many calls share a stack: the last ones are remembered. */
static void tracks_line(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct tracks_walk *walk = sqlite3_user_data(context);
    int64_t stack = sqlite3_value_int64(values[0]);
    struct track_line *line = &walk->lines[(uint64_t)stack % GV_TRACK_STACKS];

    (void)count;
    if (stack == 0)
        return;
    if (line->stack != stack) {
        line->stack = stack;
        if (gv_stack_text(walk->trace, stack, 1, line->text, sizeof(line->text)) != 0)
            line->text[0] = '\0';
    }
    if (line->text[0])
        sqlite3_result_text(context, line->text, -1, SQLITE_TRANSIENT);
}

/* ---- tracks ---- */

static int tracks_base(struct tracks_walk *walk, enum track_kind kind, int64_t first,
                       int64_t second, struct track_base **base);

static enum track_kind tracks_kind_of(const char *name)
{
    enum track_kind kind = 0;

    while (kind < TRACK_KINDS && strcmp(track_kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

/* Gives a track its number and tells the writer of it. */
static int tracks_tell(struct tracks_walk *walk, struct gv_track *track)
{
    track->id = ++walk->tracks;
    return walk->writer->track(walk->writer->context, track);
}

/* Reads a description, and that of the parent before. *known stays false if the parent has none. */
static int tracks_read(struct tracks_walk *walk, enum track_kind kind, sqlite3_stmt *row,
                       struct gv_track *track, bool *known)
{
    struct track_base *parent = NULL;

    if (sqlite3_column_type(row, TRACK_PARENT) != SQLITE_NULL) {
        enum track_kind above = tracks_kind_of(gv_database_text(row, TRACK_PARENT));
        int error = above >= kind
                        ? -EPROTO
                        : tracks_base(walk, above, sqlite3_column_int64(row, TRACK_PARENT_FIRST),
                                      sqlite3_column_int64(row, TRACK_PARENT_SECOND), &parent);
        if (error || !parent)
            return error;
        track->parent = parent->lane.id;
    }
    track->shape = track_kinds[kind].shape;
    track->rank = sqlite3_column_int64(row, TRACK_RANK);
    track->name = gv_database_text(row, TRACK_NAME);
    if (track->shape == GV_TRACK_PROCESS || track->shape == GV_TRACK_THREAD) {
        track->pid = sqlite3_column_int64(row, TRACK_PID);
        track->tid = sqlite3_column_int64(row, TRACK_TID);
    }
    if (track->shape == GV_TRACK_PROCESS) {
        track->arguments = (const char *)sqlite3_column_text(row, TRACK_ARGUMENTS);
        track->start_ns = gv_time_column_duration(row, TRACK_START);
    }
    *known = true;
    return 0;
}

/* Finds out what a track is, and tells the writer; again for each further lane. *id stays as it is
 * if the track has no description. */
static int tracks_describe(struct tracks_walk *walk, const struct track_base *base, uint32_t *id)
{
    sqlite3_stmt *row = walk->describe[base->kind];
    struct gv_track track = {.kind = track_kinds[base->kind].name, .of = base->first};
    bool known = false;
    int result, error;

    if (sqlite3_bind_int64(row, 1, base->first) != SQLITE_OK ||
        (sqlite3_bind_parameter_count(row) > 1 &&
         sqlite3_bind_int64(row, 2, base->second) != SQLITE_OK))
        return -ENOMEM;
    result = sqlite3_step(row);
    error = gv_database_error(walk->trace, result);
    if (result == SQLITE_ROW) {
        error = tracks_read(walk, base->kind, row, &track, &known);
        /* A thread's calls follow one another; if they do not, the others are below the thread. */
        if (base->lane.id && track.shape == GV_TRACK_THREAD) {
            track.parent = base->lane.id;
            track.shape = GV_TRACK_PIECES;
        }
        if (!error && known)
            error = tracks_tell(walk, &track);
        *id = track.id;
    }
    sqlite3_reset(row);
    return error;
}

/* The track of a kind with two numbers. NULL: the trace does not have it, or has too many. */
static int tracks_base(struct tracks_walk *walk, enum track_kind kind, int64_t first,
                       int64_t second, struct track_base **base)
{
    const struct gv_key key = {{(uint64_t)kind, (uint64_t)first, (uint64_t)second}};
    const int64_t found = gv_key_map_find(&walk->numbers, &key);
    struct track_base new = {.kind = kind, .first = first, .second = second};
    int error;

    *base = NULL;
    if (found) {
        *base = &walk->bases[found - 1];
    } else if (walk->tracks < GV_TRACKS_MOST && walk->count < GV_TRACKS_MOST) {
        error = tracks_describe(walk, &new, &new.lane.id);
        if (!error)
            error = gv_array_room(&walk->bases, walk->count, &walk->room, sizeof(*walk->bases));
        if (!error)
            error = gv_key_map_add(&walk->numbers, &key, (int64_t)walk->count + 1);
        if (error)
            return error;
        walk->bases[walk->count] = new;
        *base = &walk->bases[walk->count++];
    }
    if (*base && (*base)->lane.id == 0)
        *base = NULL;
    return 0;
}

/* ---- lanes ---- */

/* Puts a piece into a lane, if it fits: it is after the others, or inside one that may have some.
 */
static int lane_take(struct track_lane *lane, struct gv_track_piece *piece, bool nested,
                     bool *taken)
{
    int64_t end_ns = piece->extent == GV_TRACK_OPEN ? INT64_MAX : piece->end_ns;

    if (piece->start_ns < lane->start_ns)
        return 0;
    while (lane->count > 0 && lane->ends_ns[lane->count - 1] <= piece->start_ns)
        lane->count--;
    if (lane->count > 0 &&
        (!nested || lane->count == GV_TRACK_DEPTH || end_ns > lane->ends_ns[lane->count - 1]))
        return 0;
    if (lane->count == lane->room) {
        uint16_t room = lane->room ? (uint16_t)(2 * lane->room) : 1;
        int64_t *ends_ns = realloc(lane->ends_ns, room * sizeof(*ends_ns));
        if (!ends_ns)
            return -ENOMEM;
        lane->ends_ns = ends_ns;
        lane->room = room;
    }
    piece->depth = lane->count;
    lane->ends_ns[lane->count++] = end_ns;
    lane->start_ns = piece->start_ns;
    *taken = true;
    return 0;
}

/* One more lane. It has the track's name, so that viewers show them as one. */
static int tracks_lane_add(struct tracks_walk *walk, struct track_base *base)
{
    struct track_lane lane = {0};
    int error = gv_array_room(&base->lanes, base->count, &base->room, sizeof(*base->lanes));

    if (!error)
        error = tracks_describe(walk, base, &lane.id);
    if (!error)
        base->lanes[base->count++] = lane;
    return error;
}

/* Puts the piece into the first lane with room. If there is none, it becomes a moment. */
static int tracks_lane(struct tracks_walk *walk, struct track_base *base,
                       struct gv_track_piece *piece)
{
    const bool nested = track_kinds[base->kind].shape == GV_TRACK_NESTED;
    struct track_lane *lane = &base->lane;
    bool taken = false;
    int error = lane_take(lane, piece, nested, &taken);

    for (size_t i = 0; !error && !taken && i < GV_TRACK_LANES; i++) {
        if (i == base->count && walk->tracks < GV_TRACKS_MOST)
            error = tracks_lane_add(walk, base);
        if (error || i == base->count)
            break;
        lane = &base->lanes[i];
        error = lane_take(lane, piece, nested, &taken);
    }
    if (taken && lane->id)
        piece->track = lane->id;
    else
        piece->extent = GV_TRACK_MOMENT;
    return error;
}

/* ---- pieces ---- */

static bool tracks_argument(sqlite3_stmt *row, int column, struct gv_track_argument *argument)
{
    argument->text = NULL;
    argument->is_real = false;
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        return false;
    case SQLITE_INTEGER:
        argument->number = sqlite3_column_int64(row, column);
        return true;
    case SQLITE_FLOAT:
        argument->real = sqlite3_column_double(row, column);
        argument->is_real = true;
        return true;
    default:
        argument->text = gv_database_text(row, column);
        return true;
    }
}

/* What a piece takes of its row. */
static void tracks_piece_read(struct tracks_walk *walk, sqlite3_stmt *row,
                              struct gv_track_piece *piece)
{
    int64_t duration_ns = gv_time_column(row, PIECE_DURATION);
    int columns = sqlite3_column_count(row);

    piece->start_ns = gv_time_column_duration(row, PIECE_START);
    piece->end_ns = piece->start_ns + (duration_ns > 0 ? duration_ns : 0);
    piece->extent = sqlite3_column_type(row, PIECE_DURATION) == SQLITE_NULL ? GV_TRACK_OPEN
                    : duration_ns < 0                                       ? GV_TRACK_MOMENT
                                                                            : GV_TRACK_ENDED;
    piece->name = gv_database_text(row, PIECE_NAME);
    piece->category = gv_database_text(row, PIECE_CATEGORY);
    piece->arrows[0] = (uint64_t)sqlite3_column_int64(row, PIECE_ARROW);
    piece->arrows[1] = (uint64_t)sqlite3_column_int64(row, PIECE_OTHER_ARROW);
    if (piece->arrows[1] == piece->arrows[0])
        piece->arrows[1] = 0;
    for (int i = PIECE_ARGUMENTS; i < columns && piece->argument_count < GV_TRACK_ARGUMENTS; i++) {
        struct gv_track_argument *argument = &walk->arguments[piece->argument_count];
        if (tracks_argument(row, i, argument)) {
            argument->name = sqlite3_column_name(row, i);
            piece->argument_count++;
        }
    }
}

static int tracks_piece(void *context, sqlite3_stmt *row)
{
    struct tracks_walk *walk = context;
    struct gv_track_piece piece = {
        .id = sqlite3_column_int64(row, PIECE_ID),
        .arguments = walk->arguments,
    };
    struct track_base *base = NULL;
    int error;

    walk->any = true;
    if (piece.id > walk->last_id)
        walk->last_id = piece.id;
    if (sqlite3_column_type(row, PIECE_START) == SQLITE_NULL)
        return 0;
    error = tracks_base(walk, walk->source->kind, sqlite3_column_int64(row, PIECE_FIRST),
                        sqlite3_column_int64(row, PIECE_SECOND), &base);
    if (error)
        return error;
    if (!base) {
        walk->left_out++;
        return 0;
    }
    tracks_piece_read(walk, row, &piece);
    piece.track = base->lane.id;
    if (piece.extent != GV_TRACK_MOMENT)
        error = tracks_lane(walk, base, &piece);
    return error ? error : walk->writer->piece(walk->writer->context, &piece);
}

/* ---- counters ---- */

/* The counter in a column of a device's samples. *id is 0 if the device is not known. */
static int tracks_counter(struct tracks_walk *walk, sqlite3_stmt *row, int column, uint32_t *id)
{
    const int64_t device = sqlite3_column_int64(row, SAMPLE_DEVICE);
    const struct gv_key key = {{TRACK_COUNTERS, (uint64_t)device, (uint64_t)column}};
    const char *text = sqlite3_column_name(row, column), *comma = text ? strchr(text, ',') : NULL;
    struct gv_track track = {.shape = GV_TRACK_COUNTER, .rank = column};
    struct track_base *parent = NULL;
    char name[64];
    int error;

    *id = (uint32_t)gv_key_map_find(&walk->numbers, &key);
    if (*id)
        return 0;
    error = comma ? tracks_base(walk, TRACK_sampled, device, 0, &parent) : -ENOMEM;
    if (error || !parent)
        return error;
    snprintf(name, sizeof(name), "%.*s", (int)(comma - text), text);
    track.parent = parent->lane.id;
    track.name = name;
    track.unit = comma + 2;
    error = tracks_tell(walk, &track);
    *id = track.id;
    return error ? error : gv_key_map_add(&walk->numbers, &key, track.id);
}

static int tracks_sample(void *context, sqlite3_stmt *row)
{
    struct tracks_walk *walk = context;
    uint32_t counter;
    int columns = sqlite3_column_count(row), error = 0;

    walk->any = true;
    walk->last_id = sqlite3_column_int64(row, SAMPLE_ID);
    for (int i = SAMPLE_COUNTERS; i < columns && !error; i++) {
        if (sqlite3_column_type(row, i) == SQLITE_NULL)
            continue;
        error = tracks_counter(walk, row, i, &counter);
        if (!error && counter)
            error = walk->writer->count(
                walk->writer->context, counter, gv_time_column_duration(row, SAMPLE_AT),
                gv_time_column_duration(row, SAMPLE_LENGTH), sqlite3_column_double(row, i));
    }
    return error;
}

/* ---- the walk ---- */

/* Reads pages until there is none. */
static int tracks_pages(struct tracks_walk *walk, const char *sql, bool is_paged,
                        gv_database_take *take)
{
    sqlite3_stmt *rows = NULL;
    int error = gv_database_compile(walk->trace, sql, &rows);

    walk->last_id = INT64_MIN;
    do {
        walk->any = false;
        if (!error)
            error = gv_database_rows(rows, &walk->last_id, is_paged, take, walk);
    } while (!error && is_paged && walk->any && walk->last_id < INT64_MAX);
    sqlite3_finalize(rows);
    return error;
}

static int tracks_prepare(struct tracks_walk *walk)
{
    int error =
        gv_database_error(walk->trace, sqlite3_create_function(walk->trace, "gv_line_of_stack", 1,
                                                               SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                                               walk, tracks_line, NULL, NULL));

    for (int kind = 0; kind < TRACK_KINDS && !error; kind++)
        error = gv_database_compile(walk->trace, track_kinds[kind].sql, &walk->describe[kind]);
    return error ? error : gv_database_script(walk->trace, sql_shapes, NULL, 0);
}

static void tracks_free(struct tracks_walk *walk)
{
    for (int kind = 0; kind < TRACK_KINDS; kind++)
        sqlite3_finalize(walk->describe[kind]);
    for (size_t i = 0; i < walk->count; i++) {
        free(walk->bases[i].lane.ends_ns);
        for (size_t lane = 0; lane < walk->bases[i].count; lane++)
            free(walk->bases[i].lanes[lane].ends_ns);
        free(walk->bases[i].lanes);
    }
    free(walk->bases);
    gv_key_map_free(&walk->numbers);
    /* Its data is freed. */
    (void)sqlite3_create_function(walk->trace, "gv_line_of_stack", 1, SQLITE_UTF8, NULL, NULL, NULL,
                                  NULL);
    free(walk);
}

int gv_tracks_walk(sqlite3 *trace, const struct gv_tracks_writer *writer)
{
    struct tracks_walk *walk = calloc(1, sizeof(*walk));
    int error;

    if (!walk)
        return -ENOMEM;
    walk->trace = trace;
    walk->writer = writer;
    error = tracks_prepare(walk);
    for (size_t i = 0; i < sizeof(track_sources) / sizeof(track_sources[0]) && !error; i++) {
        walk->source = &track_sources[i];
        if (writer->is_page && !walk->source->is_on_page)
            continue;
        error = tracks_pages(walk, walk->source->sql, walk->source->is_paged, tracks_piece);
    }
    if (!error)
        error = tracks_pages(walk, writer->is_page ? sql_samples_on_page : sql_samples, true,
                             tracks_sample);
    if (!error && walk->left_out)
        gv_message("%" PRIu64
                   " calls or operations are left out: their thread or stream is unknown, or"
                   " there are more than %u tracks",
                   walk->left_out, GV_TRACKS_MOST);
    tracks_free(walk);
    return error;
}
