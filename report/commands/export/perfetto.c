/*
 * The timeline as a trace of Perfetto: TracePackets of one sequence, with TrackEvents. Its messages
 * and their fields are described at https://perfetto.dev/docs/reference/trace-packet-proto.
 *
 * Texts that come again are interned: written once, then named by a number. The reader's memory of
 * them is cleared when ours is full.
 */
#include "report/commands/export/export.h"
#include "report/commands/export/tracks.h"
#include "report/show/protobuf.h"
#include "report/store/database.h"
#include "trace/mix.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PERFETTO_MADE_BY "made by gpuverify export"
/* Of a track without anything, of which only the name is read: ours. */
#define PERFETTO_MADE_BY_TRACK UINT64_MAX

#define PERFETTO_SEQUENCE 1

#define PERFETTO_SLOTS      65536u /* a power of two */
#define PERFETTO_MOST_TEXTS (PERFETTO_SLOTS / 2)
#define PERFETTO_ALL_BYTES  (8u << 20)
/* Longer texts are cut, as those of a trace of ours are. */
#define PERFETTO_TEXT_BYTES 2048u
/* Texts of one piece: its arguments' names and values, its own name and category. */
#define PERFETTO_PIECE_TEXTS (2u * GV_TRACK_ARGUMENTS + 2u)

/* Fields by their messages. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    CLOCKS_CLOCK = 1,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDERING = 11,
    TRACK_RANK = 12,
    TRACK_SIBLINGS = 15,

    PROCESS_PID = 1,
    PROCESS_ARGUMENTS = 2,
    PROCESS_NAME = 6,
    PROCESS_START = 7,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 6,

    EVENT_CATEGORY = 3,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER = 44,
    EVENT_FLOW = 47,

    ARGUMENT_NAME = 1,
    ARGUMENT_INT = 4,
    ARGUMENT_DOUBLE = 5,
    ARGUMENT_TEXT = 17,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ARGUMENT_NAMES = 3,
    INTERNED_ARGUMENT_TEXTS = 29,
    INTERNED_ID = 1,
    INTERNED_TEXT = 2,
};

/* Values of enums. */
enum {
    FLAG_CLEARED = 1,
    FLAG_NEEDS_STATE = 2,
    CLOCK_REALTIME = 1,
    CLOCK_BOOTTIME = 6, /* what timestamps are in */
    ORDERING_EXPLICIT = 3,
    SIBLINGS_BY_NAME = 1,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,
};

struct perfetto_text {
    uint32_t hash, id; /* id 0: the slot is empty */
    uint32_t at, length;
    int field;
};

struct perfetto {
    FILE *out;
    struct gv_protobuf packets;  /* to be written */
    struct gv_protobuf interned; /* texts that the packet is the first to use */
    struct perfetto_text slots[PERFETTO_SLOTS];
    char *texts; /* of all slots, one after the other */
    size_t bytes;
    uint32_t count;
};

/* ---- packets ---- */

static size_t packet_open(struct perfetto *perfetto, int64_t at_ns, uint64_t flags)
{
    struct gv_protobuf *packets = &perfetto->packets;
    size_t opened = gv_protobuf_open(packets, TRACE_PACKET);

    if (at_ns >= 0)
        gv_protobuf_number(packets, PACKET_TIMESTAMP, (uint64_t)at_ns);
    gv_protobuf_number(packets, PACKET_SEQUENCE, PERFETTO_SEQUENCE);
    if (flags)
        gv_protobuf_number(packets, PACKET_FLAGS, flags);
    return opened;
}

static int packets_write(struct perfetto *perfetto)
{
    struct gv_protobuf *packets = &perfetto->packets;
    bool full = packets->full || perfetto->interned.full;
    bool written =
        !full && fwrite(packets->bytes, 1, packets->count, perfetto->out) == packets->count;

    gv_protobuf_begin(packets);
    gv_protobuf_begin(&perfetto->interned);
    return full ? -EOVERFLOW : written ? 0 : GV_EXPORT_STOPPED;
}

/* ---- texts ---- */

/* Before the first use of a text, and when there is no room for those of a further piece. */
static void texts_clear(struct perfetto *perfetto)
{
    size_t packet = packet_open(perfetto, -1, FLAG_CLEARED);

    gv_protobuf_close(&perfetto->packets, packet);
    memset(perfetto->slots, 0, sizeof(perfetto->slots));
    perfetto->bytes = 0;
    perfetto->count = 0;
}

/* The number of a text that an interned field has. */
static uint64_t text_number(struct perfetto *perfetto, int field, const char *text)
{
    uint32_t length = (uint32_t)strnlen(text, PERFETTO_TEXT_BYTES - 1);
    uint32_t hash = (uint32_t)gv_mix_bytes((uint64_t)field, text, length);
    uint32_t slot = hash % PERFETTO_SLOTS;
    char shown[4 * PERFETTO_TEXT_BYTES], cut[PERFETTO_TEXT_BYTES];
    struct perfetto_text *found;
    size_t opened;

    for (; perfetto->slots[slot].id; slot = (slot + 1) % PERFETTO_SLOTS) {
        found = &perfetto->slots[slot];
        if (found->hash == hash && found->length == length && found->field == field &&
            memcmp(perfetto->texts + found->at, text, length) == 0)
            return found->id;
    }
    perfetto->slots[slot] = (struct perfetto_text){
        hash, ++perfetto->count, (uint32_t)perfetto->bytes, length, field,
    };
    memcpy(perfetto->texts + perfetto->bytes, text, length);
    perfetto->bytes += length;
    memcpy(cut, text, length);
    cut[length] = '\0';
    gv_text_escape(shown, sizeof(shown), cut);
    opened = gv_protobuf_open(&perfetto->interned, (unsigned int)field);
    gv_protobuf_number(&perfetto->interned, INTERNED_ID, perfetto->count);
    gv_protobuf_text(&perfetto->interned, INTERNED_TEXT, shown);
    gv_protobuf_close(&perfetto->interned, opened);
    return perfetto->count;
}

/* Outside of events. */
static void field_text(struct gv_protobuf *packets, unsigned int field, const char *text)
{
    char shown[4 * PERFETTO_TEXT_BYTES];

    gv_text_escape(shown, sizeof(shown), text);
    gv_protobuf_text(packets, field, shown);
}

/* ---- tracks ---- */

static bool is_pid(int64_t pid)
{
    return pid > 0 && pid <= INT32_MAX;
}

static void perfetto_process(struct gv_protobuf *packets, const struct gv_track *track)
{
    size_t process = gv_protobuf_open(packets, TRACK_PROCESS);

    gv_protobuf_number(packets, PROCESS_PID, (uint64_t)track->pid);
    if (track->arguments)
        field_text(packets, PROCESS_ARGUMENTS, track->arguments);
    field_text(packets, PROCESS_NAME, track->name);
    gv_protobuf_number(packets, PROCESS_START, (uint64_t)track->start_ns);
    gv_protobuf_close(packets, process);
}

static void perfetto_thread(struct gv_protobuf *packets, const struct gv_track *track)
{
    size_t thread = gv_protobuf_open(packets, TRACK_THREAD);

    gv_protobuf_number(packets, THREAD_PID, (uint64_t)track->pid);
    gv_protobuf_number(packets, THREAD_TID, (uint64_t)track->tid);
    field_text(packets, THREAD_NAME, track->name);
    gv_protobuf_close(packets, thread);
}

static int perfetto_track(void *context, const struct gv_track *track)
{
    struct perfetto *perfetto = context;
    struct gv_protobuf *packets = &perfetto->packets;
    size_t packet = packet_open(perfetto, -1, 0), told = gv_protobuf_open(packets, PACKET_TRACK);

    gv_protobuf_number(packets, TRACK_UUID, track->id);
    if (track->parent)
        gv_protobuf_number(packets, TRACK_PARENT, track->parent);
    if (track->shape == GV_TRACK_PROCESS && is_pid(track->pid))
        perfetto_process(packets, track);
    else if (track->shape == GV_TRACK_THREAD && is_pid(track->pid) && is_pid(track->tid))
        perfetto_thread(packets, track);
    else
        field_text(packets, TRACK_NAME, track->name);
    if (track->shape == GV_TRACK_COUNTER) {
        size_t counter = gv_protobuf_open(packets, TRACK_COUNTER);
        field_text(packets, COUNTER_UNIT, track->unit);
        gv_protobuf_close(packets, counter);
    } else
        gv_protobuf_number(packets, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
    if (track->shape == GV_TRACK_PIECES || track->shape == GV_TRACK_NESTED)
        gv_protobuf_number(packets, TRACK_SIBLINGS, SIBLINGS_BY_NAME);
    gv_protobuf_number(packets, TRACK_RANK, (uint64_t)track->rank & INT32_MAX);
    gv_protobuf_close(packets, told);
    gv_protobuf_close(packets, packet);
    return packets_write(perfetto);
}

/* ---- events ---- */

static void perfetto_argument(struct perfetto *perfetto, const struct gv_track_argument *argument)
{
    struct gv_protobuf *packets = &perfetto->packets;
    size_t opened = gv_protobuf_open(packets, EVENT_ARGUMENT);

    gv_protobuf_number(packets, ARGUMENT_NAME,
                       text_number(perfetto, INTERNED_ARGUMENT_NAMES, argument->name));
    if (argument->text)
        gv_protobuf_number(packets, ARGUMENT_TEXT,
                           text_number(perfetto, INTERNED_ARGUMENT_TEXTS, argument->text));
    else if (argument->is_real)
        gv_protobuf_double(packets, ARGUMENT_DOUBLE, argument->real);
    else
        gv_protobuf_number(packets, ARGUMENT_INT, (uint64_t)argument->number);
    gv_protobuf_close(packets, opened);
}

static void perfetto_end(struct perfetto *perfetto, const struct gv_track_piece *piece)
{
    struct gv_protobuf *packets = &perfetto->packets;
    size_t packet = packet_open(perfetto, piece->end_ns, 0),
           event = gv_protobuf_open(packets, PACKET_EVENT);

    gv_protobuf_number(packets, EVENT_TYPE, TYPE_END);
    gv_protobuf_number(packets, EVENT_TRACK, piece->track);
    gv_protobuf_close(packets, event);
    gv_protobuf_close(packets, packet);
}

static int perfetto_piece(void *context, const struct gv_track_piece *piece)
{
    struct perfetto *perfetto = context;
    struct gv_protobuf *packets = &perfetto->packets;
    size_t packet, event;

    if (perfetto->count + PERFETTO_PIECE_TEXTS > PERFETTO_MOST_TEXTS ||
        perfetto->bytes + (size_t)PERFETTO_PIECE_TEXTS * PERFETTO_TEXT_BYTES > PERFETTO_ALL_BYTES)
        texts_clear(perfetto);
    packet = packet_open(perfetto, piece->start_ns, FLAG_NEEDS_STATE);
    event = gv_protobuf_open(packets, PACKET_EVENT);
    gv_protobuf_number(packets, EVENT_TYPE,
                       piece->extent == GV_TRACK_MOMENT ? TYPE_INSTANT : TYPE_BEGIN);
    gv_protobuf_number(packets, EVENT_TRACK, piece->track);
    gv_protobuf_number(packets, EVENT_CATEGORY,
                       text_number(perfetto, INTERNED_CATEGORIES, piece->category));
    gv_protobuf_number(packets, EVENT_NAME, text_number(perfetto, INTERNED_NAMES, piece->name));
    for (int i = 0; i < 2; i++)
        if (piece->arrows[i])
            gv_protobuf_fixed64(packets, EVENT_FLOW, piece->arrows[i]);
    for (int i = 0; i < piece->argument_count; i++)
        perfetto_argument(perfetto, &piece->arguments[i]);
    gv_protobuf_close(packets, event);
    if (perfetto->interned.count > 0)
        gv_protobuf_bytes(packets, PACKET_INTERNED, perfetto->interned.bytes,
                          perfetto->interned.count);
    gv_protobuf_close(packets, packet);
    if (piece->extent == GV_TRACK_ENDED)
        perfetto_end(perfetto, piece);
    return packets_write(perfetto);
}

static int perfetto_count(void *context, uint32_t track, int64_t at_ns, int64_t length_ns,
                          double value)
{
    struct perfetto *perfetto = context;
    struct gv_protobuf *packets = &perfetto->packets;
    size_t packet = packet_open(perfetto, at_ns, 0),
           event = gv_protobuf_open(packets, PACKET_EVENT);

    (void)length_ns;
    gv_protobuf_number(packets, EVENT_TYPE, TYPE_COUNTER);
    gv_protobuf_number(packets, EVENT_TRACK, track);
    gv_protobuf_double(packets, EVENT_COUNTER, value);
    gv_protobuf_close(packets, event);
    gv_protobuf_close(packets, packet);
    return packets_write(perfetto);
}

/* ---- the beginning ---- */

static void clock_write(struct gv_protobuf *packets, uint64_t id, int64_t at_ns)
{
    size_t clock = gv_protobuf_open(packets, CLOCKS_CLOCK);

    gv_protobuf_number(packets, CLOCK_ID, id);
    gv_protobuf_number(packets, CLOCK_TIMESTAMP, (uint64_t)at_ns);
    gv_protobuf_close(packets, clock);
}

/* Who made the file, and when the session's time, which all timestamps are in, began. */
static int perfetto_begin(struct perfetto *perfetto, sqlite3 *trace)
{
    struct gv_protobuf *packets = &perfetto->packets;
    int64_t unix_ns = 0;
    int error = gv_database_number(trace, "SELECT value FROM meta WHERE key = 'unix_offset_ns'",
                                   NULL, 0, &unix_ns);
    size_t packet = packet_open(perfetto, -1, 0), opened = gv_protobuf_open(packets, PACKET_TRACK);

    gv_protobuf_number(packets, TRACK_UUID, PERFETTO_MADE_BY_TRACK);
    gv_protobuf_text(packets, TRACK_NAME, PERFETTO_MADE_BY);
    gv_protobuf_close(packets, opened);
    gv_protobuf_close(packets, packet);
    packet = packet_open(perfetto, 0, 0);
    opened = gv_protobuf_open(packets, PACKET_CLOCK_SNAPSHOT);
    clock_write(packets, CLOCK_BOOTTIME, 0);
    if (unix_ns > 0)
        clock_write(packets, CLOCK_REALTIME, unix_ns);
    gv_protobuf_close(packets, opened);
    gv_protobuf_close(packets, packet);
    texts_clear(perfetto);
    return error ? error : packets_write(perfetto);
}

int gv_export_perfetto(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct perfetto *perfetto = calloc(1, sizeof(*perfetto));
    const struct gv_tracks_writer writer = {perfetto, false, perfetto_track, perfetto_piece,
                                            perfetto_count};
    int error = -ENOMEM;

    (void)what;
    if (perfetto && (perfetto->texts = malloc(PERFETTO_ALL_BYTES))) {
        perfetto->out = out;
        error = perfetto_begin(perfetto, trace);
        if (!error)
            error = gv_tracks_walk(trace, &writer);
    }
    if (perfetto)
        free(perfetto->texts);
    free(perfetto);
    return error == GV_EXPORT_STOPPED ? 0 : error;
}

/* The text is in the first packet, before any NUL. */
bool gv_export_is_perfetto(const char *head)
{
    return head[0] == (TRACE_PACKET << 3 | 2) && strstr(head, PERFETTO_MADE_BY) != NULL;
}
