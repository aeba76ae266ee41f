#include "report/analyse/steps/detector.h"

#include "trace/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define DETECTOR_SELDOM     16u /* fewer waits may be to log */
#define DETECTOR_INNER      10u /* so many steps, at least, are between two of them */
#define DETECTOR_THINGS     3u  /* kinds of work in a loop between waits that are not few */
#define DETECTOR_CANDIDATES 96u
#define DETECTOR_KEYS       3u
/* The shares of an anchor's launches, and of the thread's, that must be in pieces like others. */
#define DETECTOR_NEARLY_ALL 0.95
#define DETECTOR_MUCH       0.5
/* Waits that end pieces of several kinds are one kind of anchor if these kinds come in long turns.
 */
#define DETECTOR_TURNS 0.9
#define DETECTOR_ORDER 0.5
/* Pieces of so many kinds are no steps. */
#define DETECTOR_KINDS 4u
/* After so many pieces, an anchor that is far from good rests until it came as often again; then it
 * is looked at anew, as what comes first may be no step. */
#define DETECTOR_TRIED 64u
/* An inner loop that repeats so often in an outer one is what the author sees. */
#define DETECTOR_GO_IN   10
#define DETECTOR_REGULAR 0.6
#define DETECTOR_EQUAL   0.9
#define DETECTOR_SIZES   128u /* by work: four for each power of two */
/* Anchors belong to one loop if the rarest occurs at least this often, compared with the most
 * frequent. */
#define DETECTOR_SAME_LOOP 0.95

/* A piece is a step if it is so much like one, or has so much of one. */
#define CUTTER_ALIKE  0.35
#define CUTTER_WITHIN 0.6
/* What comes after the last anchor, up to a wait, is a step if it is so much like one. */
#define CUTTER_LAST 0.6

struct candidate {
    uint64_t key, symbol;
    enum gv_step_anchor_class class;
    bool hopeless;
    uint64_t count;
    uint64_t from, tried; /* the count when it was first looked at, maybe anew, and last judged */
    uint64_t same;        /* pieces since then that are of the kind of the one before */
    uint64_t waited;      /* pieces with further waits in them */
    uint64_t nests;       /* pieces with several waits, copies or graphs */
    uint64_t again;       /* waits right after it, without work between */
    uint64_t at, work, works, waits, marks;   /* at the newest one */
    uint32_t sizes[DETECTOR_SIZES];           /* of pieces */
    uint64_t first_predicted, first_foreseen; /* at the first one */
    uint64_t predicted, foreseen;             /* at the newest one */
    uint64_t follower;                        /* the event after the newest one */
    uint64_t first, first_votes;              /* of pieces: the event that is the first, mostly */
    int kind;
    struct gv_piece_kinds kinds;
};

struct gv_step_detector {
    struct gv_step_stream stream;
    struct candidate *candidates[DETECTOR_CANDIDATES];
    size_t count;
    uint64_t newest_wait[DETECTOR_KEYS];
    bool after_wait;
};

struct anchor_keys {
    struct {
        enum gv_step_anchor_class class;
        uint64_t key;
    } key[DETECTOR_KEYS];
    size_t count;
};

static void keys_add(struct anchor_keys *keys, enum gv_step_anchor_class class, uint64_t symbol)
{
    keys->key[keys->count].class = class;
    keys->key[keys->count++].key = gv_mix(gv_mix(1, class), symbol);
}

static bool ends_steps(enum gv_step_anchor_class class)
{
    return class == GV_STEP_ANCHOR_END || class == GV_STEP_ANCHOR_CALL ||
           class == GV_STEP_ANCHOR_ANY;
}

/* Of an event that the stream has not taken yet. */
static struct anchor_keys anchors_of(const struct gv_step_stream *stream,
                                     const struct gv_step_event *event)
{
    struct anchor_keys keys = {.count = 0};
    uint64_t work = event->role == GV_STEP_FETCH ? event->symbol : stream->last_work;

    if (event->role == GV_STEP_WAIT || event->role == GV_STEP_FETCH) {
        keys_add(&keys, GV_STEP_ANCHOR_END, gv_mix(gv_mix(1, event->symbol), work));
        keys_add(&keys, GV_STEP_ANCHOR_CALL, event->symbol);
        keys_add(&keys, GV_STEP_ANCHOR_ANY, 0);
    } else if (event->role == GV_STEP_GRAPH || event->symbol != stream->before[0]) {
        keys_add(&keys,
                 event->role == GV_STEP_WORK    ? GV_STEP_ANCHOR_WORK
                 : event->role == GV_STEP_GRAPH ? GV_STEP_ANCHOR_GRAPH
                                                : GV_STEP_ANCHOR_MOVE,
                 event->symbol);
    }
    return keys;
}

struct gv_step_detector *gv_step_detector_open(void)
{
    return calloc(1, sizeof(struct gv_step_detector));
}

void gv_step_detector_close(struct gv_step_detector *detector)
{
    if (!detector)
        return;
    for (size_t i = 0; i < detector->count; i++)
        free(detector->candidates[i]);
    free(detector);
}

/* The candidate that gives way to a new one: the one seen least often, and of these the oldest. */
static size_t rarest(const struct gv_step_detector *detector)
{
    size_t found = 0;

    for (size_t i = 1; i < detector->count; i++) {
        const struct candidate *each = detector->candidates[i],
                               *least = detector->candidates[found];
        if (each->count < least->count || (each->count == least->count && each->at < least->at))
            found = i;
    }
    return found;
}

static struct candidate *candidate_of(struct gv_step_detector *detector,
                                      enum gv_step_anchor_class class, uint64_t key,
                                      uint64_t symbol)
{
    struct candidate *candidate;
    size_t i = 0;

    while (i < detector->count && detector->candidates[i]->key != key)
        i++;
    if (i < detector->count)
        return detector->candidates[i];
    if (detector->count < DETECTOR_CANDIDATES) {
        candidate = malloc(sizeof(*candidate));
        if (!candidate)
            return NULL;
        detector->candidates[detector->count++] = candidate;
    } else {
        candidate = detector->candidates[rarest(detector)];
    }
    *candidate = (struct candidate){.key = key, .symbol = symbol, .class = class, .kind = -1};
    candidate->first_predicted = detector->stream.predicted;
    candidate->first_foreseen = detector->stream.foreseen;
    return candidate;
}

/* The work of the pieces of the kinds with a few of them, and of the largest of these kinds. */
struct sums {
    uint64_t work, of_one;
    double part, part_of_one; /* of all pieces since the first of them */
    size_t kinds;
};

static double part_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static struct sums sums_of(const struct gv_piece_kinds *kinds)
{
    struct sums sums = {0};
    uint64_t from = UINT64_MAX;

    for (size_t i = 0; i < kinds->count; i++) {
        const struct gv_piece_kind *kind = &kinds->kind[i];
        if (kind->count + 1 < GV_STEP_LEAST)
            continue;
        sums.kinds++;
        sums.work += kind->work;
        from = kind->from_work < from ? kind->from_work : from;
        if (kind->work > sums.of_one) {
            sums.of_one = kind->work;
            sums.part_of_one = part_of(kind->work, kinds->work - kind->from_work);
        }
    }
    if (sums.kinds)
        sums.part = part_of(sums.work, kinds->work - from);
    return sums;
}

static unsigned size_of(uint64_t work)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(work | 1);
    uint64_t quarter = power >= 2 ? work >> (power - 2) : work << (2 - power);

    return (power * 4 + (unsigned)(quarter & 3)) % DETECTOR_SIZES;
}

/* The size of a usual piece. */
static unsigned median_size(const struct candidate *candidate)
{
    uint64_t before = candidate->sizes[0];
    unsigned size = 0;

    while (size + 1 < DETECTOR_SIZES && 2 * before < candidate->count - 1)
        before += candidate->sizes[++size];
    return size;
}

/* How much work that is. */
static double median_work(const struct candidate *candidate)
{
    unsigned size = median_size(candidate);

    return (double)(4 + size % 4) / 4 * (double)(UINT64_C(1) << size / 4);
}

/* Which share of pieces is about of that size. */
static double regular_part(const struct candidate *candidate)
{
    unsigned size = median_size(candidate);
    uint64_t alike = candidate->sizes[size];

    alike += size > 0 ? candidate->sizes[size - 1] : 0;
    alike += size + 1 < DETECTOR_SIZES ? candidate->sizes[size + 1] : 0;
    return part_of(alike, candidate->count - 1);
}

/* By a majority vote: two different ones cancel each other. */
static void vote_for_first(struct candidate *candidate)
{
    if (candidate->first_votes == 0)
        candidate->first = candidate->follower;
    candidate->first_votes += candidate->first == candidate->follower ? 1 : (uint64_t)-1;
}

static void candidate_piece(const struct gv_step_detector *detector, struct candidate *candidate)
{
    const struct gv_step_stream *stream = &detector->stream;
    bool ends = ends_steps(candidate->class);
    uint64_t further = stream->waits - candidate->waits;
    struct gv_piece piece;
    int kind;

    vote_for_first(candidate);
    candidate->waited += further > (ends ? 1 : 0);
    candidate->nests += stream->marks > candidate->marks + 1;
    candidate->sizes[size_of(stream->work - candidate->work)]++;
    if (candidate->hopeless && candidate->count < 2 * candidate->tried)
        return;
    if (candidate->hopeless) {
        candidate->hopeless = false;
        candidate->from = candidate->count;
        candidate->same = 0;
        candidate->kind = -1;
        candidate->kinds = (struct gv_piece_kinds){0};
    }
    gv_piece_cut(&piece, stream, candidate->at);
    kind = gv_piece_kinds_add(&candidate->kinds, &piece, stream->work - candidate->work);
    candidate->same += kind == candidate->kind;
    candidate->kind = kind;
    if ((candidate->count - candidate->from) % DETECTOR_TRIED == DETECTOR_TRIED - 1) {
        candidate->tried = candidate->count;
        candidate->hopeless = sums_of(&candidate->kinds).part < DETECTOR_MUCH;
    }
}

/* Copies alone are no step: so are a model's parameters moved to the device, one by one. `at`: the
 * position after which the next piece begins. */
static void candidate_seen(const struct gv_step_detector *detector, struct candidate *candidate,
                           uint64_t at)
{
    if (candidate->count == 0 || candidate->works != detector->stream.works) {
        if (candidate->count++)
            candidate_piece(detector, candidate);
    }
    candidate->at = at;
    candidate->work = detector->stream.work;
    candidate->works = detector->stream.works;
    candidate->waits = detector->stream.waits;
    candidate->marks = detector->stream.marks;
    candidate->predicted = detector->stream.predicted;
    candidate->foreseen = detector->stream.foreseen;
}

int gv_step_detector_take(struct gv_step_detector *detector, const struct gv_step_event *event)
{
    struct anchor_keys keys = anchors_of(&detector->stream, event);
    bool wait = event->role == GV_STEP_WAIT || event->role == GV_STEP_FETCH;
    bool counts = gv_step_stream_counts(&detector->stream, event);
    struct candidate *candidate;

    for (size_t i = 0; detector->after_wait && i < DETECTOR_KEYS; i++)
        for (size_t j = 0; j < detector->count; j++) {
            candidate = detector->candidates[j];
            if (candidate->key == detector->newest_wait[i] && !counts)
                candidate->again++;
            else if (candidate->key == detector->newest_wait[i])
                candidate->follower = event->symbol;
        }
    if (!counts)
        return 0;
    detector->after_wait = wait;
    if (wait)
        gv_step_stream_take(&detector->stream, event);
    for (size_t i = 0; i < keys.count; i++) {
        candidate = candidate_of(detector, keys.key[i].class, keys.key[i].key, event->symbol);
        if (!candidate)
            return -ENOMEM;
        candidate_seen(detector, candidate, detector->stream.position);
        detector->newest_wait[i] = keys.key[i].key;
    }
    if (!wait)
        gv_step_stream_take(&detector->stream, event);
    return 0;
}

/* How good it is, 0: it bounds no steps. `equal`: steps may be of any kinds if they are equally
 * large and end with a wait: what a program does for each of many sizes differs in its copies,
 * kernels and graphs. */
static double candidate_score(const struct gv_step_detector *detector,
                              const struct candidate *candidate, bool equal)
{
    const struct gv_step_stream *stream = &detector->stream;
    struct sums sums = sums_of(&candidate->kinds);
    uint64_t pieces = candidate->count - 1;
    bool one = sums.part_of_one >= DETECTOR_NEARLY_ALL &&
               part_of(sums.of_one, stream->work) >= DETECTOR_MUCH;
    bool several = sums.part >= DETECTOR_NEARLY_ALL && sums.kinds <= DETECTOR_KINDS &&
                   part_of(sums.work, stream->work) >= DETECTOR_MUCH;

    if (candidate->hopeless || candidate->count < GV_STEP_LEAST ||
        gv_step_stream_order(stream, candidate->predicted - candidate->first_predicted,
                             candidate->foreseen - candidate->first_foreseen) < DETECTOR_ORDER)
        return 0;
    /* Steps of several kinds end alike, and there is no other wait in them; or else there are many
     * of a kind before the next. */
    if (!ends_steps(candidate->class) ||
        part_of(candidate->waited, pieces) > 1 - DETECTOR_NEARLY_ALL ||
        (candidate->class != GV_STEP_ANCHOR_END &&
         part_of(candidate->same, pieces - candidate->from) < DETECTOR_TURNS))
        several = false;
    if (equal && ends_steps(candidate->class) && sums.part >= DETECTOR_NEARLY_ALL &&
        part_of(sums.work, stream->work) >= DETECTOR_MUCH &&
        part_of(candidate->waited, pieces) <= 1 - DETECTOR_EQUAL &&
        regular_part(candidate) >= DETECTOR_EQUAL)
        several = true;
    return one ? sums.part_of_one : several ? sums.part : 0;
}

struct choice {
    const struct candidate *candidate;
    double score;
    size_t votes;
};

static bool better(const struct choice *one, const struct choice *other)
{
    if (one->votes != other->votes)
        return one->votes > other->votes;
    if (one->score != other->score)
        return one->score > other->score;
    if (one->candidate->class != other->candidate->class)
        return one->candidate->class < other->candidate->class;
    /* A synchronous copy to the device is not the end of a step: one to the host comes later. */
    return ends_steps(one->candidate->class) && one->candidate->at > other->candidate->at;
}

static bool about_as_many(uint64_t one, uint64_t other)
{
    return (one > other ? one - other : other - one) <= 1;
}

/* Those with about as many as one: the anchors of a loop. */
struct level {
    double least, most;
    bool work;
};

static bool is_of(const struct choice *choice, const struct level *level)
{
    double count = (double)choice->candidate->count;

    return (choice->candidate->class == GV_STEP_ANCHOR_WORK) == level->work &&
           count >= level->least && count <= level->most;
}

/* The best of a level; *rivals: whether one of another loop is as good. */
static struct choice best_of(const struct choice *choices, size_t count, struct level level,
                             bool *rivals)
{
    struct choice best = {0};

    for (size_t i = 0; i < count; i++)
        if (is_of(&choices[i], &level) && (!best.candidate || better(&choices[i], &best)))
            best = choices[i];
    *rivals = false;
    for (size_t i = 0; i < count; i++)
        *rivals |= is_of(&choices[i], &level) && choices[i].votes == best.votes &&
                   !about_as_many(choices[i].candidate->count, best.candidate->count);
    return best;
}

/* ---- loops in loops ---- */

/* How often one is in a usual piece of another. */
static double times_in(const struct choice *outer, const struct choice *inner)
{
    return fmin(median_work(outer->candidate) / median_work(inner->candidate),
                (double)inner->candidate->count / (double)outer->candidate->count);
}

static const struct gv_piece_kind *usual_kind(const struct candidate *candidate)
{
    const struct gv_piece_kind *usual = candidate->kinds.kind;

    for (size_t i = 1; i < candidate->kinds.count; i++)
        if (candidate->kinds.kind[i].count > usual->count)
            usual = &candidate->kinds.kind[i];
    return usual;
}

static bool nests(const struct choice *choice)
{
    return part_of(choice->candidate->nests, choice->candidate->count - 1) >= DETECTOR_MUCH;
}

/* Its pieces wait or copy more than once, and are about equally large. */
static bool is_outer(const struct choice *choice)
{
    bool sure = choice->votes >= 2;

    return regular_part(choice->candidate) >= (sure ? DETECTOR_REGULAR : DETECTOR_NEARLY_ALL) &&
           (sure || choice->candidate->count > DETECTOR_SELDOM) && nests(choice);
}

/* It waits in a row as often as the inner one repeats in it: for each of several streams to which
 * that gives work. */
static bool gathers(const struct choice *outer, double times)
{
    double waits = 1 + part_of(outer->candidate->again, outer->candidate->count);

    return times >= 2 && waits >= times * DETECTOR_NEARLY_ALL;
}

/* A wait now and then, as to log, without work of its own, is in the inner loop; and what takes
 * turns to come to the same wait, in steps of several kinds. A single line that repeats is not what
 * the author sees. */
static bool goes_in(const struct gv_step_stream *stream, const struct choice *outer,
                    const struct choice *inner)
{
    const struct candidate *in = inner->candidate;
    bool works = gv_piece_works_once(usual_kind(outer->candidate), stream);
    bool turns = ends_steps(in->class) && sums_of(&in->kinds).kinds > 1 &&
                 gv_step_stream_line(stream, in->symbol) != GV_PIECE_LINES;
    double times = times_in(outer, inner);

    return times >= 2 && !gathers(outer, times) &&
           !(works && gv_piece_is_line(usual_kind(in), stream)) &&
           (times >= DETECTOR_GO_IN || turns || !(works || in->class == GV_STEP_ANCHOR_GRAPH));
}

/* From the outermost loop around the finest one inwards. */
static struct choice loop_of(const struct gv_step_stream *stream, const struct choice *choices,
                             size_t count, const struct choice *finest)
{
    struct choice loop = *finest, inner = *finest;

    for (size_t i = 0; i < count; i++)
        if (is_outer(&choices[i]) && times_in(&choices[i], finest) >= 2 &&
            choices[i].candidate->count < loop.candidate->count)
            loop = choices[i];
    while (inner.candidate && loop.candidate != finest->candidate) {
        inner.candidate = NULL;
        for (size_t i = 0; i < count; i++)
            if ((is_outer(&choices[i]) || choices[i].candidate == finest->candidate) &&
                goes_in(stream, &loop, &choices[i]) &&
                (!inner.candidate || choices[i].candidate->count < inner.candidate->count))
                inner = choices[i];
        loop = inner.candidate ? inner : loop;
    }
    /* Beside it: some pieces may lack this anchor. */
    inner = loop;
    for (size_t i = 0; i < count && loop.candidate != finest->candidate; i++)
        if (nests(&choices[i]) && times_in(&inner, &choices[i]) < 1.5 &&
            choices[i].candidate->count > loop.candidate->count)
            loop = choices[i];
    return loop;
}

/* Work that is once in each round of another loop, and rounds of that are few: of three axes in a
 * time step, not a kernel in every tenth step. */
static bool closes_rounds(const struct choice *choices, size_t count, const struct choice *one)
{
    if (one->score < DETECTOR_NEARLY_ALL || regular_part(one->candidate) < DETECTOR_NEARLY_ALL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct choice *inner = &choices[i];
        double times = times_in(one, inner);
        if (inner->candidate->class == GV_STEP_ANCHOR_WORK && inner->votes >= DETECTOR_THINGS &&
            inner->score >= DETECTOR_NEARLY_ALL && times >= 2 && times < DETECTOR_GO_IN)
            return true;
    }
    return false;
}

/* A program that waits only now and then, as to log, has its loop between two waits: the work that
 * repeats there most seldom. The wait must be seldom, or do nothing else, and then the loop must do
 * several things. */
static struct choice inner_of(const struct gv_step_stream *stream, const struct choice *choices,
                              size_t count, const struct choice *outer)
{
    bool seldom = outer->candidate->count < DETECTOR_SELDOM;
    bool works = gv_piece_works_once(usual_kind(outer->candidate), stream);
    struct choice inner = {0};

    for (size_t i = 0; i < count; i++) {
        const struct choice *one = &choices[i];
        uint64_t times = one->candidate->count / outer->candidate->count;
        if (one->candidate->class != GV_STEP_ANCHOR_WORK || gathers(outer, (double)times) ||
            !((seldom && times >= DETECTOR_INNER && one->votes >= 2) ||
              (!works && times >= 2 && one->votes >= DETECTOR_THINGS) ||
              ((seldom || !works) && times >= DETECTOR_INNER &&
               closes_rounds(choices, count, one))))
            continue;
        if (!inner.candidate || one->candidate->count + 1 < inner.candidate->count ||
            (about_as_many(one->candidate->count, inner.candidate->count) && better(one, &inner)))
            inner = *one;
    }
    return inner.candidate ? inner : *outer;
}

static struct choice choose(const struct gv_step_detector *detector, bool equal)
{
    struct choice choices[DETECTOR_CANDIDATES], best, loop;
    size_t count = 0;
    uint64_t most = 0;
    bool rivals;

    for (size_t i = 0; i < detector->count; i++) {
        const struct candidate *candidate = detector->candidates[i];
        double score = candidate_score(detector, candidate, equal);
        if (score <= 0)
            continue;
        choices[count++] = (struct choice){candidate, score, 0};
        if (candidate->class != GV_STEP_ANCHOR_WORK && candidate->count > most)
            most = candidate->count;
    }
    struct level level = {(double)most * DETECTOR_SAME_LOOP, INFINITY, false};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            choices[i].votes +=
                about_as_many(choices[i].candidate->count, choices[j].candidate->count);
    best = best_of(choices, count, level, &rivals);
    if (best.candidate) {
        loop = loop_of(&detector->stream, choices, count, &best);
        level = (struct level){(double)loop.candidate->count * DETECTOR_SAME_LOOP,
                               (double)loop.candidate->count + 1, false};
        if (loop.candidate != best.candidate)
            best = best_of(choices, count, level, &rivals);
        level.work = true;
        if (!best.candidate)
            best = best_of(choices, count, level, &rivals);
    } else {
        best = best_of(choices, count, (struct level){0, INFINITY, true}, &rivals);
        /* A launch now and then, alone, has a loop between it and the next one too. */
        if (rivals || best.votes < 2)
            best.candidate = NULL;
    }
    return best.candidate ? inner_of(&detector->stream, choices, count, &best) : best;
}

bool gv_step_detector_choose(const struct gv_step_detector *detector, struct gv_step_anchor *anchor)
{
    struct choice best = choose(detector, false);
    bool equal = !best.candidate;

    if (equal)
        best = choose(detector, true);
    if (!best.candidate)
        return false;
    *anchor = (struct gv_step_anchor){
        .class = best.candidate->class,
        .key = best.candidate->key,
        .first = best.candidate->first,
        .equal = equal,
    };
    for (size_t i = 0; i < best.candidate->kinds.count; i++)
        if (best.candidate->kinds.kind[i].count + 1 >= GV_STEP_LEAST)
            anchor->kinds.kind[anchor->kinds.count++] = best.candidate->kinds.kind[i];
    return true;
}

/* ---- cutting ---- */

static bool cutter_piece(struct gv_step_cutter *cutter, int64_t end_ns, struct gv_step_found *found)
{
    const struct gv_piece_kinds *kinds = &cutter->anchor->kinds;
    struct gv_piece piece;
    double like;
    int within;

    gv_piece_cut(&piece, &cutter->stream, cutter->after);
    *found = (struct gv_step_found){
        .start_ns = cutter->start_ns,
        .end_ns = end_ns,
        .kind = gv_piece_kinds_find(kinds, &piece, &like),
    };
    if (like < CUTTER_ALIKE && gv_piece_kinds_within(kinds, &piece, &within) < CUTTER_WITHIN &&
        !(cutter->anchor->equal && cutter->running))
        return false;
    if (like < CUTTER_ALIKE)
        found->kind = within;
    if (cutter->anchor->equal)
        found->kind = 0;
    return cutter->running = true;
}

static bool cutter_is_anchor(const struct gv_step_cutter *cutter, const struct gv_step_event *event)
{
    struct anchor_keys keys = anchors_of(&cutter->stream, event);

    for (size_t i = 0; i < keys.count; i++)
        if (keys.key[i].key == cutter->anchor->key)
            return true;
    return false;
}

/* Before the first step there may be other work. */
static void cutter_begin(struct gv_step_cutter *cutter, const struct gv_step_event *event,
                         int64_t start_ns)
{
    if (cutter->running || (cutter->open && event->symbol != cutter->anchor->first))
        return;
    if (cutter->open && cutter->first_seen)
        return;
    cutter->first_seen = event->symbol == cutter->anchor->first;
    cutter->open = true;
    cutter->start_ns = start_ns;
    cutter->after = cutter->stream.position;
}

bool gv_step_cutter_take(struct gv_step_cutter *cutter, const struct gv_step_event *event,
                         int64_t start_ns, int64_t end_ns, struct gv_step_found *found)
{
    bool anchor, worked, step = false;

    if (!gv_step_stream_counts(&cutter->stream, event))
        return false;
    anchor = cutter_is_anchor(cutter, event);
    worked = cutter->stream.works != cutter->works;
    if (ends_steps(cutter->anchor->class)) {
        cutter_begin(cutter, event, start_ns);
        gv_step_stream_take(&cutter->stream, event);
        if (anchor && worked)
            step = cutter_piece(cutter, end_ns, found);
        if (anchor)
            cutter->open = cutter->first_seen = false;
        if (step)
            cutter->start_ns = end_ns;
    } else {
        if (anchor && cutter->open && worked)
            step = cutter_piece(cutter, start_ns, found);
        if (anchor && (worked || !cutter->running)) {
            cutter->open = true;
            cutter->start_ns = start_ns;
        }
    }
    if (anchor) {
        cutter->after = cutter->stream.position;
        cutter->works = cutter->stream.works;
    }
    if (!ends_steps(cutter->anchor->class))
        gv_step_stream_take(&cutter->stream, event);
    cutter->end_ns = end_ns;
    return step;
}

/* A copy and a wait for it may be what each step begins with. The last step then ends without. */
bool gv_step_cutter_end(struct gv_step_cutter *cutter, struct gv_step_found *found)
{
    struct gv_piece piece;
    double like;

    if (!ends_steps(cutter->anchor->class))
        return cutter->open && cutter_piece(cutter, cutter->end_ns, found);
    gv_piece_cut(&piece, &cutter->stream, cutter->after);
    gv_piece_kinds_find(&cutter->anchor->kinds, &piece, &like);
    return cutter->running && cutter->stream.works != cutter->works && !cutter->stream.working &&
           like >= CUTTER_LAST && cutter_piece(cutter, cutter->end_ns, found);
}
