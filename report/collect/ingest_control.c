/* When recording was stopped and went on, and what commands did from outside. */
#include "report/collect/ingest_state.h"

#include "report/collect_ingest_control.inc"
#include "trace/text.h"

#include <string.h>

/* The domain of marks from outside. */
#define DOMAIN "gpuverify"

void gv_ingest_changed(struct gv_ingest *ingest, int64_t at_ns)
{
    if (at_ns < ingest->changed_ns)
        ingest->changed_ns = at_ns;
}

int gv_ingest_change(struct gv_ingest *ingest, uint32_t number, uint64_t at_ns)
{
    int64_t time_ns = gv_ingest_time(ingest, at_ns);

    gv_ingest_changed(ingest, time_ns);
    return GV_ADD(ingest->database, recording_change, .process = ingest->process, .number = number,
                  .at_ns = time_ns);
}

static int store_mark(struct gv_ingest *ingest, const struct gv_spool_note *note)
{
    const int64_t thread = (int64_t)GV_SPOOL_OUTSIDE_THREAD;
    char text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_NOTE_BYTES)];
    int error;

    gv_text_repair(text, sizeof(text), note->text, strlen(note->text));
    error =
        gv_database_run(ingest->database, GV_STATEMENT_MARK_THREAD, "ii", ingest->process, thread);
    if (!error)
        error = gv_database_run(ingest->database, GV_STATEMENT_MARK_TEXT, "it", ingest->process,
                                DOMAIN);
    if (!error)
        error =
            gv_database_run(ingest->database, GV_STATEMENT_MARK_TEXT, "it", ingest->process, text);
    return error
               ? error
               : gv_database_run(ingest->database, GV_STATEMENT_MARK_ADD, "iitti", ingest->process,
                                 thread, DOMAIN, text, gv_ingest_time(ingest, note->at_ns));
}

static int store_notes(struct gv_ingest *ingest)
{
    struct gv_spool_note note;
    int error = 0;

    for (uint32_t i = 0; i < GV_SPOOL_NOTES && !error; i++) {
        if (ingest->notes & 1u << i || !gv_spool_reader_note(ingest->reader, i, &note))
            continue;
        ingest->notes |= 1u << i;
        error = note.change ? gv_ingest_change(ingest, note.change, note.at_ns)
                            : store_mark(ingest, &note);
    }
    return error;
}

int gv_ingest_control(struct gv_ingest *ingest)
{
    int error = store_notes(ingest);

    /* Or its record comes with the next scan. */
    if (!error && ingest->scanned.changes > 0 && !ingest->knows_first) {
        ingest->knows_first = true;
        gv_ingest_changed(ingest, INT64_MIN);
        error = gv_database_run(ingest->database, GV_STATEMENT_RECORDING_BEGAN_STOPPED, "i",
                                ingest->process);
    }
    if (!error && ingest->changed_ns < INT64_MAX)
        error = gv_database_script(ingest->database->handle, sql_merge,
                                   (int64_t[]){ingest->process, ingest->changed_ns}, 2);
    if (!error)
        ingest->changed_ns = INT64_MAX;
    return error;
}

int gv_ingest_control_end(struct gv_ingest *ingest)
{
    return gv_database_script(ingest->database->handle, sql_drop_unrecorded, &ingest->process, 1);
}

void gv_ingest_control_committed(struct gv_ingest *ingest)
{
    for (uint32_t i = 0; i < GV_SPOOL_NOTES; i++)
        if (ingest->notes & 1u << i)
            gv_spool_reader_give_note_back(ingest->reader, i);
    ingest->notes = 0;
}
