/*
 * Stacks: native frames as places in files, to be named when the trace is finished, and Python
 * frames with their names.
 *
 * The frames of the interpreter's own code are left out where there are Python frames, which stand
 * where the innermost of them stood.
 */
#include "report/collect/ingest.h"

#include "trace/text.h"

#include <stdio.h>
#include <string.h>

/* Python frames stand between the native ones inside the interpreter's calls and those around it.
 */
#define GV_INGEST_PYTHON_DEPTH 1000
#define GV_INGEST_OUTER_DEPTH  2000

static int gv_ingest_object(struct gv_ingest *ingest, const struct gv_record_object *object,
                            const union gv_record *records, size_t count)
{
    char path[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    char build_id[2 * GV_RECORD_BUILD_ID_BYTES + 1] = "";
    const char *text = gv_ingest_text(records, count, 0, object->text_bytes, path, sizeof(path));

    for (unsigned i = 0; i < object->build_id_bytes && i < GV_RECORD_BUILD_ID_BYTES; i++)
        snprintf(build_id + 2 * i, 3, "%02x", object->build_id[i]);
    return gv_database_run(ingest->database, GV_STATEMENT_OBJECT_ADD, "iiiitt", ingest->process,
                           (int64_t)object->base, (int64_t)object->low, (int64_t)object->high, text,
                           build_id[0] ? build_id : NULL);
}

static int gv_ingest_new_stack(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                               const struct gv_record_stack *record)
{
    int error = gv_database_run(ingest->database, GV_STATEMENT_STACK_ADD, "ii", ingest->process,
                                (int64_t)record->number);

    memset(state, 0, sizeof(*state));
    state->stack = error ? 0 : gv_database_last_id(ingest->database);
    state->python_expected = record->python_frames;
    state->python_low = record->python_low;
    state->python_high = record->python_high;
    return error;
}

static int gv_ingest_native_frame(struct gv_ingest *ingest, const struct gv_ingest_stack *state,
                                  int64_t depth, uint64_t address)
{
    char path[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)] = "";
    int64_t object = 0;
    uint64_t place = address;
    int error;
    sqlite3_stmt *find = gv_database_prepare(ingest->database, GV_STATEMENT_OBJECT_AT, &error);

    if (!find)
        return error;
    sqlite3_bind_int64(find, 1, ingest->process);
    sqlite3_bind_int64(find, 2, (int64_t)address);
    int result = sqlite3_step(find);
    if (result == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(find, 2);
        object = sqlite3_column_int64(find, 0);
        place = address - (uint64_t)sqlite3_column_int64(find, 1);
        snprintf(path, sizeof(path), "%s", text ? text : "");
    }
    error = gv_database_error(ingest->database->handle, result);
    sqlite3_reset(find);
    if (error)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_FRAME_ADD, "iitntnniz", state->stack,
                           depth, "native", path[0] ? path : NULL, (int64_t)place, object);
}

static int gv_ingest_native_frames(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                                   const struct gv_record_frames *frames)
{
    int error = 0;

    for (unsigned i = 0; i < frames->head.api && i < GV_RECORD_FRAMES && !error; i++) {
        uint64_t address = frames->address[i];
        bool interpreter = address >= state->python_low && address < state->python_high;

        if (interpreter && state->python_expected) {
            state->inside_python = true;
            continue;
        }
        error = gv_ingest_native_frame(
            ingest, state,
            state->native_frames++ + (state->inside_python ? GV_INGEST_OUTER_DEPTH : 0), address);
    }
    return error;
}

static int gv_ingest_python_frame(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                                  const struct gv_record_python_frame *frame,
                                  const union gv_record *records, size_t count)
{
    char both[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    char file[GV_TEXT_REPAIRED_BYTES(GV_RECORD_TEXT_LIMIT)];
    uint32_t bytes = (uint32_t)frame->file_bytes + frame->function_bytes;

    if (!gv_ingest_text(records, count, 0, bytes, both, sizeof(both)))
        return 0;
    /* Both names were whole characters: repairing has not moved where the second one begins. */
    size_t split = strnlen(both, frame->file_bytes);
    memcpy(file, both, split);
    file[split] = '\0';
    return gv_database_run(ingest->database, GV_STATEMENT_FRAME_ADD, "iittntznn", state->stack,
                           (int64_t)(GV_INGEST_PYTHON_DEPTH + state->python_frames++), "python",
                           both + split, file, (int64_t)frame->line);
}

static int gv_ingest_stack_of_call(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                                   const struct gv_record_stack *record)
{
    int error;
    sqlite3_stmt *find = gv_database_prepare(ingest->database, GV_STATEMENT_STACK_FIND, &error);

    if (!find)
        return error;
    sqlite3_bind_int64(find, 1, ingest->process);
    sqlite3_bind_int64(find, 2, record->number);
    int result = sqlite3_step(find);
    state->of_call = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
    state->of_call_start_ns = record->call_start_ns;
    error = gv_database_error(ingest->database->handle, result);
    sqlite3_reset(find);
    return error;
}

int gv_ingest_stack(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                    const union gv_record *record, const union gv_record *rest, size_t rest_count)
{
    const union gv_record *records = rest - 1;

    switch (record->head.kind) {
    case GV_RECORD_OBJECT:
        return gv_ingest_object(ingest, &record->object, records, rest_count + 1);
    case GV_RECORD_STACK:
        return gv_ingest_new_stack(ingest, state, &record->stack);
    case GV_RECORD_FRAMES_OF_STACK:
        return state->stack ? gv_ingest_native_frames(ingest, state, &record->frames) : 0;
    case GV_RECORD_PYTHON_FRAME:
        return state->stack ? gv_ingest_python_frame(ingest, state, &record->python_frame, records,
                                                     rest_count + 1)
                            : 0;
    default:
        return gv_ingest_stack_of_call(ingest, state, &record->stack);
    }
}

int gv_ingest_stack_call(struct gv_ingest *ingest, struct gv_ingest_stack *state, int64_t call,
                         uint64_t start_ns)
{
    int64_t stack = state->of_call;

    state->of_call = 0;
    /* The call that it was told for may have been lost, and this be the next one. */
    if (!stack || state->of_call_start_ns != start_ns)
        return 0;
    return gv_database_run(ingest->database, GV_STATEMENT_CALL_STACK, "ii", call, stack);
}
