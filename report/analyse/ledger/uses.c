/* What limited a device while a lane kept it busy, by samples of GPM, which take 0.1 s or more. A
 * sample counts if the lane worked for most of its time; its values are scaled to that. If only the
 * lane's calls are known, NVML's utilisation says how long the device worked. */
#include "report/analyse/ledger/uses.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <stdio.h>
#include <string.h>

#define USES_MOST    65536u /* of a lane */
#define LEAST        3      /* so many samples are needed to say something */
#define VALUE_MOST   1000
#define SLOWED_LEAST 5 /* percent of the clock */

enum kind {
#define GV_USE(kind, ...) KIND_##kind,
#include "report/analyse/ledger/uses.def"
    KINDS
};

static const struct {
    int least, told[3];
    const char *before, *after, *advice;
} kinds[] = {
#define GV_USE(kind, least, before, first, second, third, after, advice)                           \
    {least, {GV_USE_##first, GV_USE_##second, GV_USE_##third}, before, after, advice},
#include "report/analyse/ledger/uses.def"
};

static const char *const names[] = {
#define GV_USE_VALUE(value, words) words,
#include "report/analyse/ledger/uses.def"
};

static const struct {
    int64_t bits;
    const char *words, *advice;
} clocks[] = {
#define GV_USE_CLOCKS(bits, words, advice) {bits, words, advice},
#include "report/analyse/ledger/uses.def"
};
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

/* ---- reading ---- */

static int64_t percent(int64_t value)
{
    return value < 0 ? 0 : value < 100 ? value : 100;
}

static int take_use(void *context, sqlite3_stmt *row)
{
    struct gv_ledger_lane *lane = context;
    int64_t to_ns = gv_time_column(row, 0), from_ns = to_ns - gv_time_column_duration(row, 1);
    int64_t before_ns = lane->use_count ? lane->uses[lane->use_count - 1].to_ns : from_ns;
    int error;

    /* How long it was is measured some microseconds before when it was. */
    from_ns = from_ns > before_ns ? from_ns : before_ns;
    if (from_ns >= to_ns || lane->use_seen++ % lane->use_stride)
        return 0;
    if (lane->use_count >= USES_MOST) { /* of a run of days: every second one */
        for (lane->use_count = 0; lane->use_count < USES_MOST / 2; lane->use_count++)
            lane->uses[lane->use_count] = lane->uses[2 * lane->use_count];
        lane->use_stride *= 2;
    }
    error = gv_array_room(&lane->uses, lane->use_count, &lane->use_room, sizeof(*lane->uses));
    if (error)
        return error;
    struct gv_ledger_use *use = &lane->uses[lane->use_count++];
    *use = (struct gv_ledger_use){.from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .reasons = sqlite3_column_int64(row, 2),
                                  .clock_mhz = sqlite3_column_int64(row, 4 + GV_USE_VALUES)};
    lane->clock_mhz = use->clock_mhz > lane->clock_mhz ? use->clock_mhz : lane->clock_mhz;
    for (int i = 0; i < GV_USE_VALUES; i++) {
        int64_t value = sqlite3_column_int64(row, 3 + i);
        bool is_known = sqlite3_column_type(row, 3 + i) == SQLITE_INTEGER && value >= 0;
        use->values[i] = (int16_t)(!is_known ? -1 : value < VALUE_MOST ? value : VALUE_MOST);
    }
    if (lane->device < 0)
        use->busy_ns =
            (to_ns - from_ns) / 100 * percent(sqlite3_column_int64(row, 3 + GV_USE_VALUES));
    return 0;
}

int gv_ledger_uses_read(struct gv_ledger *ledger)
{
    int error = gv_database_script(ledger->trace, sql_find_uses, NULL, 0);

    for (size_t i = 0; i < ledger->lane_count && !error; i++) {
        struct gv_ledger_lane *lane = &ledger->lanes[i];
        const int64_t values[] = {lane->process, lane->device, lane->begin_ns, lane->end_ns};
        lane->use_stride = 1;
        error = gv_database_each(ledger->trace, sql_uses, values, 4, take_use, lane);
    }
    return error ? error : gv_database_script(ledger->trace, sql_drop_uses, NULL, 0);
}

int gv_ledger_uses_share(struct gv_ledger *ledger)
{
    return gv_database_script(ledger->trace, sql_find_sharing, NULL, 0);
}

/* ---- what the lane did meanwhile ---- */

/* Boyer and Moore: what one call has more than all others. */
static void vote(uint64_t *most, int64_t *most_ns, uint64_t of, int64_t ns)
{
    if (of && *most == of)
        *most_ns += ns;
    else if (*most_ns >= ns || !of)
        *most_ns = *most_ns > ns ? *most_ns - ns : 0;
    else {
        *most = of;
        *most_ns = ns - *most_ns;
    }
}

void gv_ledger_use_note(struct gv_ledger *ledger, uint32_t number,
                        const struct gv_ledger_piece *piece, bool is_back)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    const uint32_t what = piece->what;
    /* A graph has any kernels, and so has a call of which no kernel is known. */
    uint64_t after = ledger->pairs[piece->pair].after;
    bool is_any =
        what == GV_ACCOUNT_GRAPH || (what == GV_ACCOUNT_KERNEL && !GV_LEDGER_KERNEL(after));
    uint64_t of = is_any ? 0 : after ? after : what + UINT64_C(1);
    bool copies = what >= GV_ACCOUNT_COPY && what <= GV_ACCOUNT_SET;

    if (!lane->use_count || lane->device < 0 || !gv_account_is_work(what))
        return;
    while (lane->use_at > 0 && lane->uses[lane->use_at - 1].to_ns > piece->from_ns)
        lane->use_at--;
    while (lane->use_at < lane->use_count && lane->uses[lane->use_at].to_ns <= piece->from_ns)
        lane->use_at++;
    for (size_t i = lane->use_at; i < lane->use_count && lane->uses[i].from_ns < piece->to_ns;
         i++) {
        struct gv_ledger_use *use = &lane->uses[i];
        int64_t ns = (piece->to_ns < use->to_ns ? piece->to_ns : use->to_ns) -
                     (piece->from_ns > use->from_ns ? piece->from_ns : use->from_ns);
        use->busy_ns += is_back ? -ns : ns;
        use->collective_ns += what != GV_ACCOUNT_COLLECTIVE ? 0 : is_back ? -ns : ns;
        use->copy_ns += copies ? ns : 0;
        vote(&use->of, &use->same_ns, is_back ? 0 : of, ns);
    }
}

/* ---- in words ---- */

/* Of the samples of a kind, or of all. mixed_ns: of those in which no kernel has eight tenths more
 * than the others, so that the values are of several. */
struct sums {
    int64_t samples, busy_ns, mixed_ns, same_ns;
    uint64_t of; /* the call that has same_ns more than all others */
    double values[GV_USE_VALUES], known_ns[GV_USE_VALUES];
};

/* While only copies run, only DRAM and PCIe are in use: other values are of the time without them.
 */
static double scaled(const struct gv_ledger_use *use, int value)
{
    const bool copies = value == GV_USE_DRAM || value == GV_USE_PCIE;
    double ns = (double)(use->busy_ns - (copies ? 0 : use->copy_ns));
    double tenths = use->values[value] * (double)(use->to_ns - use->from_ns);

    return ns <= 0 ? 0 : tenths < VALUE_MOST * ns ? tenths / ns : VALUE_MOST;
}

static enum kind kind_of(const struct gv_ledger_use *use)
{
    for (int i = 0; i < KIND_NOT_FULL; i++) {
        bool is_high = scaled(use, kinds[i].told[0]) >= kinds[i].least;
        if (i == KIND_COLLECTIVE   ? use->collective_ns > use->busy_ns / 2
            : i == KIND_COPYING    ? use->copy_ns > use->busy_ns / 2
            : i == KIND_HALF_EMPTY ? !is_high
                                   : is_high)
            return (enum kind)i;
    }
    return KIND_NOT_FULL;
}

static void add(struct sums *sums, const struct gv_ledger_use *use)
{
    sums->samples++;
    sums->busy_ns += use->busy_ns;
    sums->mixed_ns += use->same_ns < use->busy_ns / 10 * 8 ? use->busy_ns : 0;
    vote(&sums->of, &sums->same_ns, use->of, use->same_ns);
    for (int i = 0; i < GV_USE_VALUES; i++) {
        double ns = use->values[i] < 0 ? 0 : (double)use->busy_ns;
        sums->values[i] += scaled(use, i) * ns;
        sums->known_ns[i] += ns;
    }
}

static double mean(const struct sums *sums, int value)
{
    return value < GV_USE_VALUES && sums->known_ns[value] > 0
               ? sums->values[value] / sums->known_ns[value]
               : -1;
}

static void say(struct gv_ledger_used *used, const struct sums *sums, enum kind kind, bool is_mix,
                bool is_known)
{
    int told[3];
    bool comma = false;

    used->advice = kinds[kind].advice;
    memcpy(told, kinds[kind].told, sizeof(told));
    /* Products that could use the tensor cores do not make a sample FP32's where others share it.
     */
    if (kind == KIND_NOT_FULL && 2 * mean(sums, GV_USE_FP32) >= kinds[KIND_FP32].least &&
        mean(sums, GV_USE_FP32) > mean(sums, GV_USE_TENSOR)) {
        told[2] = GV_USE_FP32;
        used->advice = kinds[KIND_FP32].advice;
    }
    gv_format_add(used->words, sizeof(used->words), "%s",
                  kind == KIND_NOT_FULL && is_mix && is_known ? "a mix: " : kinds[kind].before);
    for (int i = 0; i < 3; i++) {
        double tenths = mean(sums, told[i]);
        if (tenths < 0)
            continue;
        gv_format_add(used->words, sizeof(used->words), "%s%s %.0f %%", comma ? ", " : "",
                      names[told[i]], tenths / 10);
        comma = true;
    }
    gv_format_add(used->words, sizeof(used->words), "%s%s", kinds[kind].after,
                  !is_known                         ? ", on average"
                  : kind != KIND_NOT_FULL && is_mix ? ", in a mix of work"
                                                    : "");
}

int gv_ledger_use_sum(const struct gv_ledger *ledger, uint32_t number, unsigned phase,
                      struct gv_ledger_used *used)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    const int64_t borders[] = {lane->begin_ns, lane->main_ns, lane->main_end_ns, lane->end_ns};
    int64_t from_ns = borders[phase < GV_LEDGER_PHASES ? phase : 0];
    int64_t to_ns = borders[phase < GV_LEDGER_PHASES ? phase + 1 : GV_LEDGER_PHASES];
    int64_t slowed_ns[CLOCKS] = {0}, others = 0;
    double clock_mhz = 0, clocked_ns = 0;
    const int64_t values[] = {lane->process, lane->device, from_ns, to_ns};
    struct sums sums[KINDS] = {0}, all = {0};
    enum kind most = KIND_NOT_FULL;
    int error = 0;

    *used = (struct gv_ledger_used){.advice = ""};
    for (size_t i = 0; i < lane->use_count; i++) {
        const struct gv_ledger_use *use = &lane->uses[i];
        if (use->from_ns < from_ns || use->to_ns > to_ns || use->busy_ns <= 0 ||
            use->busy_ns / 2 < (use->to_ns - use->from_ns) / 3)
            continue;
        add(&all, use);
        add(&sums[kind_of(use)], use);
        for (size_t k = 0; k < CLOCKS; k++)
            slowed_ns[k] += use->reasons & clocks[k].bits ? use->busy_ns : 0;
        clock_mhz += (double)use->clock_mhz * (double)use->busy_ns;
        clocked_ns += use->clock_mhz > 0 ? (double)use->busy_ns : 0;
    }
    used->samples = all.samples;
    used->busy_ns = all.busy_ns;
    for (int i = 0; i < GV_USE_VALUES; i++)
        used->means[i] = mean(&all, i) < 0 ? -1 : (int64_t)(mean(&all, i) + 0.5);
    if (all.samples < LEAST)
        return 0;
    error = gv_database_number(ledger->trace, sql_has_sharing, values, 4, &others);
    if (error || (others && lane->device < 0)) /* whose work it was is not known */
        return error;
    for (int i = 0; i < KINDS; i++)
        if (sums[i].busy_ns > sums[most].busy_ns)
            most = (enum kind)i;
    used->kind_ns = sums[most].busy_ns;
    if (used->kind_ns > all.busy_ns / 2)
        say(used, &sums[most], most, sums[most].mixed_ns > sums[most].busy_ns / 2,
            lane->device >= 0);
    else
        say(used, &all, KIND_NOT_FULL, true, lane->device >= 0);
    used->of = sums[most].same_ns > sums[most].busy_ns / 2 ? sums[most].of : 0;
    used->clock_most_mhz = lane->clock_mhz;
    used->clock_mhz = clocked_ns > 0 ? (int64_t)(clock_mhz / clocked_ns + 0.5) : 0;
    /* A busy GPU is often at its power limit, and loses little by it. */
    for (size_t k = 0;
         k < CLOCKS && !used->slowed_by &&
         (!used->clock_mhz || 100 * used->clock_mhz <= (100 - SLOWED_LEAST) * used->clock_most_mhz);
         k++) {
        used->slowed_ns = slowed_ns[k];
        used->slowed_by = slowed_ns[k] > all.busy_ns / 2 ? clocks[k].words : NULL;
        used->slowed_advice = clocks[k].advice;
    }
    if (others)
        gv_format_add(used->words, sizeof(used->words), "; other processes were on the GPU, too");
    return 0;
}
