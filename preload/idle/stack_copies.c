#include "preload/idle/stack_copies.h"

#include "preload/base/own_memory.h"
#include "preload/stacks/stack_copy.h"
#include "trace/mix.h"

#include <string.h>

#define SECOND_NS    1000000000u
#define COPIES_MOST  4u /* in a second */
#define HASHED_BYTES 256u
#define KNOWN_MOST   64u        /* waits; a power of two */
#define PYTHON_MOST  4096u      /* as many as there are Python stacks */
#define FIRST_NUMBER (1u << 24) /* after all numbers of preload/stacks */

static struct {
    uint64_t hash;  /* 0: free */
    uint64_t place; /* of its program counter and its stack pointer */
    uint32_t number;
} known[KNOWN_MOST];
static uint8_t has_native[PYTHON_MOST / 8]; /* by the number of the STACK */
static uint32_t next_number;
static uint64_t second_ns; /* the start of this second, */
static unsigned copies;    /* and how many were made in it */

void gv_stack_copies_start_over(void)
{
    memset(known, 0, sizeof known);
    memset(has_native, 0, sizeof has_native);
    next_number = FIRST_NUMBER;
    second_ns = 0;
    copies = 0;
}

static bool may_copy(uint64_t now_ns)
{
    if (now_ns - second_ns >= SECOND_NS) {
        second_ns = now_ns;
        copies = 0;
    }
    return copies < COPIES_MOST;
}

/* False: there is no room now. */
static bool write_copy(struct gv_thread *writer, const struct gv_thread_state *state,
                       uint32_t number)
{
    union gv_record record = {
        .stack_copy = {.head = {.kind = GV_RECORD_STACK_COPY, .flags = GV_RECORD_MORE},
                       .number = number}};
    struct gv_stack_taken taken;

    copies++;
    if (!gv_stack_copy_take_other(state->pc, state->sp, &taken))
        return false;
    gv_stack_copy_finish(&taken);
    record.stack_copy.copy = taken.chunk;
    record.stack_copy.serial = taken.serial;
    if (gv_thread_write(writer, GV_ROOM_CODE, &record))
        return true;
    gv_stack_copy_drop(&taken);
    return false;
}

/* Its variables may differ each time, so that no copy is left for it: most likely it is a stack
 * that waited at the same place with the same stack pointer. 0: none did. */
static uint32_t alike(uint64_t place)
{
    for (unsigned i = 0; i < KNOWN_MOST; i++)
        if (known[i].hash && known[i].place == place)
            return known[i].number;
    return 0;
}

static uint32_t write_native(struct gv_thread *writer, const struct gv_thread_state *state,
                             uint64_t now_ns)
{
    union gv_record record = {
        .stack = {.head = {.kind = GV_RECORD_STACK, .flags = GV_RECORD_MORE}}};
    unsigned char top[HASHED_BYTES] = {0};
    uint64_t place = gv_mix(gv_mix(0, state->pc), state->sp), hash;
    unsigned cell;

    if (!gv_own_memory_read(top, state->sp, sizeof top))
        return 0;
    hash = gv_mix_bytes(place, top, sizeof top) | 1;
    cell = (unsigned)(hash >> 32) % KNOWN_MOST;
    if (known[cell].hash == hash)
        return known[cell].number;
    if (!may_copy(now_ns))
        return alike(place);
    record.stack.number = next_number;
    if (!gv_thread_write(writer, GV_ROOM_CODE, &record))
        return 0;
    known[cell].hash = hash;
    known[cell].place = place;
    known[cell].number = next_number++;
    if (!write_copy(writer, state, record.stack.number))
        known[cell].hash = 0; /* the next sample tries again */
    return record.stack.number;
}

uint32_t gv_stack_copies_write(struct gv_thread *writer, const struct gv_thread_state *state,
                               uint32_t python, uint64_t now_ns)
{
    if (!state->sp)
        return python;
    if (!python)
        return write_native(writer, state, now_ns);
    if (python < PYTHON_MOST && !(has_native[python / 8] & 1u << python % 8) && may_copy(now_ns) &&
        write_copy(writer, state, python))
        has_native[python / 8] |= (uint8_t)(1u << python % 8);
    return python;
}
