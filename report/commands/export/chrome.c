/*
 * The timeline as JSON in the Trace Event Format of chrome://tracing, which Perfetto and others
 * read too: an event a line. It knows processes and threads only, so each other track is a thread
 * of its own, with a number above those of the system. Times are microseconds.
 */
#include "report/commands/export/export.h"
#include "report/commands/export/tracks.h"
#include "report/show/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define CHROME_MADE_BY "gpuverify export"
/* The system's numbers of processes and threads are below 1 << 22. */
#define CHROME_OWN_NUMBERS (INT64_C(1) << 24)

static int64_t chrome_pid(const struct gv_track *track)
{
    return track->pid > 0 ? track->pid : CHROME_OWN_NUMBERS + track->process;
}

static int64_t chrome_tid(const struct gv_track *track)
{
    return track->shape == GV_TRACK_THREAD && track->tid > 0 ? track->tid
                                                             : CHROME_OWN_NUMBERS + track->id;
}

static void chrome_open(struct gv_json *json, const char *phase, const struct gv_track *track)
{
    gv_json_open_line(json, NULL, '{');
    gv_json_text(json, "ph", phase);
    gv_json_number(json, "pid", chrome_pid(track));
}

static int chrome_close(struct gv_json *json)
{
    gv_json_close(json, '}');
    return ferror(json->out) ? GV_EXPORT_STOPPED : 0;
}

/* What Trace Event Format calls metadata. */
static void chrome_note(struct gv_json *json, const struct gv_track *track, const char *name,
                        const char *text, int64_t number)
{
    chrome_open(json, "M", track);
    if (strncmp(name, "thread_", 7) == 0)
        gv_json_number(json, "tid", chrome_tid(track));
    gv_json_text(json, "name", name);
    gv_json_open(json, "args", '{');
    if (text)
        gv_json_text(json, strcmp(name, "process_labels") == 0 ? "labels" : "name", text);
    else
        gv_json_number(json, "sort_index", number);
    gv_json_close(json, '}');
    gv_json_close(json, '}');
}

static int chrome_track(void *context, const struct gv_track *track)
{
    struct gv_json *json = context;

    switch (track->shape) {
    case GV_TRACK_PROCESS:
        chrome_note(json, track, "process_name", track->name, 0);
        if (track->arguments)
            chrome_note(json, track, "process_labels", track->arguments, 0);
        break;
    case GV_TRACK_GROUP:
        if (!track->parent)
            chrome_note(json, track, "process_name", track->name, 0);
        break;
    case GV_TRACK_COUNTER:
        break;
    default:
        chrome_note(json, track, "thread_name", track->long_name, 0);
        chrome_note(json, track, "thread_sort_index", NULL, track->rank);
    }
    return ferror(json->out) ? GV_EXPORT_STOPPED : 0;
}

/* Pieces with one number are joined by arrows, in the order of time. */
static void chrome_arrow(struct gv_json *json, const struct gv_track_piece *piece)
{
    const uint64_t arrow = piece->arrows[0] ? piece->arrows[0] : piece->arrows[1];
    char number[32];

    if (!arrow || piece->extent == GV_TRACK_MOMENT)
        return;
    snprintf(number, sizeof(number), "0x%" PRIx64, arrow);
    gv_json_text(json, "bind_id", number);
    if (!piece->begins_arrow)
        gv_json_bool(json, "flow_in", true);
    gv_json_bool(json, "flow_out", true);
}

static int chrome_piece(void *context, const struct gv_track_piece *piece)
{
    /* In the order of enum gv_track_extent. */
    static const char *const phases[] = {"X", "B", "i"};
    struct gv_json *json = context;

    chrome_open(json, phases[piece->extent], piece->track);
    gv_json_number(json, "tid", chrome_tid(piece->track));
    gv_json_thousandths(json, "ts", piece->start_ns);
    if (piece->extent == GV_TRACK_ENDED)
        gv_json_thousandths(json, "dur", piece->end_ns - piece->start_ns);
    if (piece->extent == GV_TRACK_MOMENT)
        gv_json_text(json, "s", "t"); /* as high as its thread */
    gv_json_text(json, "name", piece->name);
    gv_json_text(json, "cat", piece->category);
    chrome_arrow(json, piece);
    gv_json_open(json, "args", '{');
    for (int i = 0; i < piece->argument_count; i++) {
        const struct gv_track_argument *argument = &piece->arguments[i];
        if (argument->text)
            gv_json_text(json, argument->name, argument->text);
        else if (argument->is_real)
            gv_json_real(json, argument->name, argument->real);
        else
            gv_json_number(json, argument->name, argument->number);
    }
    gv_json_close(json, '}');
    return chrome_close(json);
}

static int chrome_count(void *context, const struct gv_track *track, int64_t at_ns, double value)
{
    struct gv_json *json = context;

    chrome_open(json, "C", track);
    gv_json_thousandths(json, "ts", at_ns);
    gv_json_text(json, "name", track->name);
    gv_json_open(json, "args", '{');
    gv_json_real(json, track->unit, value);
    gv_json_close(json, '}');
    return chrome_close(json);
}

int gv_export_chrome(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct gv_json json;
    const struct gv_tracks_writer writer = {&json, chrome_track, chrome_piece, chrome_count};
    int error;

    (void)what;
    gv_json_begin(&json, out, '{');
    gv_json_open_line(&json, "otherData", '{');
    gv_json_text(&json, "made_by", CHROME_MADE_BY);
    gv_json_close(&json, '}');
    gv_json_text(&json, "displayTimeUnit", "ns");
    gv_json_open(&json, "traceEvents", '[');
    error = gv_tracks_walk(trace, &writer);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return error == GV_EXPORT_STOPPED ? 0 : error;
}

bool gv_export_is_chrome(const char *head)
{
    static const char beginning[] = "{\n  \"otherData\": {\"made_by\":\"" CHROME_MADE_BY "\"";

    return strncmp(head, beginning, sizeof(beginning) - 1) == 0;
}
