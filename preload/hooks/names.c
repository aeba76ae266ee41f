#include "preload/hooks/names.h"

#include "preload/base/hot.h"
#include "preload/base/lazy_memory.h"
#include "preload/base/own_process.h"

#include <stdatomic.h>
#include <stddef.h>

/*
 * A hash table of fixed size. A cell belongs to one handle for ever. The handle's meaning is one
 * word with its owner, and is valid only while that owner lives. So one store into `owners` ends
 * everything of an owner, nothing is ever freed, and a reader has everything in one word. PyTorch
 * registers some 60 000 host functions.
 */
#define CELL_BITS   18
#define CELLS       (1u << CELL_BITS)
#define OWNERS      (1u << 16) /* at a time */
#define MOST_PROBES 64

/* A meaning: the owner's number in the upper half, the kernel's in the lower one. */
#define REGISTERED 0x80000000u /* in an owner's number: it has host functions */
#define UNTOLD     0x80000000u /* in a kernel's number: its name is in `names` and was not written */

struct cell {
    _Atomic uintptr_t handle;
    _Atomic uint64_t meaning; /* kernel 0: the owner itself; all 0: void */
};

/* An owner is found by its number; numbers with a used slot are skipped. */
struct owner {
    _Atomic uint32_t number;    /* 0: free */
    _Atomic uint32_t companion; /* see companion_of() */
};

struct tables {
    struct cell cells[CELLS];
    _Atomic(const char *) names[CELLS]; /* of host functions */
    struct owner owners[OWNERS];
};
static void *_Atomic tables_memory;
static _Atomic uint32_t kernels_numbered;
static _Atomic uint32_t owners_numbered;
static _Atomic bool full;

/*
 * Kernels that launches found lately. The cells of the large table are far apart and in no cache:
 * on a GPU machine, that cost a launch of CuPy 0.1 us. An entry is valid until some handle loses
 * its meaning. Two threads may each write one of its words; then the two do not match.
 */
#define LATELY_BITS 10
struct found {
    _Atomic uint64_t sealed; /* the handle, with the other word mixed in */
    _Atomic uint64_t known;  /* number of changes << 32 | kernel */
};
static _Alignas(64) struct found lately[1u << LATELY_BITS];
GV_HOT static _Atomic uint32_t changes = 1;

static uint64_t meaning_of(uint32_t owner, uint32_t kernel)
{
    return (uint64_t)owner << 32 | kernel;
}

static uint32_t owner_in(uint64_t meaning)
{
    return (uint32_t)(meaning >> 32);
}

static uint32_t kernel_in(uint64_t meaning)
{
    return (uint32_t)meaning & ~UNTOLD;
}

static void count_lost(void)
{
    atomic_store(&full, true);
    if (gv_process.spool.header)
        atomic_fetch_add(&gv_process.spool.header->lost.names, 1);
}

/* NULL: nothing was ever named. Whoever has a cell or an owner's number has them. */
static struct tables *tables(void)
{
    return atomic_load_explicit(&tables_memory, memory_order_relaxed);
}

static struct owner *owner_at(uint32_t number)
{
    return &tables()->owners[number % OWNERS];
}

static _Atomic(const char *) *name_of(const struct cell *cell)
{
    return &tables()->names[cell - tables()->cells];
}

/* After any change by which a handle does not mean any more what it did. */
static void note_change(void)
{
    atomic_fetch_add(&changes, 1);
}

/* ---- handles ---- */

static uint32_t hash_of(uintptr_t handle)
{
    /* gv_mix() in short, for each launch. With one multiplication alone, handles at some equal
     * distances are all in a few places. */
    uint64_t hash = handle * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)((hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CELL_BITS));
}

static struct cell *cell_of(uintptr_t handle, bool make)
{
    uint32_t at = hash_of(handle);
    struct tables *all = make ? gv_lazy_memory(&tables_memory, sizeof(struct tables)) : tables();

    if (!handle || !all)
        return NULL;
    for (int probe = 0; probe < MOST_PROBES; probe++, at++) {
        struct cell *cell = &all->cells[at % CELLS];
        uintptr_t found = atomic_load_explicit(&cell->handle, memory_order_relaxed);

        if (found == 0 && make && atomic_compare_exchange_strong(&cell->handle, &found, handle))
            return cell;
        if (found == handle)
            return cell;
        if (found == 0)
            return NULL;
    }
    return NULL;
}

/* Always a change: if it meant nothing before, another thread may have ended its meaning, and not
 * noted that yet. */
static void set_meaning(struct cell *cell, uint64_t meaning)
{
    atomic_store(&cell->meaning, meaning);
    note_change();
}

/* ---- owners ---- */

static bool lives(uint32_t owner)
{
    return owner && atomic_load_explicit(&owner_at(owner)->number, memory_order_relaxed) == owner;
}

static uint64_t find_meaning(uintptr_t handle)
{
    struct cell *cell = cell_of(handle, false);
    uint64_t meaning = cell ? atomic_load_explicit(&cell->meaning, memory_order_acquire) : 0;

    return lives(owner_in(meaning)) ? meaning : 0;
}

/* Makes a new owner; 0: there are too many. Slot 0 stays free, for the companion of nobody. */
static uint32_t make_owner(uint32_t kind)
{
    for (uint32_t tries = 0; tries < OWNERS; tries++) {
        uint32_t number = (atomic_fetch_add(&owners_numbered, 1) + 1) % REGISTERED | kind;
        uint32_t nobody = 0;

        if (number % OWNERS &&
            atomic_compare_exchange_strong(&owner_at(number)->number, &nobody, number))
            return number;
    }
    return 0;
}

static void end_owner(uint32_t owner)
{
    atomic_store(&full, false);
    if (!owner)
        return;
    atomic_compare_exchange_strong(&owner_at(owner)->number, &owner, 0);
    note_change();
}

/*
 * The owner of handles that end with `owner` and also with a context: other handles of host
 * functions and, for owner 0, kernels with an unknown module.
 */
static uint32_t companion_of(uint32_t owner)
{
    _Atomic uint32_t *place = &owner_at(owner)->companion;
    uint32_t known = atomic_load(place);
    uint32_t made;

    if (lives(known))
        return known;
    made = make_owner(0);
    if (!made || atomic_compare_exchange_strong(place, &known, made))
        return made;
    end_owner(made);
    return known; /* another thread's */
}

static uint32_t find_owner(uintptr_t handle)
{
    uint64_t meaning = find_meaning(handle);

    return kernel_in(meaning) ? 0 : owner_in(meaning);
}

uint32_t gv_names_add_owner(uintptr_t handle)
{
    struct cell *cell = cell_of(handle, true);
    uint32_t owner = cell ? make_owner(0) : 0;

    if (!owner) {
        count_lost();
        return 0;
    }
    end_owner(find_owner(handle)); /* whose end was missed */
    set_meaning(cell, meaning_of(owner, 0));
    return owner;
}

uint32_t gv_names_owner(uintptr_t handle)
{
    uint32_t owner = find_owner(handle);

    return owner & REGISTERED ? 0 : owner;
}

/* ---- kernels ---- */

static uint32_t next_kernel(void)
{
    return (atomic_fetch_add(&kernels_numbered, 1) + 1) % UNTOLD;
}

bool gv_names_add(uintptr_t handle, uintptr_t owner_handle, uint32_t *kernel)
{
    uint32_t owner = find_owner(owner_handle);
    struct cell *cell = cell_of(handle, true);
    uint64_t meaning;

    if (cell && !owner)
        owner = companion_of(0);
    if (!cell || !owner) {
        *kernel = 0;
        count_lost();
        return false;
    }
    meaning = atomic_load(&cell->meaning);
    *kernel = kernel_in(meaning);
    if (owner_in(meaning) == owner && *kernel)
        return false;
    *kernel = next_kernel();
    if (atomic_compare_exchange_strong(&cell->meaning, &meaning, meaning_of(owner, *kernel))) {
        if (meaning)
            note_change();
        return true;
    }
    *kernel = kernel_in(meaning); /* another thread has just named it */
    return false;
}

/* The name is stored before its meaning, and never beside an earlier one: a thread that still
 * finds the earlier one cannot mark it as written. */
static void set_untold(struct cell *cell, uint32_t owner, uint32_t kernel, const char *name)
{
    atomic_store(&cell->meaning, 0);
    atomic_store(name_of(cell), name);
    set_meaning(cell, meaning_of(owner, kernel | UNTOLD));
}

void gv_names_register(uintptr_t host_function, uintptr_t owner_handle, const char *name)
{
    struct cell *owner_cell = cell_of(owner_handle, true);
    struct cell *cell = cell_of(host_function, true);
    uint32_t owner = find_owner(owner_handle);

    if (owner_cell && !(owner & REGISTERED)) {
        owner = make_owner(REGISTERED);
        set_meaning(owner_cell, meaning_of(owner, 0));
    }
    if (!cell || !owner) {
        count_lost();
        return;
    }
    set_untold(cell, owner, next_kernel(), name);
}

bool gv_names_agree(uintptr_t handle, uintptr_t known)
{
    uint64_t meaning = find_meaning(known), before = find_meaning(handle);
    uint32_t kernel = kernel_in(meaning);

    return handle == known || (kernel ? kernel == kernel_in(before) : meaning == before);
}

void gv_names_alias(uintptr_t handle, uintptr_t known)
{
    uint64_t meaning = find_meaning(known);
    uint32_t owner = owner_in(meaning), kernel = kernel_in(meaning);
    struct cell *cell;

    if (gv_names_agree(handle, known))
        return;
    if (!meaning) { /* its earlier meaning ends */
        cell = cell_of(handle, false);
        if (cell)
            set_meaning(cell, 0);
        return;
    }
    if (owner & REGISTERED)
        owner = companion_of(owner);
    cell = cell_of(handle, true);
    if (!cell || !owner)
        count_lost();
    else if (meaning & UNTOLD)
        set_untold(cell, owner, kernel, atomic_load(name_of(cell_of(known, false))));
    else
        set_meaning(cell, meaning_of(owner, kernel));
}

static const char *tell(struct cell *cell, uint64_t meaning)
{
    const char *name = atomic_load(name_of(cell));

    return atomic_compare_exchange_strong(&cell->meaning, &meaning, meaning & ~(uint64_t)UNTOLD)
               ? name
               : NULL;
}

static struct found *found_at(uintptr_t handle)
{
    return &lately[hash_of(handle) >> (CELL_BITS - LATELY_BITS)];
}

static uint64_t sealed_by(uint64_t known, uintptr_t handle)
{
    return handle ^ known * UINT64_C(0x9e3779b97f4a7c15);
}

__attribute__((noinline)) static struct gv_names_answer find_in_cell(uintptr_t handle, uint32_t now)
{
    struct gv_names_answer answer = {0, NULL};
    uint64_t meaning = find_meaning(handle), known;
    struct found *found = found_at(handle);

    answer.kernel = kernel_in(meaning);
    if (meaning & UNTOLD) {
        answer.name = tell(cell_of(handle, false), meaning);
    } else if (answer.kernel) {
        known = (uint64_t)now << 32 | answer.kernel;
        atomic_store_explicit(&found->known, known, memory_order_relaxed);
        atomic_store_explicit(&found->sealed, sealed_by(known, handle), memory_order_relaxed);
    }
    return answer;
}

struct gv_names_answer gv_names_find(uintptr_t handle)
{
    /* Read before the search: if something changes meanwhile, the new entry is invalid at once. */
    uint32_t now = atomic_load_explicit(&changes, memory_order_acquire);
    const struct found *found = found_at(handle);
    uint64_t known = atomic_load_explicit(&found->known, memory_order_relaxed);
    uint64_t sealed = atomic_load_explicit(&found->sealed, memory_order_relaxed);

    if (__builtin_expect(known >> 32 != now || sealed != sealed_by(known, handle), 0))
        return find_in_cell(handle, now);
    return (struct gv_names_answer){(uint32_t)known, NULL};
}

/* ---- unloading ---- */

uint32_t gv_names_void_owner(uintptr_t handle)
{
    uint32_t owner = find_owner(handle);

    if (!tables())
        return 0;
    /* Kernels with an unknown module may have been this one's. */
    end_owner(atomic_exchange(&owner_at(0)->companion, 0));
    if (!owner)
        return 0;
    end_owner(atomic_exchange(&owner_at(owner)->companion, 0));
    end_owner(owner);
    return owner & REGISTERED ? 0 : owner;
}

void gv_names_void_loaded(void)
{
    for (uint32_t i = 1; i < OWNERS && tables(); i++) {
        uint32_t owner = atomic_load_explicit(&owner_at(i)->number, memory_order_relaxed);

        if (owner && !(owner & REGISTERED))
            end_owner(owner);
    }
}

bool gv_names_are_full(void)
{
    return atomic_load_explicit(&full, memory_order_relaxed);
}

void gv_names_start_over(void)
{
    gv_names_void_loaded();
    for (uint32_t i = 0; i < CELLS && tables(); i++) {
        struct cell *cell = &tables()->cells[i];
        uint64_t meaning = atomic_load_explicit(&cell->meaning, memory_order_relaxed);

        if (owner_in(meaning) & REGISTERED && kernel_in(meaning))
            atomic_compare_exchange_strong(&cell->meaning, &meaning, meaning | UNTOLD);
    }
    note_change();
}
