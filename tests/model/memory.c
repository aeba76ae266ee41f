/*
 * The memory that the threads of a case see: release and acquire as in C20, without load buffering.
 *
 * Every atomic has a list of its stores, in modification order. A thread may read any store that is
 * not older than what it has seen of this atomic. By acquiring a released store, it sees everything
 * that the storing thread had seen. A new store goes after what its thread has seen, not always at
 * the end. Plain accesses read memory, and must be ordered by such a chain; clocks find those that
 * are not.
 */
#include "tests/model/engine.h"

#include <stdio.h>
#include <string.h>

#define MOST_OF_LOCATION  64
#define LOCATION_PLACES   512 /* power of two, larger than MOST_LOCATIONS */
#define MIX(hash, value)  (((hash) ^ (uint64_t)(value)) * UINT64_C(0x9e3779b97f4a7c15))
#define NO_MESSAGE        0 /* of what a thread has seen: the initial state */
#define WRITTEN_BY_NOBODY 0xff

/* What a thread, or a reader of a store, has seen. */
struct view {
    uint16_t clock[MODEL_THREADS];
    uint16_t seen[MOST_LOCATIONS]; /* the newest message of each */
};

struct message {
    uint64_t value;
    uint16_t position;
    uint8_t writer;
    bool taken; /* the next one read and replaced it atomically: nothing goes in between */
    uint16_t event;
    struct view view;
};

struct location {
    char *address;
    unsigned bytes;
    uint64_t initial;
    char name[MODEL_NAME_BYTES];
    uint8_t loaders, storers; /* bits of threads, in any execution */
    uint16_t count;
    uint16_t order[MOST_OF_LOCATION]; /* messages */
};

struct knowledge {
    struct view now;
    struct view acquired; /* as of an acquire fence now */
    struct view released; /* as of the last release fence */
    uint64_t history;
    uint16_t events;
    struct location *last;       /* locations that it has accessed */
    const struct location *next; /* locations that it will access */
    bool waits;                  /* waits for an unseen store there */
};

static struct location locations[MOST_LOCATIONS];
static unsigned location_count;
static uint8_t location_places[LOCATION_PLACES]; /* number + 1 */
static struct message messages[MOST_MESSAGES];
static unsigned message_count;
static struct knowledge knowledge[MODEL_THREADS];
static bool failed_without_reason; /* a weak comparison may fail; once per execution is enough */

/* ---- locations ---- */

static uint64_t load_memory(const char *address, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, address, bytes);
    return value;
}

static unsigned find_location(char *address, unsigned bytes)
{
    unsigned place = (unsigned)(((uintptr_t)address >> 2) * 2654435761u) % LOCATION_PLACES;
    struct location *location;

    for (; location_places[place]; place = (place + 1) % LOCATION_PLACES) {
        location = &locations[location_places[place] - 1];
        if (location->address == address) {
            if (location->bytes != bytes)
                engine_fail("%s: atomic accesses of two sizes", location->name);
            return location_places[place] - 1u;
        }
    }
    if (location_count == MOST_LOCATIONS)
        engine_fail("more than %d atomics", MOST_LOCATIONS);
    location = &locations[location_count];
    *location = (struct location){.address = address, .bytes = bytes};
    location->initial = load_memory(address, bytes);
    watch_name(address, location->name);
    location_places[place] = (uint8_t)++location_count;
    return location_count - 1;
}

/* ---- views ---- */

static unsigned position_of(uint16_t message)
{
    return message == NO_MESSAGE ? 0 : messages[message].position;
}

static void join_view(struct view *into, const struct view *from)
{
    for (int i = 0; i < MODEL_THREADS; i++)
        if (from->clock[i] > into->clock[i])
            into->clock[i] = from->clock[i];
    for (unsigned i = 0; i < location_count; i++)
        if (from->seen[i] != into->seen[i] &&
            position_of(from->seen[i]) > position_of(into->seen[i]))
            into->seen[i] = from->seen[i];
}

const uint16_t *memory_clock(int thread)
{
    return knowledge[thread].now.clock;
}

void memory_join(int other)
{
    join_view(&knowledge[model_running()].now, &knowledge[other].now);
}

/* ---- atomic operations ---- */

static uint16_t new_message(uint64_t value, uint8_t writer, uint16_t event)
{
    struct message *message = &messages[++message_count];

    if (message_count == MOST_MESSAGES - 1)
        engine_fail("more than %d stores in one execution", MOST_MESSAGES);
    memset(message, 0, sizeof *message);
    message->value = value;
    message->writer = writer;
    message->event = event;
    return (uint16_t)message_count;
}

static void insert(struct location *location, unsigned position, uint16_t message)
{
    if (location->count == MOST_OF_LOCATION)
        engine_fail("%s: more than %d stores", location->name, MOST_OF_LOCATION);
    for (unsigned i = location->count; i > position; i--) {
        location->order[i] = location->order[i - 1];
        messages[location->order[i]].position = (uint16_t)i;
    }
    location->count++;
    location->order[position] = message;
    messages[message].position = (uint16_t)position;
}

static void read_message(unsigned number, uint16_t message, int order)
{
    struct knowledge *self = &knowledge[model_running()];

    self->now.seen[number] = message;
    join_view(hooks_acquires(order) ? &self->now : &self->acquired, &messages[message].view);
    self->history = MIX(self->history, messages[message].writer);
    self->history = MIX(self->history, messages[message].event);
}

/* `read`: what a read-modify-write operation has read, or NO_MESSAGE. */
static void write_message(unsigned number, unsigned position, uint64_t value, int order,
                          uint16_t read)
{
    struct location *location = &locations[number];
    int self = model_running();
    struct knowledge *mine = &knowledge[self];
    uint16_t message = new_message(value, (uint8_t)self, mine->events);
    struct view *view = &messages[message].view;

    insert(location, position, message);
    mine->now.seen[number] = message;
    *view = hooks_releases(order) ? mine->now : mine->released;
    view->seen[number] = message;
    if (read != NO_MESSAGE) {
        messages[read].taken = true;
        join_view(view, &messages[read].view);
    }
    if (hooks_releases(order))
        mine->now.clock[self]++;
    watch_keep(location->address, location->bytes);
    memcpy(location->address, &value, location->bytes);
}

/* The position of the oldest readable store. */
static unsigned oldest(const struct location *location, int thread)
{
    return position_of(knowledge[thread].now.seen[location - locations]);
}

static void trace(const struct operation *operation, const char *what, uint64_t value)
{
    if (engine_is_tracing())
        printf("    %-8s %s %s %llu %s @%p\n", engine_thread_name(model_running()), what,
               operation->kind == OPERATION_FENCE
                   ? ""
                   : locations[find_location(operation->address, operation->bytes)].name,
               (unsigned long long)value, hooks_order_name(operation->order), operation->site);
}

static uint64_t load(const struct operation *operation, unsigned number, unsigned explored)
{
    struct location *location = &locations[number];
    unsigned floor = oldest(location, model_running());
    uint16_t found[MOST_OF_LOCATION], message;
    unsigned count = 0;

    /* The newest first. */
    for (unsigned at = location->count; at-- > floor;)
        if (location->order[at] > explored)
            found[count++] = location->order[at];
    message = found[engine_choose(count)];
    read_message(number, message, operation->order);
    trace(operation, messages[message].position + 1u < location->count ? "reads an old" : "reads",
          messages[message].value);
    return messages[message].value;
}

static void store(const struct operation *operation, unsigned number)
{
    struct location *location = &locations[number];
    unsigned floor = oldest(location, model_running());
    unsigned places[MOST_OF_LOCATION], count = 0;
    unsigned place;

    for (unsigned at = location->count; at > floor; at--)
        if (!messages[location->order[at - 1]].taken)
            places[count++] = at;
    place = places[engine_choose(count)];
    trace(operation, place < location->count ? "stores before others" : "stores",
          operation->operand);
    write_message(number, place, operation->operand, operation->order, NO_MESSAGE);
}

static bool is_expected(const struct operation *operation, uint64_t value)
{
    uint64_t difference = value ^ operation->expected;

    return operation->kind != OPERATION_COMPARE ||
           (operation->ignores_tag ? (uint32_t)difference : difference) == 0;
}

/* A read-modify-write operation; a comparison may only read. */
static uint64_t modify(struct operation *operation, unsigned number, unsigned explored)
{
    struct location *location = &locations[number];
    unsigned floor = oldest(location, model_running());
    uint16_t found[MOST_OF_LOCATION * 2];
    bool writes[MOST_OF_LOCATION * 2];
    uint64_t mask = operation->bytes == 8 ? UINT64_MAX : (UINT64_C(1) << operation->bytes * 8) - 1;
    uint64_t value;
    unsigned count = 0, chosen;

    for (unsigned at = location->count; at-- > floor;) {
        const struct message *message = &messages[location->order[at]];
        bool equal = is_expected(operation, message->value);

        if (location->order[at] <= explored)
            continue;
        if (equal && !message->taken) {
            found[count] = location->order[at];
            writes[count++] = true;
        }
        if (!equal || (operation->weak && !failed_without_reason)) {
            found[count] = location->order[at];
            writes[count++] = false;
        }
    }
    chosen = engine_choose(count);
    value = messages[found[chosen]].value;
    operation->succeeded = writes[chosen];
    if (!operation->succeeded) {
        failed_without_reason |= is_expected(operation, value);
        read_message(number, found[chosen], operation->failure_order);
        trace(operation, "compares in vain with", value);
        return value;
    }
    read_message(number, found[chosen], operation->order);
    trace(operation, "reads and changes", value);
    write_message(number, position_of(found[chosen]) + 1, hooks_change(operation, value) & mask,
                  operation->order, found[chosen]);
    return operation->kind == OPERATION_COMPARE ? operation->expected : value;
}

static void fence(const struct operation *operation)
{
    struct knowledge *self = &knowledge[model_running()];

    if (hooks_acquires(operation->order))
        join_view(&self->now, &self->acquired);
    if (hooks_releases(operation->order)) {
        self->released = self->now;
        self->now.clock[model_running()]++;
    }
    trace(operation, "fence", 0);
}

static bool is_shared(const struct location *location)
{
    unsigned both = location->loaders | location->storers;

    return location->storers && (both & (both - 1));
}

/* The threads that access it, in any execution: what seemed private may turn out to be shared. */
static void note_access(struct location *location, const struct operation *operation)
{
    uint8_t self = (uint8_t)(1u << model_running());
    bool was_shared = is_shared(location);

    if (operation->kind != OPERATION_STORE)
        location->loaders |= self;
    if (operation->kind != OPERATION_LOAD)
        location->storers |= self;
    if (!was_shared && is_shared(location))
        engine_restart();
}

/*
 * Lets others run before an access that may read their stores; see engine_pause(). A store needs no
 * such pause: it can happen as early as possible, because the others can still read the old value
 * and put their own stores before it.
 */
static unsigned let_others(struct location *location, const struct operation *operation)
{
    struct knowledge *self = &knowledge[model_running()];
    unsigned explored;

    note_access(location, operation);
    self->last = location;
    if (!is_shared(location) || operation->kind == OPERATION_STORE)
        return 0;
    self->next = location;
    explored = engine_pause();
    self->next = NULL;
    return explored;
}

static void wait_for(struct location *location)
{
    struct knowledge *self = &knowledge[model_running()];
    const struct operation load = {.kind = OPERATION_LOAD};
    uint16_t found[MOST_OF_LOCATION], message;
    unsigned count = 0, explored, floor;

    note_access(location, &load);
    self->next = location;
    self->waits = true;
    explored = engine_pause();
    self->next = NULL;
    self->waits = false;
    floor = oldest(location, model_running());
    for (unsigned at = location->count; at-- > floor + 1;)
        if (location->order[at] > explored)
            found[count++] = location->order[at];
    message = found[engine_choose(count)];
    read_message((unsigned)(location - locations), message, __ATOMIC_RELAXED);
}

static struct location *location_at(const void *atomic, unsigned bytes)
{
    char *address = watch_original((char *)(uintptr_t)atomic);
    unsigned number = find_location(address, bytes);

    if (locations[number].count == 0)
        insert(&locations[number], 0, new_message(locations[number].initial, WRITTEN_BY_NOBODY, 0));
    return &locations[number];
}

void model_wait_for(const _Atomic uint32_t *atomic)
{
    if (model_running() >= 0)
        wait_for(location_at(atomic, sizeof *atomic));
}

void model_wait(void)
{
    if (model_running() >= 0)
        wait_for(knowledge[model_running()].last);
}

uint64_t memory_perform(struct operation *operation)
{
    char *address = operation->address;
    struct knowledge *self = &knowledge[model_running()];
    unsigned number, explored;

    if (operation->kind == OPERATION_FENCE) {
        hooks_note(operation, "");
        self->history = MIX(self->history, ++self->events);
        fence(operation);
        return 0;
    }
    address = watch_original(address);
    operation->address = address;
    number = (unsigned)(location_at(address, operation->bytes) - locations);
    hooks_note(operation, locations[number].name);
    explored = let_others(&locations[number], operation);
    watch_atomic(address, operation->bytes, operation->kind != OPERATION_LOAD);
    self->history = MIX(self->history, ++self->events);
    if (operation->kind == OPERATION_LOAD)
        return load(operation, number, explored);
    if (operation->kind != OPERATION_STORE)
        return modify(operation, number, explored);
    store(operation, number);
    return 0;
}

/* ---- executions ---- */

uint64_t memory_fingerprint(void)
{
    uint64_t hash = failed_without_reason + 1;

    for (int i = 0; i < MODEL_THREADS; i++)
        hash = MIX(hash, knowledge[i].history) + (hash >> 31);
    for (unsigned i = 0; i < location_count; i++)
        for (unsigned j = 1; j < locations[i].count; j++) {
            const struct message *message = &messages[locations[i].order[j]];

            hash = MIX(hash, i << 24 | (unsigned)message->writer << 16 | message->event) +
                   (hash >> 31);
        }
    return hash;
}

bool memory_has_news(int thread, unsigned explored)
{
    const struct location *next = knowledge[thread].next;

    if (!next)
        return true;
    for (unsigned at = next->count; at-- > oldest(next, thread) + knowledge[thread].waits;)
        if (next->order[at] > explored)
            return true;
    return false;
}

uint64_t memory_explored(int thread, unsigned explored)
{
    const struct location *next = knowledge[thread].next;
    uint64_t sum = explored && next;

    for (unsigned at = 0; explored && next && at < next->count; at++)
        if (next->order[at] <= explored)
            sum += MIX(messages[next->order[at]].writer, messages[next->order[at]].event + 1u);
    return sum;
}

unsigned memory_messages(void)
{
    return message_count;
}

void memory_reset(void)
{
    watch_undo();
    for (unsigned i = 0; i < location_count; i++)
        locations[i].count = 0;
    memset(knowledge, 0, sizeof knowledge);
    for (int i = 0; i < MODEL_THREADS; i++)
        knowledge[i].now.clock[i] = 1;
    message_count = 0;
    failed_without_reason = false;
}

void memory_settle(void)
{
    for (unsigned i = 0; i < location_count; i++) {
        struct location *location = &locations[i];

        if (location->count > 1)
            memcpy(location->address, &messages[location->order[location->count - 1]].value,
                   location->bytes);
    }
}

void memory_forget(void)
{
    memory_reset();
    watch_forget();
    location_count = 0;
    memset(location_places, 0, sizeof location_places);
}
