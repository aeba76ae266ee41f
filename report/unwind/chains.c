#include "report/unwind/chains.h"

#include "report/unwind/walk.h"
#include "trace/mix.h"

#include <stdlib.h>
#include <string.h>

#define SETS_BITS 9u
#define SETS      (1u << SETS_BITS)
#define WAYS      4u /* 6 MB if all chains had the most frames; usually a tenth */

struct known_frame {
    uint64_t word; /* on the stack */
    uint32_t place;
};

struct known_chain {
    uint64_t pc;
    size_t size;
    uint32_t era, generation;
    enum gv_unwind_end end;
    size_t count;
    struct known_frame frame[];
};

struct gv_chains {
    struct known_chain *chain[SETS][WAYS];
    unsigned char next[SETS]; /* which one is dropped next */
};

struct gv_chains *gv_chains_open(void)
{
    return calloc(1, sizeof(struct gv_chains));
}

void gv_chains_close(struct gv_chains *chains)
{
    for (size_t i = 0; chains && i < SETS; i++)
        for (size_t j = 0; j < WAYS; j++)
            free(chains->chain[i][j]);
    free(chains);
}

static size_t set_of(uint32_t era, const struct gv_unwind_stack *stack)
{
    return gv_mix(gv_mix(era, stack->pc), stack->size) >> (64 - SETS_BITS);
}

static bool is_of(const struct known_chain *known, uint32_t era,
                  const struct gv_unwind_stack *stack)
{
    if (!known || known->pc != stack->pc || known->size != stack->size || known->era != era)
        return false;
    /* An object that was added later may have the tables that were lacking. */
    if (known->end == GV_UNWIND_STOPPED && known->generation != stack->generation)
        return false;
    for (size_t i = 1; i < known->count; i++)
        if (memcmp(stack->bytes + known->frame[i].place, &known->frame[i].word, sizeof(uint64_t)) !=
            0)
            return false;
    return true;
}

bool gv_chains_find(struct gv_chains *chains, uint32_t era, const struct gv_unwind_stack *stack,
                    struct gv_unwind_chain *chain)
{
    size_t set = set_of(era, stack);

    for (size_t i = 0; i < WAYS; i++) {
        const struct known_chain *known = chains->chain[set][i];
        if (!is_of(known, era, stack))
            continue;
        chain->count = known->count;
        chain->end = known->end;
        for (size_t j = 0; j < known->count; j++)
            chain->address[j] = gv_walk_address(known->frame[j].word);
        return true;
    }
    return false;
}

/* What is on the stack for a frame. */
static uint64_t word_of(const struct gv_unwind_stack *stack, uint32_t place)
{
    uint64_t word;

    memcpy(&word, stack->bytes + place, sizeof(word));
    return word;
}

/* Whether it is known where each return address was. */
static bool has_places(const struct gv_unwind_chain *chain, const uint32_t place[GV_UNWIND_FRAMES])
{
    for (size_t i = 1; i < chain->count; i++)
        if (place[i] == GV_WALK_NO_PLACE)
            return false;
    return chain->count > 1;
}

void gv_chains_add(struct gv_chains *chains, uint32_t era, const struct gv_unwind_stack *stack,
                   const struct gv_unwind_chain *chain, const uint32_t place[GV_UNWIND_FRAMES])
{
    size_t set = set_of(era, stack);
    struct known_chain *known =
        has_places(chain, place)
            ? malloc(sizeof(*known) + chain->count * sizeof(struct known_frame))
            : NULL;

    if (!known)
        return;
    *known = (struct known_chain){.pc = stack->pc,
                                  .size = stack->size,
                                  .era = era,
                                  .generation = stack->generation,
                                  .end = chain->end,
                                  .count = chain->count};
    known->frame[0].word = stack->pc;
    for (size_t i = 1; i < chain->count; i++)
        known->frame[i] = (struct known_frame){word_of(stack, place[i]), place[i]};
    size_t way = chains->next[set]++ % WAYS;
    free(chains->chain[set][way]);
    chains->chain[set][way] = known;
}
