#include "report/unwind/walk.h"

#ifdef GV_HAS_LIBUNWIND

#include "report/unwind/call_site.h"
#include "report/unwind/tables.h"

#include <errno.h>
#include <libunwind.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Exported, but in no header */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
                                              unw_dyn_info_t *table, unw_proc_info_t *found,
                                              int need_unwind_info, void *context);
#define search_table UNW_OBJ(dwarf_search_unwind_table)

#ifdef __aarch64__
#define PC_REGISTER    UNW_AARCH64_PC
#define LEAVES_OUT_ONE true
#else
#define PC_REGISTER    UNW_X86_64_RIP
#define LEAVES_OUT_ONE false
#endif

#define TABLE_AT_BEFORE_1_6 6u
#define TABLE_AT_SINCE_1_6  7u
#define FIRST_TABLE_AT      ((unsigned)(offsetof(unw_dyn_info_t, u) / sizeof(uint64_t)))

#define CACHED_FUNCTIONS 1024u

/* The copy ended if a word is at most this far beyond its end. Further away is no stack. */
#define BEYOND_BYTES (1u << 20)

struct gv_walk {
    unw_addr_space_t space;
    struct gv_objects *objects;
    uint32_t era;                        /* of what libunwind has cached */
    const struct gv_unwind_stack *stack; /* the current one */
    int lacked;                          /* by its walk */
    unsigned table_at;                   /* the word of `u` in what describes a table */
    bool table_at_is_known;
    /* Of the current step */
    bool failed, beyond;
    uint64_t word[2], word_place[2]; /* the last words of the stack that were read */
};

/* ---- what libunwind asks for ---- */

/* Other words that look like a signed address stay as they are. */
static uint64_t strip(struct gv_walk *walk, uint64_t word)
{
    uint64_t address = gv_walk_address(word);

    return address != word &&
                   gv_objects_is_code(walk->objects, walk->stack->generation, address - 1)
               ? address
               : word;
}

static bool read_stack(struct gv_walk *walk, uint64_t address, unw_word_t *word)
{
    const struct gv_unwind_stack *stack = walk->stack;
    uint64_t at = address - stack->sp;

    if (at >= stack->size || stack->size - at < sizeof(*word))
        return false;
    memcpy(word, stack->bytes + at, sizeof(*word));
    *word = strip(walk, *word);
    walk->word[1] = walk->word[0];
    walk->word_place[1] = walk->word_place[0];
    walk->word[0] = *word;
    walk->word_place[0] = at;
    return true;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write,
                         void *context)
{
    struct gv_walk *walk = context;
    const struct gv_unwind_stack *stack = walk->stack;

    (void)space;
    if (!write && read_stack(walk, address, word))
        return 0;
    if (!write) {
        *word = 0; /* a segment may end within a word */
        if (gv_objects_read(walk->objects, stack->generation, address, word, sizeof(*word)) > 0)
            return 0;
    }
    walk->failed = true;
    walk->beyond = address - stack->sp + sizeof(*word) > stack->size &&
                   address - stack->sp - stack->size < BEYOND_BYTES;
    return -UNW_EINVAL;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *word, int write,
                           void *context)
{
    struct gv_walk *walk = context;
    const struct gv_unwind_stack *stack = walk->stack;

    (void)space;
    if (!write && number == PC_REGISTER)
        *word = stack->pc;
    else if (!write && number == UNW_REG_SP)
        *word = stack->sp;
    else if (!write && number >= 0 && number < (int)GV_UNWIND_REGISTERS &&
             stack->known >> number & 1)
        *word = strip(walk, stack->value[number]);
    else {
        walk->failed = true;
        walk->lacked = number;
        return -UNW_EBADREG;
    }
    return 0;
}

/*
 * libunwind 1.6 put a word before the member `u` of unw_dyn_info_t, but its shared library kept its
 * name: a package that is built on Debian 11 meets the newer one on Debian 13. The layout that
 * finds the first function is that of the library that is there. With the other one, it asks for
 * words at addresses that are in no object, which it does not get.
 */
static int search(struct gv_walk *walk, uint64_t ip, const uint64_t range[2],
                  const uint64_t table[4], unw_proc_info_t *found, int need_unwind_info)
{
    for (;;) {
        uint64_t word[16] = {0, 0, range[0], range[1], 0, UNW_INFO_FORMAT_REMOTE_TABLE};

        memcpy(word + walk->table_at, table, 4 * sizeof(*table));
        if (search_table(walk->space, ip, (unw_dyn_info_t *)word, found, need_unwind_info, walk) >=
            0) {
            walk->table_at_is_known = true;
            return 0;
        }
        if (walk->table_at_is_known || walk->table_at != FIRST_TABLE_AT)
            break;
        walk->table_at = TABLE_AT_BEFORE_1_6 + TABLE_AT_SINCE_1_6 - FIRST_TABLE_AT;
        walk->failed = walk->beyond = false;
    }
    if (!walk->table_at_is_known)
        walk->table_at = FIRST_TABLE_AT;
    return -ENOENT;
}

/* Any other error lets libunwind guess. */
static int find_function(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found,
                         int need_unwind_info, void *context)
{
    struct gv_walk *walk = context;
    struct gv_object *object = gv_objects_find(walk->objects, walk->stack->generation, ip);
    struct gv_mapped_file *file = object ? gv_objects_file(walk->objects, object) : NULL;
    struct gv_table_entry entry;

    if (!file || gv_table_find(file, ip - object->object.base, &entry) < 0) {
        walk->failed = true;
        return -UNW_ESTOPUNWIND;
    }
    uint64_t base = object->object.base;
    const uint64_t range[2] = {base + entry.start, base + entry.end};
    /* Name, what addresses are relative to, length, place */
    const uint64_t table[4] = {0, base + file->header, 1, base + entry.at};
    (void)space;
    if (search(walk, ip, range, table, found, need_unwind_info) < 0) {
        walk->failed = true;
        return -UNW_ESTOPUNWIND;
    }
    return 0;
}

static int no_list(unw_addr_space_t space, unw_word_t *address, void *context)
{
    (void)space, (void)context;
    *address = 0;
    return -UNW_ENOINFO;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
                   unw_word_t *offset, void *context)
{
    (void)space, (void)address, (void)size, (void)context;
    *name = '\0';
    *offset = 0;
    return -UNW_ENOINFO;
}

struct gv_walk *gv_walk_open(struct gv_objects *objects)
{
    /* Walking needs no others. */
    /* A shared libunwind that is newer than the one that this was built with reads more of them. */
    struct {
        unw_accessors_t known;
        void *later[8];
    } accessors = {
        .known =
            {
                .find_proc_info = find_function,
                .get_dyn_info_list_addr = no_list,
                .access_mem = access_memory,
                .access_reg = access_register,
                .get_proc_name = no_name, /* 1.8 guesses with it on aarch64 */
            },
        .later = {NULL},
    };
    struct gv_walk *walk = calloc(1, sizeof(*walk));

    if (!walk)
        return NULL;
    walk->objects = objects;
    walk->table_at = FIRST_TABLE_AT;
    walk->space = unw_create_addr_space(&accessors.known, 0);
    if (!walk->space) {
        free(walk);
        return NULL;
    }
    unw_set_caching_policy(walk->space, UNW_CACHE_GLOBAL);
    unw_set_cache_size(walk->space, CACHED_FUNCTIONS, 0);
    return walk;
}

void gv_walk_close(struct gv_walk *walk)
{
    if (walk)
        unw_destroy_addr_space(walk->space);
    free(walk);
}

/* ---- one stack ---- */

void gv_walk_begin(struct gv_walk *walk, uint32_t generation)
{
    uint32_t era = gv_objects_era(walk->objects, generation);

    if (era != walk->era)
        unw_flush_cache(walk->space, 0, 0);
    walk->era = era;
}

int gv_walk_lacked(const struct gv_walk *walk)
{
    return walk->lacked;
}

/* libunwind reads a return address last, or before the frame pointer. */
static uint32_t place_of(const struct gv_walk *walk, uint64_t pc)
{
    return walk->word[0] == pc   ? (uint32_t)walk->word_place[0]
           : walk->word[1] == pc ? (uint32_t)walk->word_place[1]
                                 : GV_WALK_NO_PLACE;
}

/* What the checks of a frame need of the one before. */
struct frame {
    uint64_t pc, sp;
    bool interrupted; /* by a signal: `pc` is no return address */
    bool handler;     /* what a signal handler returns to */
};

/* A frame pointer that libunwind followed into old data shows here. */
static bool is_plausible(struct gv_walk *walk, const struct frame *before,
                         const struct frame *frame, bool first)
{
    uint32_t generation = walk->stack->generation;
    bool exact = frame->interrupted || frame->handler;
    uint64_t target;

    /* On aarch64, the innermost frame can be empty. */
    if (frame->sp < before->sp || (frame->sp == before->sp && !first))
        return false;
    return gv_objects_is_code(walk->objects, generation, frame->pc - !exact) &&
           (exact || gv_call_before(walk->objects, generation, frame->pc, &target));
}

/*
 * The frame that libunwind 1.8 leaves out on aarch64: it takes a frame without a caller's frame
 * pointer, as the outermost one is, for none. The last words that it read are that frame's address
 * and that pointer.
 */
static bool left_out(const struct gv_walk *walk, unw_cursor_t *cursor, unw_word_t *pc,
                     unw_word_t *sp)
{
    *pc = walk->word[1];
    return LEAVES_OUT_ONE && walk->word_place[1] != GV_WALK_NO_PLACE &&
           unw_get_reg(cursor, UNW_REG_SP, sp) == 0;
}

/* Whether there is a next frame. If not, or if it is the last one, `end` says why. */
static bool step(struct gv_walk *walk, unw_cursor_t *cursor, struct frame *frame, bool first,
                 enum gv_unwind_end *end)
{
    struct frame before = *frame;
    unw_word_t pc = 0, sp = 0;

    walk->failed = walk->beyond = false;
    walk->word_place[0] = walk->word_place[1] = GV_WALK_NO_PLACE;
    int more = unw_step(cursor);
    *end = more == 0 && !walk->failed ? GV_UNWIND_COMPLETE
           : walk->beyond             ? GV_UNWIND_TRUNCATED
                                      : GV_UNWIND_STOPPED;
    /* On aarch64, UNW_REG_IP is the register of return addresses. */
    unw_regnum_t number = before.handler ? PC_REGISTER : UNW_REG_IP;
    bool there = *end == GV_UNWIND_COMPLETE
                     ? left_out(walk, cursor, &pc, &sp)
                     : more > 0 && !walk->failed && unw_get_reg(cursor, number, &pc) == 0 &&
                           unw_get_reg(cursor, UNW_REG_SP, &sp) == 0;
    if (!there)
        return false;
    if (more > 0)
        *end = pc == 0 ? GV_UNWIND_COMPLETE : GV_UNWIND_STOPPED;
    *frame = (struct frame){
        .pc = pc,
        .sp = sp,
        .interrupted = before.handler,
        .handler = gv_call_is_signal_return(walk->objects, walk->stack->generation, pc),
    };
    if (pc != 0 && is_plausible(walk, &before, frame, first))
        return true;
    if (more <= 0)
        *frame = before; /* a word that may be anything */
    return false;
}

static bool is_switch(struct gv_walk *walk, uint64_t pc)
{
    const struct gv_object *object = gv_objects_find(walk->objects, walk->stack->generation, pc);

    return object && object->switches;
}

/* The tables of a sound frame led there, so it is one, although its file is not what was mapped. */
static bool is_in_lost_file(struct gv_walk *walk, const struct gv_unwind_chain *chain,
                            const struct frame *frame)
{
    struct gv_object *object = gv_objects_find(walk->objects, walk->stack->generation, frame->pc);

    return object && frame->pc != chain->address[chain->count - 1] &&
           !gv_objects_file(walk->objects, object);
}

void gv_walk_run(struct gv_walk *walk, const struct gv_unwind_stack *stack, size_t most,
                 struct gv_unwind_chain *chain, uint32_t place[GV_UNWIND_FRAMES])
{
    struct frame frame = {.pc = stack->pc, .sp = stack->sp};
    unw_cursor_t cursor;

    walk->stack = stack;
    walk->lacked = -1;
    frame.handler = gv_call_is_signal_return(walk->objects, stack->generation, stack->pc);
    chain->address[0] = stack->pc;
    place[0] = GV_WALK_NO_PLACE;
    chain->count = 1;
    chain->end = GV_UNWIND_STOPPED;
    if (unw_init_remote(&cursor, walk->space, walk) < 0)
        return;
    while (!is_switch(walk, frame.pc)) {
        if (chain->count == most) {
            chain->end = GV_UNWIND_TRUNCATED;
            return;
        }
        bool more = step(walk, &cursor, &frame, chain->count == 1, &chain->end);
        if (!more && !is_in_lost_file(walk, chain, &frame))
            return;
        place[chain->count] = place_of(walk, frame.pc);
        chain->address[chain->count++] = frame.pc;
        if (!more || chain->end == GV_UNWIND_COMPLETE)
            return;
    }
    chain->end = GV_UNWIND_STOPPED;
}

#endif
