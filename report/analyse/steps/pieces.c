#include "report/analyse/steps/pieces.h"

#include "trace/mix.h"

#include <math.h>
#include <string.h>

#define GV_STREAM_NEXT                                                                             \
    (sizeof(((struct gv_step_stream *)NULL)->next) /                                               \
     sizeof(((struct gv_step_stream *)NULL)->next[0]))

#define ROUNDS 64u
#define LEAST  1e-9

#define GV_STREAM_SURE 4u /* lines of an event that must be known to say that they differ */

static bool is_wait(enum gv_step_role role)
{
    return role == GV_STEP_WAIT || role == GV_STEP_FETCH;
}

static unsigned bucket_of(uint64_t hash)
{
    return (unsigned)(gv_mix(0, hash) >> 56) % GV_PIECE_BUCKETS;
}

bool gv_step_stream_counts(const struct gv_step_stream *stream, const struct gv_step_event *event)
{
    return event->role != GV_STEP_WAIT || stream->working;
}

/* Of a run of equal events the first tells all. */
static void stream_note(struct gv_step_stream *stream, uint64_t symbol)
{
    unsigned bucket = bucket_of(symbol);
    uint64_t context =
        gv_mix(gv_mix(gv_mix(0, stream->before[0]), stream->before[1]), stream->before[2]);
    struct gv_step_next *next = stream->next[(context >> 32) % GV_STREAM_NEXT], older = next[1];
    uint32_t tag = (uint32_t)(gv_mix(1, symbol) >> 32);

    /* In a small loop, two in one place would be half of all. */
    if (next[0].context != (uint32_t)context) {
        next[1] = next[0];
        next[0] = older.context == (uint32_t)context
                      ? older
                      : (struct gv_step_next){.context = (uint32_t)context};
    }
    stream->runs[bucket]++;
    stream->foreseen++;
    stream->predicted += next[0].tag == tag;
    next[0].tag = tag;
    unsigned follows = bucket_of(gv_mix(gv_mix(1, stream->before[0]), symbol));
    stream->notes[stream->noted % GV_STEP_NOTES].position = stream->position;
    stream->notes[stream->noted % GV_STEP_NOTES].follows = follows;
    stream->notes[stream->noted++ % GV_STEP_NOTES].bucket = bucket;
    stream->follows[follows] = stream->position;
    stream->second_last[bucket] = stream->last[bucket];
    stream->last[bucket] = stream->position;
    stream->before[2] = stream->before[1];
    stream->before[1] = stream->before[0];
    stream->before[0] = symbol;
}

void gv_step_stream_take(struct gv_step_stream *stream, const struct gv_step_event *event)
{
    unsigned bucket = bucket_of(event->symbol);

    stream->position++;
    stream->events[bucket]++;
    stream->is_work[bucket] = event->role == GV_STEP_WORK;
    stream->is_graph[bucket] = event->role == GV_STEP_GRAPH;
    stream->marks += event->role != GV_STEP_WORK;
    if (event->line) {
        stream->lines[bucket].seen++;
        if (stream->lines[bucket].votes == 0)
            stream->lines[bucket].line = event->line;
        stream->lines[bucket].votes += stream->lines[bucket].line == event->line ? 1 : UINT32_MAX;
    }
    if (event->symbol != stream->before[0] || event->role == GV_STEP_GRAPH)
        stream_note(stream, event->symbol);
    if (event->role != GV_STEP_WAIT) {
        stream->work += event->weight ? event->weight : 1;
        stream->works += event->role == GV_STEP_WORK || event->role == GV_STEP_GRAPH;
        stream->last_work = event->symbol;
        stream->working = true;
    }
    if (is_wait(event->role)) {
        stream->waits++;
        stream->working = false;
    }
}

static uint32_t line_at(const struct gv_step_stream *stream, unsigned bucket)
{
    uint32_t votes = stream->lines[bucket].votes, seen = stream->lines[bucket].seen;

    if (votes > 0 && votes >= seen / 2)
        return stream->lines[bucket].line;
    return seen >= GV_STREAM_SURE ? GV_PIECE_LINES : 0;
}

uint32_t gv_step_stream_line(const struct gv_step_stream *stream, uint64_t symbol)
{
    return line_at(stream, bucket_of(symbol));
}

/* How often each event comes up; of those that follow each other only as many as chance would let,
 * as a loop's 600 copies in a row are one event of it. Their sum is 1. */
static void stream_weights(const struct gv_step_stream *stream, double weights[GV_PIECE_BUCKETS])
{
    double all = 0;

    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++)
        all += weights[i] = stream->events[i];
    for (unsigned round = 0; round < ROUNDS; round++) {
        double last = all;
        all = 0;
        for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++)
            all += weights[i] =
                fmin(stream->events[i], stream->runs[i] / fmax(1 - weights[i] / last, LEAST));
    }
    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++)
        weights[i] /= all;
}

/* Chance: events in any order; runs of equal ones are one. */
double gv_step_stream_order(const struct gv_step_stream *stream, uint64_t predicted,
                            uint64_t foreseen)
{
    double weights[GV_PIECE_BUCKETS], chance = 0, found;

    if (foreseen == 0)
        return 0;
    stream_weights(stream, weights);
    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++) {
        double others = fmax(1 - weights[i], LEAST), same = 0;
        if (stream->runs[i] == 0)
            continue;
        for (unsigned j = 0; j < GV_PIECE_BUCKETS; j++)
            if (j != i)
                same += weights[j] / others * (weights[j] / others);
        chance += same * stream->runs[i] / (double)stream->foreseen;
    }
    found = (double)predicted / (double)foreseen;
    /* Of two events that take turns, chance says as much. */
    return found >= 0.85 || chance >= 1 ? found : (found - chance) / (1 - chance);
}

/* The words of a piece: which events follow which, which occur once, and which more often. */
enum words { FOLLOWS = 0, ONCE = GV_PIECE_BUCKETS / 64, OFTEN = 2 * GV_PIECE_BUCKETS / 64 };

static void cut_long(struct gv_piece *piece, const struct gv_step_stream *stream, uint64_t after)
{
    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        if (stream->follows[i] > after + 1) /* not what came before the piece */
            piece->bits[FOLLOWS + i / 64] |= bit;
        if (stream->second_last[i] > after)
            piece->bits[OFTEN + i / 64] |= bit;
        else if (stream->last[i] > after)
            piece->bits[ONCE + i / 64] |= bit;
    }
}

void gv_piece_cut(struct gv_piece *piece, const struct gv_step_stream *stream, uint64_t after)
{
    memset(piece, 0, sizeof(*piece));
    for (uint64_t i = stream->noted; i > 0; i--) {
        unsigned follows = stream->notes[(i - 1) % GV_STEP_NOTES].follows;
        unsigned bucket = stream->notes[(i - 1) % GV_STEP_NOTES].bucket;
        uint64_t position = stream->notes[(i - 1) % GV_STEP_NOTES].position;
        uint64_t bit = UINT64_C(1) << bucket % 64;
        if (position <= after)
            break;
        if (stream->noted - i == GV_STEP_NOTES) {
            memset(piece, 0, sizeof(*piece));
            cut_long(piece, stream, after);
            break;
        }
        if (position > after + 1)
            piece->bits[FOLLOWS + follows / 64] |= UINT64_C(1) << follows % 64;
        if ((piece->bits[ONCE + bucket / 64] | piece->bits[OFTEN + bucket / 64]) & bit) {
            piece->bits[ONCE + bucket / 64] &= ~bit;
            piece->bits[OFTEN + bucket / 64] |= bit;
        } else {
            piece->bits[ONCE + bucket / 64] |= bit;
        }
    }
}

static bool occurs(const struct gv_piece_kind *kind, enum words how, unsigned bucket)
{
    size_t usual = kind->example_count > 1 && kind->again[1] > kind->again[0] ? 1 : 0;
    uint64_t bits = kind->examples[usual].bits[how + bucket / 64];

    return bits >> bucket % 64 & 1;
}

bool gv_piece_is_line(const struct gv_piece_kind *kind, const struct gv_step_stream *stream)
{
    unsigned known = 0, several = 0;
    uint32_t line = 0;

    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++) {
        uint32_t each = line_at(stream, i);
        if (!each || !(occurs(kind, ONCE, i) || occurs(kind, OFTEN, i)))
            continue;
        several += each == GV_PIECE_LINES;
        known += each != GV_PIECE_LINES;
        if (each != GV_PIECE_LINES && line && each != line)
            return false;
        line = each != GV_PIECE_LINES ? each : line;
    }
    return known > 0 && known >= several;
}

bool gv_piece_works_once(const struct gv_piece_kind *kind, const struct gv_step_stream *stream)
{
    for (unsigned i = 0; i < GV_PIECE_BUCKETS; i++) {
        uint32_t line = line_at(stream, i);
        bool of_wait = false;
        if (!(stream->is_work[i] || stream->is_graph[i]) || !occurs(kind, ONCE, i))
            continue;
        for (unsigned j = 0; j < GV_PIECE_BUCKETS && line && !stream->is_graph[i]; j++)
            of_wait |= !stream->is_work[j] && occurs(kind, ONCE, j) && line_at(stream, j) == line;
        if (!of_wait)
            return true;
    }
    return false;
}

static unsigned bits_of(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

static double like_of(const struct gv_piece *one, const struct gv_piece *other, bool within)
{
    unsigned both = 0, any = 0;

    if (memcmp(one, other, sizeof(*one)) == 0)
        return 1;
    for (size_t i = 0; i < GV_PIECE_WORDS; i++) {
        both += bits_of(one->bits[i] & other->bits[i]);
        any += bits_of(within ? other->bits[i] : one->bits[i] | other->bits[i]);
    }
    return any ? both / (double)any : 1;
}

/* Of several kinds that it is alike, the one with most pieces: so a kind does not grow that began
 * with pieces that were unlike most by chance. `like`: to the kind that it is most like. */
static int kinds_best(const struct gv_piece_kinds *kinds, const struct gv_piece *piece, bool within,
                      double *like)
{
    uint64_t most = 0;
    int best = -1;

    *like = -1;
    for (size_t i = 0; i < kinds->count; i++) {
        const struct gv_piece_kind *kind = &kinds->kind[i];
        double each = -1;
        for (size_t j = 0; j < kind->example_count; j++)
            each = fmax(each, like_of(piece, &kind->examples[j], within));
        bool alike = each >= GV_PIECE_ALIKE;
        if (alike ? kind->count > most : each > *like) {
            best = (int)i;
            most = alike ? kind->count : 0;
        }
        *like = fmax(*like, each);
    }
    return best;
}

int gv_piece_kinds_find(const struct gv_piece_kinds *kinds, const struct gv_piece *piece,
                        double *like)
{
    return kinds_best(kinds, piece, false, like);
}

double gv_piece_kinds_within(const struct gv_piece_kinds *kinds, const struct gv_piece *piece,
                             int *kind)
{
    double like;

    *kind = kinds_best(kinds, piece, true, &like);
    return like;
}

/* The rarest one gives way. */
static int kinds_new(struct gv_piece_kinds *kinds)
{
    size_t rarest = 0;

    if (kinds->count < GV_PIECE_KINDS)
        return (int)kinds->count++;
    for (size_t i = 1; i < kinds->count; i++)
        if (kinds->kind[i].count < kinds->kind[rarest].count)
            rarest = i;
    return (int)rarest;
}

/* Pieces vary more from each other than from the one that they are variants of, so that one is
 * kept. */
static void kind_note(struct gv_piece_kind *kind, const struct gv_piece *piece)
{
    size_t least = kind->count % GV_PIECE_EXAMPLES;

    for (size_t i = 0; i < kind->example_count; i++) {
        if (memcmp(&kind->examples[i], piece, sizeof(*piece)) == 0) {
            kind->again[i]++;
            return;
        }
        least = kind->again[i] < kind->again[least] ? i : least;
    }
    if (kind->example_count < GV_PIECE_EXAMPLES) {
        least = kind->example_count++;
    } else if (kind->again[least]) {
        kind->again[least]--;
        return;
    }
    kind->examples[least] = *piece;
    kind->again[least] = 0;
}

int gv_piece_kinds_add(struct gv_piece_kinds *kinds, const struct gv_piece *piece, uint64_t work)
{
    double like;
    int number = gv_piece_kinds_find(kinds, piece, &like);
    struct gv_piece_kind *kind;

    if (number < 0 || like < GV_PIECE_ALIKE) {
        number = kinds_new(kinds);
        kinds->kind[number] = (struct gv_piece_kind){.from_work = kinds->work};
    }
    kind = &kinds->kind[number];
    kind_note(kind, piece);
    kind->count++;
    kind->work += work;
    kinds->work += work;
    return number;
}
