#include "preload/ranges/texts.h"

#include "preload/base/lazy_memory.h"
#include "preload/base/own_process.h"
#include "trace/mix.h"

#include <string.h>

#define TEXTS      16384u
#define TEXT_BYTES (1u << 20) /* of all of them */
#define CELLS      32768u     /* a power of two; keys of texts, handles and categories */
#define PROBES     32u

struct text {
    uint32_t at, bytes;
    _Atomic uint64_t told; /* token of the process that wrote it; a forked child writes it anew */
};

/* `number` is stored after `key`. Whoever finds it 0 does without: its owner may be a thread that
 * does not continue before us. */
struct cell {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t number;
};

struct tables {
    struct text texts[TEXTS]; /* by number */
    char bytes[TEXT_BYTES];
    struct cell cells[CELLS];
};
static void *_Atomic tables_memory;
static _Atomic uint32_t texts_used, bytes_used; /* each text ends in a NUL */
static _Atomic bool full;

/* Whoever has a cell or a number has them. */
static struct tables *tables(void)
{
    return atomic_load_explicit(&tables_memory, memory_order_relaxed);
}

/* Claims a free cell for a new key. *is_new: the caller must fill it. NULL: there is no room. */
static struct cell *cell_of(uint64_t key, bool claim, bool *is_new)
{
    struct tables *all = claim ? gv_lazy_memory(&tables_memory, sizeof(struct tables)) : tables();

    key = key ? key : 1;
    for (uint32_t i = 0; i < PROBES && all; i++) {
        struct cell *cell = &all->cells[((key >> 32) + i) & (CELLS - 1)];
        uint64_t found = atomic_load_explicit(&cell->key, memory_order_acquire);

        if (found == 0 && claim && atomic_compare_exchange_strong(&cell->key, &found, key)) {
            *is_new = true;
            return cell;
        }
        if (found == key)
            return cell;
        if (found == 0)
            return NULL;
    }
    return NULL;
}

/* Takes `wanted` of what is left. */
static bool reserve(_Atomic uint32_t *used, uint32_t wanted, uint32_t most, uint32_t *at)
{
    *at = atomic_load_explicit(used, memory_order_relaxed);
    do
        if (most - *at < wanted)
            return false;
    while (!atomic_compare_exchange_weak_explicit(used, at, *at + wanted, memory_order_relaxed,
                                                  memory_order_relaxed));
    return true;
}

static uint32_t add_text(const char *text, uint32_t bytes)
{
    static const char cut[] = "...";
    uint32_t at, index;

    if (!reserve(&bytes_used, bytes + 1, TEXT_BYTES, &at) ||
        !reserve(&texts_used, 1, TEXTS - 1, &index)) {
        atomic_store_explicit(&full, true, memory_order_relaxed);
        return 0;
    }
    memcpy(tables()->bytes + at, text, bytes);
    if (bytes == GV_RECORD_TEXT_LIMIT && text[bytes])
        memcpy(tables()->bytes + at + bytes - (sizeof cut - 1), cut, sizeof cut - 1);
    tables()->texts[index + 1].at = at;
    tables()->texts[index + 1].bytes = bytes;
    return index + 1;
}

uint32_t gv_texts_number(const char *text, uint32_t bytes)
{
    bool is_new = false;
    struct cell *cell;

    if (bytes == 0)
        return 0;
    cell = cell_of(gv_mix_bytes(0, text, bytes), !atomic_load_explicit(&full, memory_order_relaxed),
                   &is_new);
    if (!cell)
        return 0;
    if (__builtin_expect(is_new, 0))
        atomic_store_explicit(&cell->number, add_text(text, bytes), memory_order_release);
    return atomic_load_explicit(&cell->number, memory_order_acquire);
}

static uint64_t key_of(enum gv_text_key key, uint64_t a, uint64_t b)
{
    return gv_mix(gv_mix(gv_mix(key, a), b), key);
}

void gv_texts_bind(enum gv_text_key key, uint64_t a, uint64_t b, uint32_t number)
{
    bool is_new;
    struct cell *cell = cell_of(key_of(key, a, b), true, &is_new);

    if (cell)
        atomic_store_explicit(&cell->number, number, memory_order_release);
}

uint32_t gv_texts_bound(enum gv_text_key key, uint64_t a, uint64_t b)
{
    struct cell *cell = cell_of(key_of(key, a, b), false, NULL);

    return cell ? atomic_load_explicit(&cell->number, memory_order_acquire) : 0;
}

bool gv_texts_know(uint64_t number)
{
    return number > 0 && number <= atomic_load_explicit(&texts_used, memory_order_relaxed);
}

bool gv_texts_write(struct gv_thread *thread, const char *text, uint32_t bytes, bool more)
{
    union gv_record record;

    for (uint32_t at = 0; at < bytes; at += GV_RECORD_TEXT_BYTES) {
        gv_spool_text_piece(&record, text, at, bytes, more);
        if (!gv_thread_write(thread, GV_ROOM_WORK, &record))
            return false;
    }
    return true;
}

/* A separate function, so that known texts save no registers. */
__attribute__((noinline)) static bool tell(struct gv_thread *thread, uint32_t number,
                                           uint64_t token)
{
    struct text *text = &tables()->texts[number];
    const union gv_record record = {
        .range_text = {.head = {.kind = GV_RECORD_RANGE_TEXT, .flags = GV_RECORD_MORE},
                       .number = number,
                       .text_bytes = text->bytes}};
    bool written = gv_thread_write(thread, GV_ROOM_WORK, &record) &&
                   gv_texts_write(thread, tables()->bytes + text->at, text->bytes, true);

    if (written)
        atomic_store_explicit(&text->told, token, memory_order_relaxed);
    return written;
}

bool gv_texts_tell(struct gv_thread *thread, uint32_t number)
{
    uint64_t token = thread->token;

    return number == 0 ||
           __builtin_expect(
               atomic_load_explicit(&tables()->texts[number].told, memory_order_relaxed) == token,
               1) ||
           tell(thread, number, token);
}
