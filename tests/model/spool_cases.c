/* Cases of the spool. */
#include "tests/model/call_cases.h"
#include "tests/model/end_cases.h"
#include "tests/model/spool_fixture.h"
#include "trace/spool_control.h"
#include "trace/spool_free_list.h"

#define FULL GV_SPOOL_SEGMENT_RECORDS

/* ---- one thread writes over the end of a segment ---- */

static void prepare_boundary(void)
{
    fixture_open(1, 3, 0);
    fixture_join(0, FULL - 2);
    fixture.position[0] = FULL - 2;
}

static void write_over_boundary(void)
{
    for (int i = 0; i < 4; i++)
        model_claim(fixture_write(0), "a record is lost, though there is room");
}

static void read_twice(void)
{
    fixture_read(false);
    fixture_read(false);
    model_join(0);
    fixture_read(true);
    model_claim(fixture.position[0] == fixture_written(0), "records are missing");
}

static const struct model_case boundary = {
    .name = "boundary",
    .prepare = prepare_boundary,
    .threads = {{"writer", write_over_boundary}, {"reader", read_twice}}};

/* ---- its segments come back ---- */

static void prepare_reuse(void)
{
    fixture_open(1, 2, 0);
    fixture_join(0, FULL + FULL - 1);
    fixture.position[0] = FULL + FULL - 2;
}

static void write_where_there_is_room(void)
{
    for (int i = 0; i < 3; i++)
        fixture_write(0);
}

static const struct model_case reuse = {
    .name = "reuse",
    .prepare = prepare_reuse,
    .threads = {{"writer", write_where_there_is_room}, {"reader", read_twice}}};

/* ---- a segment comes back into a list that has changed ---- */

static void fill_free_list(uint32_t segments)
{
    fixture_open(1, segments, segments);
    while (segments-- > 0)
        gv_spool_free_list_push(&fixture.header->free, gv_process.spool.segments, segments);
}

/* Writes one record into a new segment, if there is one. */
static void take_next(int writer)
{
    if (gv_thread_next_segment(fixture_thread(writer), GV_ROOM_CODE))
        fixture_write(writer);
}

static void prepare_again(void)
{
    fill_free_list(3);
    fixture_join(0, 1);
    take_next(0);
}

static void take_again(void)
{
    take_next(0);
    take_next(0);
}

static void read_once(void)
{
    fixture_read(false);
    model_join(0);
    fixture_read(true);
    model_claim(fixture.position[0] == fixture_written(0), "records are missing");
}

static const struct model_case again = {.name = "taken again",
                                        .prepare = prepare_again,
                                        .threads = {{"writer", take_again}, {"reader", read_once}}};

/* ---- two threads take what is free, while it is given back ---- */

static void prepare_free_list(void)
{
    fill_free_list(2);
    fixture_join(0, 0);
    fixture_join(1, 0);
}

static void take_one(void)
{
    fixture_write(0);
}

/* One after the other: the first is given back while the second is in use. */
static void take_two(void)
{
    take_next(1);
    take_next(1);
}

static void read_both(void)
{
    fixture_read(false);
    model_join(0);
    model_join(1);
    fixture_read(true);
    for (int i = 0; i < WRITERS; i++)
        model_claim(fixture.position[i] == fixture_written(i), "records are missing");
}

static const struct model_case free_list = {
    .name = "free list",
    .prepare = prepare_free_list,
    .threads = {{"one", take_one}, {"two", take_two}, {"reader", read_both}}};

/* ---- the reader takes the storage of free segments, and the writer needs them ---- */

static void prepare_emptied(void)
{
    fill_free_list(1);
    fixture.reader.free_least = fixture.segments;
    fixture.segments += 2;
    fixture_join(0, 0);
}

static void take_storage(void)
{
    const struct gv_spool_memory none = {.bytes = -1, .spools = 1};

    gv_spool_reader_share(&fixture.reader, &none);
}

static const struct model_case emptied = {
    .name = "emptied",
    .prepare = prepare_emptied,
    .threads = {{"writer", take_one}, {"reader", take_storage}}};

/* ---- the file grows ---- */

static void prepare_growth(void)
{
    fixture_open(3, 3 * GV_SPOOL_GROWTH_SEGMENTS, GV_SPOOL_GROWTH_SEGMENTS);
    fixture.first_segment = GV_SPOOL_GROWTH_SEGMENTS;
    fixture.segments = fixture.first_segment + 3;
    fixture_join(0, 0);
    fixture_join(1, 0);
}

static void take_new(void)
{
    model_claim(fixture_write(model_running()), "a record is lost, though the file can grow");
}

static void read_after_both(void)
{
    model_join(0);
    model_join(1);
    fixture_read(true);
    for (int i = 0; i < WRITERS; i++)
        model_claim(fixture.position[i] == fixture_written(i), "records are missing");
}

static const struct model_case growth = {
    .name = "growth",
    .prepare = prepare_growth,
    .threads = {{"one", take_new}, {"two", take_new}, {"reader", read_after_both}}};

static const struct model_case growth_read = {
    .name = "growth while it is read",
    .prepare = prepare_growth,
    .threads = {{"writer", take_new}, {"reader", read_twice}}};

/* ---- commands leave notes, of which there are few ---- */

static void prepare_notes(void)
{
    fixture_open(1, 3, 0);
    while (gv_control_note(&fixture.header->control)) /* busy */
        ;
    atomic_store(&fixture.header->control.notes[0].state, GV_NOTE_FREE);
}

static void leave_notes(void)
{
    for (uint32_t i = 1; i <= 2; i++) {
        struct gv_spool_note *note = gv_control_note(&fixture.header->control);
        if (!note)
            return;
        note->change = i;
        note->at_ns = i;
        gv_control_note_give(note);
    }
}

static void take_notes(void)
{
    struct gv_spool_note note;

    for (uint32_t i = 0; i < 2; i++)
        if (gv_spool_reader_note(&fixture.reader, 0, &note)) {
            model_claim(note.at_ns == note.change, "a note of two commands");
            gv_spool_reader_give_note_back(&fixture.reader, 0);
        }
}

static const struct model_case notes = {
    .name = "notes",
    .prepare = prepare_notes,
    .threads = {{"command", leave_notes}, {"reader", take_notes}}};

/* The slowest ones come last. */
const struct model_case *const model_cases[] = {&boundary,
                                                &reuse,
                                                &growth_read,
                                                &emptied,
                                                &notes,
                                                &call_cases_flight,
                                                &call_cases_same,
                                                &call_cases_slot,
                                                &call_cases_polls,
                                                &call_cases_polls_again,
                                                &end_cases_end,
                                                &end_cases_exit,
                                                &growth,
                                                &again,
                                                &free_list,
                                                &end_cases_twice,
                                                NULL};
