/*
 * Stacks of calls and of blocked threads: native frames from copies that the process left in its
 * ring, and Python frames by code object and position. Python frames replace those of the
 * interpreter, at the position of its innermost one. Native frames are offsets in files, to be
 * named when the trace is finished.
 *
 * A copy is cleared, and its room free, after the commit.
 */
#include "report/collect/ingest_state.h"

#include "trace/mix.h"
#include "trace/stack_ring.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The frames that wait for their code object; more mean damage. */
#define WAITING_MOST 4096u
/* A process with more distinct stacks has none for the rest. */
#define ROWS_MOST 6144u
/* Of the objects that are gone, so many are kept at least: copies in the ring may be of them. */
#define REMOVED_KEPT 512u

struct waiting {
    uint32_t code, instruction;
    int64_t row, depth;
};

/* Of a site that calls refer to. */
struct site {
    int64_t row;   /* of its last stack; 0: none */
    bool is_empty; /* the row is made, and its stack is to come: another thread wrote it */
};

/* Of the process's list of objects. */
struct entry {
    uint32_t added, index;
};

/* A copy that was read, to be freed after the commit. */
struct taken {
    uint32_t chunk;
    uint64_t serial;
};
#define TAKEN_MOST (GV_STACK_WORDS * GV_STACK_WORD_CHUNKS) /* more means damage */

struct gv_ingest_stacks {
    struct gv_unwinder *unwinder;
    uint32_t generation; /* of the process's list of objects, as far as it is known */
    uint32_t removed;    /* objects that are gone, since `kept_from` was set, */
    uint32_t kept_from;  /* a generation: earlier ones are forgotten next */
    struct entry entries[GV_SPOOL_OBJECTS];
    struct gv_known objects; /* base, path -> row */
    struct gv_known chains;  /* a stack as it was taken -> row */
    struct gv_known rows;    /* a stack's frames as they are stored -> row */
    uint32_t row_count;
    struct site sites[GV_STACK_SITES + 1];
    struct waiting *waiting;
    size_t waiting_count, waiting_room;
    struct taken taken[TAKEN_MOST];
    size_t taken_count;
    struct gv_stack_copy *copy;   /* the current one, */
    struct gv_unwind_chain chain; /* and what became of it */
};

static struct gv_ingest_stacks *open_stacks(struct gv_ingest *ingest)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;

    if (stacks)
        return stacks;
    stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return NULL;
    ingest->stacks = stacks;
    stacks->copy = malloc(sizeof(*stacks->copy) + GV_STACK_COPY_MOST);
    stacks->unwinder = gv_unwinder_open();
    if (stacks->copy && stacks->unwinder)
        return stacks;
    gv_ingest_stacks_close(ingest);
    return NULL;
}

void gv_ingest_stacks_close(struct gv_ingest *ingest)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;

    ingest->stacks = NULL;
    if (!stacks)
        return;
    if (stacks->unwinder)
        gv_unwinder_close(stacks->unwinder);
    free(stacks->copy);
    gv_known_free(&stacks->objects, ingest->database);
    gv_known_free(&stacks->chains, ingest->database);
    gv_known_free(&stacks->rows, ingest->database);
    free(stacks->waiting);
    free(stacks);
}

static int count_loss(struct gv_ingest *ingest, const char *why)
{
    return gv_database_run(ingest->database, GV_STATEMENT_LOSS_ADD, "itti", ingest->process,
                           "stack", why, (int64_t)1);
}

/* ---- the process's objects ---- */

static int read_object(struct gv_ingest_stacks *stacks, struct gv_spool_reader *reader,
                       uint32_t index)
{
    struct gv_spool_object entry;

    if (!gv_spool_reader_object(reader, index, &entry))
        return 0;
    struct gv_unwind_object object = {.base = entry.base,
                                      .low = entry.low,
                                      .high = entry.high,
                                      .path = entry.path,
                                      .build_id_bytes = entry.build_id_bytes};
    memcpy(object.build_id, entry.build_id, sizeof(object.build_id));
    if (entry.added > stacks->generation) {
        /* A damaged entry costs its frames only. */
        if (gv_unwinder_add(stacks->unwinder, entry.added, &object) == -ENOMEM)
            return -ENOMEM;
    }
    if (entry.removed) {
        gv_unwinder_remove(stacks->unwinder, entry.removed, entry.base);
        gv_spool_reader_free_object(reader, index);
        stacks->removed++;
    }
    return 0;
}

static int compare_added(const void *one, const void *other)
{
    uint32_t first = ((const struct entry *)one)->added,
             second = ((const struct entry *)other)->added;

    return (first > second) - (first < second);
}

/* In the order in which they came: what lies at an address was removed before the next one came
 * there. */
static uint32_t list_entries(struct gv_ingest_stacks *stacks, struct gv_spool_reader *reader,
                             uint32_t count)
{
    struct gv_spool_object object;
    uint32_t used = 0;

    for (uint32_t i = 0; i < count; i++)
        if (gv_spool_reader_object(reader, i, &object))
            stacks->entries[used++] = (struct entry){object.added, i};
    qsort(stacks->entries, used, sizeof(stacks->entries[0]), compare_added);
    return used;
}

/* What came and went since the last time. */
static int read_objects(struct gv_ingest *ingest)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    uint32_t count, generation = gv_spool_reader_objects(ingest->reader, &count);
    int error = 0;

    if (generation == stacks->generation)
        return 0;
    count = list_entries(stacks, ingest->reader, count);
    for (uint32_t i = 0; i < count && !error; i++)
        error = read_object(stacks, ingest->reader, stacks->entries[i].index);
    if (error)
        return error;
    stacks->generation = generation;
    if (stacks->removed > REMOVED_KEPT) {
        gv_unwinder_forget(stacks->unwinder, stacks->kept_from);
        stacks->kept_from = generation;
        stacks->removed = 0;
    }
    return 0;
}

struct gv_unwinder *gv_ingest_stacks_unwinder(struct gv_ingest *ingest, uint32_t *generation)
{
    struct gv_ingest_stacks *stacks = open_stacks(ingest);

    if (!stacks || read_objects(ingest))
        return NULL;
    *generation = stacks->generation;
    return stacks->unwinder;
}

/* Small libraries often have the same layout, and a file may be replaced at its path. */
static uint64_t hash_of(const struct gv_unwind_object *object)
{
    uint64_t hash = gv_mix_bytes(object->high, object->path, strlen(object->path));

    return gv_mix_bytes(hash, (const char *)object->build_id, object->build_id_bytes);
}

/* Its row, with the path as it is stored. */
static int object_row(struct gv_ingest *ingest, const struct gv_unwind_object *object,
                      char path[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_OBJECT_PATH_BYTES)], int64_t *row)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    char build_id[2 * GV_SPOOL_BUILD_ID_BYTES + 1] = "";
    struct gv_key key = {{object->base, hash_of(object)}};
    int error = gv_known_find(&stacks->objects, ingest->database, &key, row);

    gv_text_repair(path, GV_TEXT_REPAIRED_BYTES(GV_SPOOL_OBJECT_PATH_BYTES), object->path,
                   strlen(object->path));
    if (error || *row)
        return error;
    for (unsigned i = 0; i < object->build_id_bytes && i < GV_SPOOL_BUILD_ID_BYTES; i++)
        snprintf(build_id + 2 * i, 3, "%02x", object->build_id[i]);
    error =
        GV_ADD(ingest->database, object, .process = ingest->process, .base = (int64_t)object->base,
               .low = (int64_t)object->low, .high = (int64_t)object->high, .path = path,
               .build_id = build_id[0] ? build_id : NULL);
    if (error)
        return error;
    *row = gv_database_last_id(ingest->database);
    return gv_known_add(&stacks->objects, ingest->database, &key, *row);
}

/* ---- frames ---- */

static int store_native(struct gv_ingest *ingest, int64_t row, int64_t depth, uint32_t generation,
                        uint64_t address)
{
    const struct gv_unwind_object *object =
        gv_unwinder_object(ingest->stacks->unwinder, generation, address);
    char path[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_OBJECT_PATH_BYTES)];
    int64_t object_id = 0;
    int error = object ? object_row(ingest, object, path, &object_id) : 0;

    return error ? error
                 : GV_ADD(ingest->database, frame, .stack = row, .depth = depth, .kind = "native",
                          .library = object && path[0] ? path : NULL,
                          .address = (int64_t)(object ? address - object->base : address),
                          .object = object_id);
}

/* An interpreter in an object of its own, or a program that is one. */
static bool is_interpreter(const struct gv_unwind_object *object)
{
    const char *slash = object ? strrchr(object->path, '/') : NULL;

    return slash && (strncmp(slash, "/python", 7) == 0 || strncmp(slash, "/libpython", 10) == 0);
}

bool gv_ingest_stacks_is_interpreter(struct gv_ingest *ingest, uint32_t generation,
                                     uint64_t address)
{
    return is_interpreter(gv_unwinder_object(ingest->stacks->unwinder, generation, address));
}

static void find_interpreter(struct gv_ingest_stacks *stacks, uint32_t generation,
                             const struct gv_unwind_chain *chain, uint64_t *low, uint64_t *high)
{
    for (size_t i = 0; i < chain->count; i++) {
        const struct gv_unwind_object *object =
            gv_unwinder_object(stacks->unwinder, generation, chain->address[i]);

        if (is_interpreter(object)) {
            *low = object->low;
            *high = object->high;
            return;
        }
    }
}

/* `low`, `high`: the interpreter that Python frames stand for. */
static int store_chain(struct gv_ingest *ingest, int64_t row, uint32_t generation,
                       const struct gv_unwind_chain *chain, uint64_t low, uint64_t high)
{
    int64_t depth = 0, outer = 0;
    int error = 0;

    for (size_t i = 0; i < chain->count && !error; i++) {
        if (chain->address[i] >= low && chain->address[i] < high)
            outer = GV_INGEST_OUTER_DEPTH;
        else
            error = store_native(ingest, row, outer + depth++, generation, chain->address[i]);
    }
    if (error || chain->end == GV_UNWIND_COMPLETE)
        return error;
    return GV_ADD(ingest->database, stack_end, .stack = row,
                  .how = chain->end == GV_UNWIND_TRUNCATED ? "truncated" : "stopped");
}

int gv_ingest_stacks_frames(struct gv_ingest *ingest, int64_t row, uint32_t generation,
                            const struct gv_unwind_chain *chain)
{
    uint64_t low = 0, high = 0;
    int64_t python;
    int error =
        gv_database_find(ingest->database, GV_STATEMENT_FRAME_PYTHON_COUNT, &python, "i", row);

    if (!error && python)
        find_interpreter(ingest->stacks, generation, chain, &low, &high);
    return error ? error : store_chain(ingest, row, generation, chain, low, high);
}

static int wait_for_code(struct gv_ingest_stacks *stacks, const struct waiting *frame)
{
    if (stacks->waiting_count == stacks->waiting_room) {
        size_t room = stacks->waiting_room ? 2 * stacks->waiting_room : 64;
        struct waiting *grown =
            room <= WAITING_MOST ? realloc(stacks->waiting, room * sizeof(*grown)) : NULL;
        if (!grown)
            return room <= WAITING_MOST ? -ENOMEM : 0;
        stacks->waiting = grown;
        stacks->waiting_room = room;
    }
    stacks->waiting[stacks->waiting_count++] = *frame;
    return 0;
}

static int store_python(struct gv_ingest *ingest, const struct waiting *frame, bool *is_hidden)
{
    struct gv_python_place place = {.is_hidden = false};
    int error = gv_python_code_find(&ingest->python_codes, frame->code, frame->instruction, &place);

    *is_hidden = place.is_hidden;
    if (error == -ENOENT) /* the process had no room for the number 0 */
        return frame->code ? wait_for_code(ingest->stacks, frame) : 0;
    if (error || place.is_hidden)
        return error;
    return GV_ADD(ingest->database, frame, .stack = frame->row, .depth = frame->depth,
                  .kind = "python", .function = place.function[0] ? place.function : NULL,
                  .file = place.file[0] ? place.file : NULL, .line = place.line,
                  .address = GV_ROW_NULL);
}

/* Only now it is known that this one does not count. */
static int close_gap(struct gv_ingest *ingest, const struct waiting *hidden)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;

    for (size_t i = 0; i < stacks->waiting_count; i++)
        if (stacks->waiting[i].row == hidden->row && stacks->waiting[i].depth > hidden->depth)
            stacks->waiting[i].depth--;
    return gv_database_run(ingest->database, GV_STATEMENT_FRAME_PYTHON_CLOSE, "iii", hidden->row,
                           hidden->depth, (int64_t)GV_INGEST_OUTER_DEPTH);
}

int gv_ingest_stack_code(struct gv_ingest *ingest, uint32_t number)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    struct gv_python_place place;
    bool is_hidden;
    int error;

    if (!stacks || !stacks->waiting_count)
        return 0;
    error = gv_python_code_find(&ingest->python_codes, number, 0, &place);
    if (error) /* the record was cut, so its frames wait on */
        return error == -ENOENT ? 0 : error;
    for (size_t i = 0; i < stacks->waiting_count && !error;) {
        const struct waiting frame = stacks->waiting[i];

        if (frame.code != number) {
            i++;
            continue;
        }
        stacks->waiting[i] = stacks->waiting[--stacks->waiting_count];
        error = store_python(ingest, &frame, &is_hidden);
        if (!error && is_hidden)
            error = close_gap(ingest, &frame);
    }
    return error;
}

/* Frames that were left out count for the depth, hidden ones do not. */
static int64_t depth_after(int64_t depth, const struct gv_python_position *position, bool is_hidden)
{
    return depth + !is_hidden +
           (position->left_out < GV_INGEST_OUTER_DEPTH - GV_INGEST_PYTHON_DEPTH ? position->left_out
                                                                                : 0);
}

static int store_positions(struct gv_ingest *ingest, int64_t row, int64_t *depth,
                           const struct gv_python_position *positions, size_t count)
{
    bool is_hidden;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const struct waiting frame = {positions[i].code, positions[i].instruction, row,
                                      GV_INGEST_PYTHON_DEPTH + *depth};

        error = store_python(ingest, &frame, &is_hidden);
        *depth = depth_after(*depth, &positions[i], is_hidden);
    }
    return error;
}

/* ---- a call's stack ---- */

/* Copies it from the ring, where it stays until the commit. False: it is not there. */
static bool take_copy(struct gv_ingest *ingest, uint32_t chunk, uint64_t serial)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;

    if (!chunk || !gv_spool_reader_stack(ingest->reader, chunk - 1, serial, stacks->copy))
        return false;
    if (stacks->taken_count < TAKEN_MOST)
        stacks->taken[stacks->taken_count++] = (struct taken){chunk - 1, serial};
    return true;
}

void gv_ingest_stacks_committed(struct gv_ingest *ingest)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;

    for (size_t i = 0; stacks && i < stacks->taken_count; i++)
        gv_spool_reader_free_stack(ingest->reader, stacks->taken[i].chunk, stacks->taken[i].serial);
    if (stacks)
        stacks->taken_count = 0;
}

static void walk_copy(struct gv_ingest_stacks *stacks)
{
    const struct gv_stack_copy *copy = stacks->copy;
    struct gv_unwind_stack stack = {.pc = copy->pc,
                                    .sp = copy->sp,
                                    .known = copy->known,
                                    .generation = copy->generation,
                                    .bytes = copy->stack,
                                    .size = copy->bytes};

    memcpy(stack.value, copy->value, sizeof(stack.value));
    gv_unwinder_walk(stacks->unwinder, &stack, &stacks->chain);
}

/* The calls of our own library come first. */
static void drop_own_frames(struct gv_ingest_stacks *stacks)
{
    struct gv_unwind_chain *chain = &stacks->chain;
    const struct gv_unwind_object *us =
        chain->count
            ? gv_unwinder_object(stacks->unwinder, stacks->copy->generation, chain->address[0])
            : NULL;
    uint64_t low = us ? us->low : 0, high = us ? us->high : 0;
    size_t own = 0;

    while (own < chain->count && chain->address[own] >= low && chain->address[own] < high)
        own++;
    chain->count -= own;
    memmove(chain->address, chain->address + own, chain->count * sizeof(chain->address[0]));
}

/* With Python frames, those of the interpreter say nothing. */
static bool is_left_out(const struct gv_stack_copy *copy, uint64_t address)
{
    return copy->position_count && address >= copy->python_low && address < copy->python_high;
}

/* What tells stacks apart, before names are asked for. */
static struct gv_key key_as_taken(struct gv_ingest_stacks *stacks)
{
    const struct gv_unwind_chain *chain = &stacks->chain;
    const struct gv_stack_copy *copy = stacks->copy;
    uint64_t native = chain->end, python = 0;

    for (size_t i = 0; i < chain->count; i++) {
        const struct gv_unwind_object *object =
            gv_unwinder_object(stacks->unwinder, copy->generation, chain->address[i]);

        if (is_left_out(copy, chain->address[i]))
            continue;
        native = gv_mix(native, chain->address[i]);
        if (object)
            native = gv_mix(gv_mix(native, object->base), hash_of(object));
    }
    /* How many were left out is not mixed in: a recursion has one stack, however deep it is. */
    for (size_t i = 0; i < copy->position_count; i++)
        python = gv_mix(python,
                        ((uint64_t)copy->position[i].code << 32 | copy->position[i].instruction) +
                            (copy->position[i].left_out > 0));
    return (struct gv_key){{native, python}};
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return text ? gv_mix_bytes(hash, text, strlen(text)) : gv_mix(hash, 0);
}

/* By lines: several instructions, and code objects that are made anew, have the same ones. False:
 * not all are known. */
static int key_as_stored(struct gv_ingest *ingest, struct gv_key *key)
{
    const struct gv_stack_copy *copy = ingest->stacks->copy;
    int error = 0;

    key->part[2] = 1;
    key->part[1] = 0;
    for (size_t i = 0; i < copy->position_count && !error; i++) {
        struct gv_python_place place;

        error = gv_python_code_find(&ingest->python_codes, copy->position[i].code,
                                    copy->position[i].instruction, &place);
        if (error || place.is_hidden)
            continue;
        uint64_t text = mix_text((uint64_t)place.line, place.file);
        text = mix_text(text, place.function);
        key->part[1] = gv_mix(key->part[1], text + (copy->position[i].left_out > 0));
    }
    return error;
}

static int store_copy(struct gv_ingest *ingest, int64_t row)
{
    const struct gv_stack_copy *copy = ingest->stacks->copy;
    int64_t depth = 0;
    int error = store_positions(ingest, row, &depth, copy->position, copy->position_count);

    return error ? error
                 : store_chain(ingest, row, copy->generation, &ingest->stacks->chain,
                               copy->position_count ? copy->python_low : 0,
                               copy->position_count ? copy->python_high : 0);
}

static int add_row(struct gv_ingest *ingest, int64_t *row)
{
    int error = gv_database_run(ingest->database, GV_STATEMENT_STACK_ADD_OWN, "i", ingest->process);

    *row = error ? 0 : gv_database_last_id(ingest->database);
    return error;
}

/* The row of the stack that was taken. `empty`: a row to fill if it is new; 0: none. */
static int find_row(struct gv_ingest *ingest, int64_t empty, int64_t *row)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    struct gv_database *database = ingest->database;
    struct gv_key taken = key_as_taken(stacks), stored = taken;
    int known, error = gv_known_find(&stacks->chains, database, &taken, row);

    if (error || *row)
        return error;
    known = key_as_stored(ingest, &stored);
    if (known && known != -ENOENT)
        return known;
    if (!known)
        error = gv_known_find(&stacks->rows, database, &stored, row);
    if (!error && !*row) {
        if (stacks->row_count >= ROWS_MOST)
            return count_loss(ingest, "");
        stacks->row_count++;
        *row = empty;
        if (!*row)
            error = add_row(ingest, row);
        if (!error)
            error = store_copy(ingest, *row);
        if (!error && !known)
            error = gv_known_add(&stacks->rows, database, &stored, *row);
    }
    return error ? error : gv_known_add(&stacks->chains, database, &taken, *row);
}

/* A call's own stack. */
static int store_own(struct gv_ingest *ingest, const struct gv_record_stack *record, int64_t *row)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    struct site *site =
        record->site && record->site <= GV_STACK_SITES ? &stacks->sites[record->site] : NULL;
    int64_t empty = site && site->is_empty ? site->row : 0;
    int error;

    if (!take_copy(ingest, record->copy, record->serial))
        return count_loss(ingest, "its copy is gone");
    error = read_objects(ingest);
    if (error)
        return error;
    walk_copy(stacks);
    drop_own_frames(stacks);
    if (stacks->chain.count == 0 && stacks->copy->position_count == 0)
        return count_loss(ingest, "not followed");
    error = find_row(ingest, empty, row);
    /* It has its frames already in another row, and calls refer to this one, too. */
    if (!error && empty && *row != empty)
        error = store_copy(ingest, empty);
    if (!error && site && (*row || empty))
        *site = (struct site){.row = *row ? *row : empty};
    return error;
}

/* The last stack of a site, which may come later: another thread wrote it. */
static int find_of_site(struct gv_ingest *ingest, uint32_t number, int64_t *row)
{
    struct site *site = &ingest->stacks->sites[number];
    int error = 0;

    if (!site->row) {
        error = add_row(ingest, &site->row);
        site->is_empty = true;
    }
    *row = site->row;
    return error;
}

static int find_stack_of_call(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                              const struct gv_record_stack *record)
{
    state->of_call = 0;
    state->of_call_start_ns = record->call_start_ns;
    state->of_other = record->head.flags & GV_RECORD_REPRESENTS;
    state->one_of = record->one_of;
    if (!state->of_other)
        return store_own(ingest, record, &state->of_call);
    return record->site && record->site <= GV_STACK_SITES
               ? find_of_site(ingest, record->site, &state->of_call)
               : 0;
}

int gv_ingest_stack_of_call(struct gv_ingest *ingest, struct gv_ingest_stack *state, int64_t call,
                            uint64_t start_ns)
{
    int64_t stack = state->of_call;
    int error;

    state->of_call = 0;
    /* Its call may be lost, and this may be the next one. */
    if (!stack || state->of_call_start_ns != start_ns)
        return 0;
    error = GV_ADD(ingest->database, call_stack, .call = call, .stack = stack);
    if (!error && state->of_other)
        error = GV_ADD(ingest->database, call_stack_of_other, .call = call);
    gv_live_stack(ingest->live.live, call, stack, state->one_of);
    if (!error && state->one_of)
        error = GV_ADD(ingest->database, call_sample, .call = call, .one_of = state->one_of);
    return error;
}

/* ---- stacks with a number ---- */

/* A call may come before its stack, which another thread wrote. */
int gv_ingest_stack(struct gv_ingest *ingest, uint32_t number, int64_t *stack)
{
    int error = gv_database_find(ingest->database, GV_STATEMENT_STACK_FIND, stack, "ii",
                                 ingest->process, (int64_t)number);

    if (error || *stack)
        return error;
    error = GV_ADD(ingest->database, stack, .process = ingest->process, .number = number);
    *stack = error ? 0 : gv_database_last_id(ingest->database);
    return error;
}

static int new_stack(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                     const struct gv_record_stack *record)
{
    int error = gv_ingest_stack(ingest, record->number, &state->stack);

    state->depth = 0;
    if (error || !record->function)
        return error;
    error = read_objects(ingest);
    /* As a return address: the code is before it. */
    return error ? error
                 : store_native(ingest, state->stack, 0, ingest->stacks->generation,
                                record->function + 1);
}

static int add_positions(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                         const struct gv_record_python_frames *frames)
{
    size_t count = frames->head.api < GV_RECORD_POSITIONS ? frames->head.api : GV_RECORD_POSITIONS;

    return state->stack
               ? store_positions(ingest, state->stack, &state->depth, frames->position, count)
               : 0;
}

/* The native side of a blocked thread's stack. */
static int add_blocked(struct gv_ingest *ingest, const struct gv_record_stack_copy *record)
{
    struct gv_ingest_stacks *stacks = ingest->stacks;
    int64_t row;
    int error = gv_ingest_stack(ingest, record->number, &row);

    if (error)
        return error;
    if (!take_copy(ingest, record->copy, record->serial))
        return count_loss(ingest, "its copy is gone");
    if (!gv_unwind_time_is_left(&ingest->unwind_time))
        return count_loss(ingest, "no time");
    int64_t begin_ns = gv_unwind_time_begin();
    error = read_objects(ingest);
    if (!error)
        walk_copy(stacks);
    if (!error)
        error = gv_ingest_stacks_frames(ingest, row, stacks->copy->generation, &stacks->chain);
    gv_unwind_time_end(&ingest->unwind_time, begin_ns);
    return error;
}

int gv_ingest_stack_part(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                         const union gv_record *record)
{
    if (!open_stacks(ingest))
        return -ENOMEM;
    switch (record->head.kind) {
    case GV_RECORD_STACK:
        return new_stack(ingest, state, &record->stack);
    case GV_RECORD_PYTHON_FRAMES:
        return add_positions(ingest, state, &record->python_frames);
    case GV_RECORD_STACK_COPY:
        return add_blocked(ingest, &record->stack_copy);
    default:
        return find_stack_of_call(ingest, state, &record->stack);
    }
}
