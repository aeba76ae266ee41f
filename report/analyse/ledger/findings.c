/* Forms findings: rows that one change of the program would take away. */
#include "report/analyse/ledger/findings.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_OF_PHASE 10u /* then the rest is no finding */
#define LEAST_SHARE       100 /* a finding is at least so much of its phase: one hundredth, */
#define LEAST_OF_RUN      200 /* and of the run */
#define WAITS_TOLD        20 /* the waits of others that a finding saves are told above a twentieth */
#define CALLEES_LEAST     3u
#define CHAIN_MOST        24u
#define COMPUTING_PART    5 /* comes before what loses less than a fifth of the phase */

/* A row as findings see it: claimed time is the wait's. */
struct claim {
    const struct gv_ledger_row *row;
    uint32_t what, stack;
    int64_t place, ns;
    uint32_t chain; /* number of one */
    uint32_t own;   /* the same of the row itself: not of the wait that claims it */
    uint32_t group; /* the same for all that are the same in the same innermost function */
    unsigned taken; /* by the finding of that number; 0: by none */
};

/* Own functions, innermost first. */
struct chain {
    uint32_t functions[CHAIN_MOST];
    size_t count;
};

struct forming {
    struct gv_ledger *ledger;
    struct gv_ledger_rows *rows;
    struct gv_ledger_findings *findings;
    struct claim *claims;
    size_t claim_count, claim_room;
    struct chain *chains;
    size_t chain_count, chain_room;
    struct gv_key_map chain_numbers, function_numbers; /* of stacks; of names */
    uint32_t function_count;
    struct gv_key_map group_numbers; /* + 1 */
    int64_t *group_ns;               /* scratch of largest() */
    size_t group_count, group_room;
    struct gv_ledger_telling telling;
};

/* ---- own functions ---- */

static int take_frame(void *context, sqlite3_stmt *row)
{
    struct forming *forming = context;
    struct chain *chain = &forming->chains[forming->chain_count];
    const char *file = (const char *)sqlite3_column_text(row, 0);
    const char *function = (const char *)sqlite3_column_text(row, 1);
    const struct gv_key key = {
        {gv_mix_bytes(1, file ? file : "", file ? strlen(file) : 0),
         gv_mix_bytes(2, function ? function : "", function ? strlen(function) : 0), 1}};
    int64_t number = gv_key_map_find(&forming->function_numbers, &key);
    int error = 0;

    if (!number)
        error =
            gv_key_map_add(&forming->function_numbers, &key, number = ++forming->function_count);
    for (size_t i = 0; i < chain->count; i++)
        if (chain->functions[i] == number)
            return error; /* a recursion */
    if (chain->count < CHAIN_MOST)
        chain->functions[chain->count++] = (uint32_t)number;
    return error;
}

static int chain_of(struct forming *forming, uint32_t stack, int64_t place, uint32_t *number)
{
    const struct gv_key key = {{stack, stack ? 0 : (uint64_t)place, 0}};
    int64_t known = gv_key_map_find(&forming->chain_numbers, &key), id = stack;
    int error;

    *number = (uint32_t)known - 1;
    if (known)
        return 0;
    error = gv_array_room(&forming->chains, forming->chain_count, &forming->chain_room,
                          sizeof(*forming->chains));
    if (error)
        return error;
    forming->chains[forming->chain_count] = (struct chain){.count = 0};
    if (stack)
        error =
            gv_database_each(forming->ledger->trace, sql_own_frames, &id, 1, take_frame, forming);
    struct chain *chain = &forming->chains[forming->chain_count];
    if (chain->count == 0) /* its place is all that is known: a function of its own */
        chain->functions[chain->count++] = UINT32_MAX - (uint32_t)place;
    *number = (uint32_t)forming->chain_count++;
    return error ? error : gv_key_map_add(&forming->chain_numbers, &key, (int64_t)*number + 1);
}

static bool chain_has(const struct forming *forming, uint32_t number, uint32_t function)
{
    const struct chain *chain = &forming->chains[number];

    for (size_t i = 0; i < chain->count; i++)
        if (chain->functions[i] == function)
            return true;
    return false;
}

static uint32_t innermost(const struct forming *forming, const struct claim *claim)
{
    return forming->chains[claim->chain].functions[0];
}

static bool has_function(const struct forming *forming, const struct claim *claim,
                         uint32_t function)
{
    return chain_has(forming, claim->chain, function);
}

/* The own function that calls this one; 0: none. */
static uint32_t caller_of(const struct forming *forming, const struct claim *claim,
                          uint32_t function)
{
    const struct chain *chain = &forming->chains[claim->chain];

    for (size_t i = 0; i + 1 < chain->count; i++)
        if (chain->functions[i] == function)
            return chain->functions[i + 1];
    return 0;
}

/* ---- forming ---- */

static int group_of(struct forming *forming, const struct claim *claim, uint32_t *group)
{
    const struct gv_key key = {{claim->what, innermost(forming, claim), 0}};
    int64_t known = gv_key_map_find(&forming->group_numbers, &key);
    int error;

    *group = (uint32_t)known - 1;
    if (known)
        return 0;
    error = gv_array_room(&forming->group_ns, forming->group_count, &forming->group_room,
                          sizeof(*forming->group_ns));
    if (error)
        return error;
    *group = (uint32_t)forming->group_count++;
    return gv_key_map_add(&forming->group_numbers, &key, (int64_t)*group + 1);
}

static int add_claim(struct forming *forming, const struct gv_ledger_row *row)
{
    struct claim claim = {.row = row,
                          .what = row->what,
                          .ns = row->total_ns,
                          .place = row->place,
                          .stack = row->stack};
    int error = gv_array_room(&forming->claims, forming->claim_count, &forming->claim_room,
                              sizeof(*forming->claims));

    if (row->claimed) {
        claim.what = GV_ACCOUNT_WAITS;
        claim.place = row->claimed > 0 ? row->claimed : 0;
        claim.stack = row->claimed_stack;
    }
    if (!error)
        error = chain_of(forming, row->stack, row->place, &claim.own);
    if (!error)
        error = chain_of(forming, claim.stack, claim.place, &claim.chain);
    if (!error)
        error = group_of(forming, &claim, &claim.group);
    if (!error)
        forming->claims[forming->claim_count++] = claim;
    return error;
}

static bool is_lost(const struct gv_ledger *ledger, const struct gv_ledger_row *row)
{
    return row->what == GV_ACCOUNT_COPY_PAGEABLE || row->what == GV_ACCOUNT_COPY_EXPOSED ||
           gv_ledger_is_lost(&ledger->lanes[row->lane], row->what);
}

/* The largest claim in the group with the most. A borrowed line is seldom the one to change. */
static struct claim *largest(struct forming *forming)
{
    struct claim *most = NULL;

    for (size_t i = 0; i < forming->claim_count; i++)
        forming->group_ns[forming->claims[i].group] = 0;
    for (size_t i = 0; i < forming->claim_count; i++) {
        const struct claim *claim = &forming->claims[i];
        if (!claim->taken)
            forming->group_ns[claim->group] += claim->row->borrowed ? claim->ns / 2 : claim->ns;
    }
    for (size_t i = 0; i < forming->claim_count; i++) {
        struct claim *claim = &forming->claims[i];
        int64_t ns = forming->group_ns[claim->group];
        if (!claim->taken && (ns > (most ? forming->group_ns[most->group] : 0) ||
                              (most && claim->group == most->group && claim->ns > most->ns)))
            most = claim;
    }
    return most;
}

static int64_t sum_of(const struct forming *forming, uint32_t what, uint32_t function)
{
    int64_t ns = 0;

    for (size_t i = 0; i < forming->claim_count; i++) {
        const struct claim *claim = &forming->claims[i];
        if (!claim->taken && claim->what == what && has_function(forming, claim, function))
            ns += claim->ns;
    }
    return ns;
}

/* The function that what was lost here spreads from: it goes up as long as the caller loses it in
 * several callees alike. */
static uint32_t spread_from(const struct forming *forming, const struct claim *most)
{
    uint32_t function = innermost(forming, most), caller;

    while ((caller = caller_of(forming, most, function)) != 0) {
        int64_t all_ns = sum_of(forming, most->what, caller), callees_ns = 0;
        uint32_t seen[64];
        size_t callees = 0;
        bool has_main_one = false;
        for (size_t i = 0; i < forming->claim_count; i++) {
            const struct claim *claim = &forming->claims[i];
            const struct chain *chain = &forming->chains[claim->chain];
            uint32_t callee = 0;
            bool known = false;
            if (claim->taken || claim->what != most->what || !has_function(forming, claim, caller))
                continue;
            for (size_t j = 0; j + 1 < chain->count; j++)
                if (chain->functions[j + 1] == caller)
                    callee = chain->functions[j];
            for (size_t j = 0; j < callees; j++)
                known |= seen[j] == callee;
            if (!callee || known || callees == sizeof(seen) / sizeof(seen[0]))
                continue;
            seen[callees++] = callee;
            int64_t ns = sum_of(forming, most->what, callee);
            callees_ns += ns;
            has_main_one |= ns > all_ns / 2;
        }
        if (callees < CALLEES_LEAST || has_main_one || callees_ns < all_ns / 5 * 4)
            break;
        function = caller;
    }
    return function;
}

/* One cause, at whatever line it shows: it is named at the deepest function that has nearly all. */
static bool is_one_cause(uint32_t what)
{
    return what == GV_ACCOUNT_COMPILE || what == GV_ACCOUNT_BENCHMARK ||
           what == GV_ACCOUNT_TRACEBACK || what == GV_ACCOUNT_INSTANTIATING ||
           what == GV_ACCOUNT_NO_CPU || what == GV_ACCOUNT_GIL;
}

static uint32_t in_common(const struct forming *forming, const struct claim *most)
{
    const struct chain *chain = &forming->chains[most->chain];
    int64_t all_ns = 0;

    for (size_t i = 0; i < forming->claim_count; i++)
        if (!forming->claims[i].taken && forming->claims[i].what == most->what)
            all_ns += forming->claims[i].ns;
    for (size_t i = 0; i < chain->count; i++)
        if (sum_of(forming, most->what, chain->functions[i]) >= all_ns / 10 * 9)
            return chain->functions[i];
    return chain->functions[0];
}

/* Memory that is given back is taken again: one cause, at the line that frees. */
static struct claim *with_frees(struct forming *forming, struct claim *most)
{
    int64_t sums[2] = {0};
    struct claim *freed = NULL;

    if (most->what != GV_ACCOUNT_ALLOCATING && most->what != GV_ACCOUNT_FREEING)
        return most;
    for (size_t i = 0; i < forming->claim_count; i++) {
        struct claim *claim = &forming->claims[i];
        if (claim->taken ||
            (claim->what != GV_ACCOUNT_ALLOCATING && claim->what != GV_ACCOUNT_FREEING))
            continue;
        sums[claim->what == GV_ACCOUNT_FREEING] += claim->ns;
        if (claim->what == GV_ACCOUNT_FREEING && (!freed || claim->ns > freed->ns))
            freed = claim;
    }
    return freed && sums[1] >= (sums[0] + sums[1]) / 10 ? freed : most;
}

/* What the program's own line mostly does, if it also waits for others there in turn. */
static struct claim *with_work(struct forming *forming, struct claim *most)
{
    int64_t waits_ns = 0, works_ns = 0;
    struct claim *works = NULL;

    if (most->what != GV_ACCOUNT_THREAD_LOCK || !most->place)
        return most;
    for (size_t i = 0; i < forming->claim_count; i++) {
        struct claim *claim = &forming->claims[i];
        if (claim->taken || claim->place != most->place)
            continue;
        waits_ns += claim->what == most->what ? claim->ns : 0;
        if (claim->what != GV_ACCOUNT_PYTHON && claim->what != GV_ACCOUNT_NATIVE)
            continue;
        works_ns += claim->ns;
        works = works && works->ns > claim->ns ? works : claim;
    }
    return works_ns > waits_ns ? works : most;
}

/* What one change of the program ends, wherever its lines are. */
static bool ends_with(uint32_t most, uint32_t what)
{
    switch (most) {
    case GV_ACCOUNT_FREEING:
        return what == GV_ACCOUNT_FREEING || what == GV_ACCOUNT_ALLOCATING;
    case GV_ACCOUNT_NAN_CHECK:
    case GV_ACCOUNT_NAN_KERNEL:
    case GV_ACCOUNT_TRACEBACK:
        return what == GV_ACCOUNT_NAN_CHECK || what == GV_ACCOUNT_NAN_KERNEL ||
               what == GV_ACCOUNT_TRACEBACK;
    default:
        return false;
    }
}

/* The program, or what prepares its data, has too few CPUs. */
static bool lacks_cpu(const struct forming *forming, const struct claim *claim)
{
    uint32_t verdict = claim->row->verdict;

    return claim->what == GV_ACCOUNT_NO_CPU ||
           (claim->what == GV_ACCOUNT_DATA && verdict &&
            forming->ledger->verdicts[verdict - 1].beside == GV_ACCOUNT_NO_CPU);
}

static void take(struct gv_ledger_finding *finding, struct claim *claim, unsigned number)
{
    claim->taken = number;
    finding->lost_ns += claim->ns;
    finding->count += claim->row->count;
    if (claim->what == GV_ACCOUNT_COPY_EXPOSED) {
        finding->exposed_ns += claim->ns;
        finding->awaited_ns += claim->row->awaited_ns;
    }
    finding->variance += claim->row->variance;
    finding->sampled |= claim->row->sampled;
}

/* What a wait claims of it is saved, too, if it is not done at all: with nothing to do, the host
 * need not overlap it. */
static int64_t claimed_by_waits(const struct forming *forming, const struct claim *most,
                                uint32_t function)
{
    int64_t ns = 0;

    for (size_t i = 0; i < forming->claim_count && most->what != GV_ACCOUNT_WAITS; i++) {
        const struct claim *claim = &forming->claims[i];
        if (claim->what == GV_ACCOUNT_WAITS && claim->row->what == most->what &&
            chain_has(forming, claim->own, function))
            ns += claim->ns;
    }
    return ns;
}

static int64_t saved_by(const struct gv_ledger_lane *lane, const struct gv_ledger_finding *finding)
{
    int64_t rest_ns = finding->lost_ns - finding->exposed_ns;

    return (finding->what == GV_ACCOUNT_COPY_PAGEABLE ? rest_ns / 3 * 2 : rest_ns) +
           (int64_t)((double)finding->exposed_ns * lane->copies_save);
}

/* One fix ends what a library does again, whatever lines ask for it: to keep its plans, say. */
static bool join_library_work(struct forming *forming, size_t first,
                              const struct gv_ledger_finding *finding)
{
    struct gv_ledger_findings *findings = forming->findings;

    for (size_t i = first; i < findings->count && finding->library_work; i++) {
        struct gv_ledger_finding *same = &findings->list[i];
        if (same->library_work != finding->library_work)
            continue;
        same->lost_ns += finding->lost_ns;
        same->saves_ns += finding->saves_ns;
        same->count += finding->count;
        same->variance += finding->variance;
        same->sampled |= finding->sampled;
        gv_ledger_tell_then(forming->ledger, same);
        return true;
    }
    return false;
}

static bool works_elsewhere(const struct forming *forming, const struct claim *claim,
                            unsigned number)
{
    return claim->taken == number && claim->row->claimed && claim->row->place &&
           forming->chains[claim->own].functions[0] != innermost(forming, claim);
}

/* After a wait, the host may do most of what it does in another function: that is what to change.
 */
static int find_then(struct forming *forming, struct gv_ledger_finding *finding, int64_t api,
                     unsigned number)
{
    const struct claim *most = NULL;
    int64_t may_overlap = 0;
    int error = 0;

    for (size_t i = 0; i < forming->claim_count && !error; i++) {
        struct claim *claim = &forming->claims[i];
        const struct claim at = {.what = GV_ACCOUNT_WAITS, .chain = claim->own};
        if (!works_elsewhere(forming, claim, number))
            continue;
        error = group_of(forming, &at, &claim->group);
        if (!error)
            forming->group_ns[claim->group] = 0;
    }
    for (size_t i = 0; i < forming->claim_count && !error; i++)
        if (works_elsewhere(forming, &forming->claims[i], number))
            forming->group_ns[forming->claims[i].group] += forming->claims[i].ns;
    for (size_t i = 0; i < forming->claim_count && !error; i++) {
        const struct claim *claim = &forming->claims[i];
        if (works_elsewhere(forming, claim, number) &&
            2 * forming->group_ns[claim->group] >= finding->lost_ns &&
            (!most || claim->ns > most->ns))
            most = claim;
    }
    if (most && !error)
        error = gv_database_number(forming->ledger->trace, sql_may_overlap, &api, 1, &may_overlap);
    if (may_overlap) {
        finding->then_place = most->row->place;
        finding->then_what = most->row->what;
    }
    return error;
}

/* What it does there beside what the waits claim is not done either. */
static void take_then(struct forming *forming, struct gv_ledger_finding *finding, unsigned number)
{
    for (size_t i = 0; i < forming->claim_count && finding->then_place; i++) {
        struct claim *claim = &forming->claims[i];
        if (!claim->taken && claim->what == finding->then_what &&
            claim->place == finding->then_place)
            take(finding, claim, number);
    }
}

static int form(struct forming *forming, uint32_t lane, enum gv_ledger_phase phase,
                int64_t phase_ns)
{
    struct gv_ledger_findings *findings = forming->findings;
    const struct gv_ledger_lane *of = &forming->ledger->lanes[lane];
    int64_t run_ns = of->end_ns - of->begin_ns;
    size_t first = findings->count;
    int error = 0;

    for (unsigned made = 1; made <= FINDINGS_OF_PHASE && !error; made++) {
        struct claim *most = largest(forming);
        struct gv_ledger_finding finding = {.lane = lane, .phase = phase, .phase_ns = phase_ns};
        if (!most)
            break;
        most = with_work(forming, with_frees(forming, most));
        uint32_t function =
            is_one_cause(most->what) ? in_common(forming, most) : spread_from(forming, most);
        finding.what = most->what;
        finding.verdict = most->row->verdict;
        finding.place = most->place;
        for (size_t i = 0; i < forming->claim_count; i++)
            if (!forming->claims[i].taken && forming->claims[i].what == most->what &&
                has_function(forming, &forming->claims[i], function))
                take(&finding, &forming->claims[i], made);
        for (size_t i = 0; i < forming->claim_count; i++)
            if (!forming->claims[i].taken &&
                (ends_with(most->what, forming->claims[i].what) ||
                 (lacks_cpu(forming, most) && lacks_cpu(forming, &forming->claims[i]))))
                take(&finding, &forming->claims[i], made);
        /* A CPU is missing wherever the program is: what its lines do is not gained with one. */
        for (size_t i = 0;
             i < forming->claim_count && most->place && most->what != GV_ACCOUNT_NO_CPU; i++)
            if (!forming->claims[i].taken && forming->claims[i].place == most->place &&
                (most->row->borrowed || !forming->claims[i].row->borrowed))
                take(&finding, &forming->claims[i], made);
        if (finding.lost_ns < phase_ns / LEAST_SHARE || finding.lost_ns < run_ns / LEAST_OF_RUN)
            break;
        if (most->what == GV_ACCOUNT_WAITS)
            error = find_then(forming, &finding, most->row->api, made);
        take_then(forming, &finding, made);
        int64_t waits_ns = claimed_by_waits(forming, most, function);
        finding.saves_ns = saved_by(of, &finding) + waits_ns;
        finding.with_waits = waits_ns > finding.lost_ns / WAITS_TOLD;
        if (!error)
            error = gv_array_room(&findings->list, findings->count, &findings->room,
                                  sizeof(*findings->list));
        if (!error)
            error = gv_ledger_tell(&forming->telling, &finding, most->row, most->stack);
        if (!error && !join_library_work(forming, first, &finding))
            findings->list[findings->count++] = finding;
    }
    return error || findings->count == first
               ? error
               : gv_ledger_tell_backward(&forming->telling, &findings->list[first],
                                         findings->count - first);
}

/* ---- the order ---- */

static bool is_of_start(const struct gv_ledger_finding *finding)
{
    return finding->what == GV_ACCOUNT_IMPORT || finding->what == GV_ACCOUNT_STARTING ||
           finding->what == GV_ACCOUNT_UNKNOWN || finding->what == GV_ACCOUNT_HOST_CODE;
}

static int rank_of(const struct gv_ledger *ledger, const struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[finding->lane];
    int64_t run_ns = lane->end_ns - lane->begin_ns;
    bool has_loop = lane->steps && lane->main_end_ns - lane->main_ns >= run_ns / 10;

    if (!has_loop || finding->what == GV_ACCOUNT_RESTARTS)
        return 0;
    return finding->phase == GV_LEDGER_MAIN ? 0 : is_of_start(finding) ? 2 : 1;
}

/* By what is lost, as a line may save more than what is known of it: copies that nobody needs. What
 * no line changes much counts half; what may have cost the GPU nothing does not count. That the GPU
 * computes is more than what loses a fifth. */
static int64_t weight_of(const struct gv_ledger_finding *finding)
{
    switch (finding->what) {
    case GV_ACCOUNT_USE:
    case GV_ACCOUNT_CLOCKS:
    case GV_ACCOUNT_LATE_START:
    case GV_ACCOUNT_SLOW_STEPS:
    case GV_ACCOUNT_UNEXPECTED_WAITS:
        return 0;
    case GV_ACCOUNT_COMPUTING:
        return finding->phase_ns / COMPUTING_PART;
    case GV_ACCOUNT_COPY_EXPOSED: /* all copies stay */
        return finding->saves_ns;
    default:
        return is_of_start(finding) ? finding->lost_ns / 2 : finding->lost_ns;
    }
}

static int compare(const void *left, const void *right, void *context)
{
    const struct gv_ledger *ledger = context;
    const struct gv_ledger_finding *one = left, *other = right;
    int64_t one_computes = ledger->lanes[one->lane].computing_ns;
    int64_t other_computes = ledger->lanes[other->lane].computing_ns;

    if (one->lane != other->lane && one_computes != other_computes)
        return one_computes > other_computes ? -1 : 1;
    if (rank_of(ledger, one) != rank_of(ledger, other))
        return rank_of(ledger, one) - rank_of(ledger, other);
    int64_t one_ns = weight_of(one), other_ns = weight_of(other);
    return one_ns > other_ns ? -1 : one_ns < other_ns;
}

int gv_ledger_findings_make(struct gv_ledger *ledger, struct gv_ledger_rows *rows,
                            struct gv_ledger_findings *findings)
{
    struct forming forming = {.ledger = ledger, .rows = rows, .findings = findings};
    int error = 0;

    for (uint32_t lane = 0; lane < ledger->lane_count && !error; lane++) {
        for (unsigned phase = 0; phase < GV_LEDGER_PHASES && !error; phase++) {
            int64_t phase_ns = 0;
            forming.claim_count = 0;
            forming.telling = (struct gv_ledger_telling){.ledger = ledger, .rows = rows};
            for (size_t i = 0; i < rows->count && !error; i++) {
                const struct gv_ledger_row *row = &rows->rows[i];
                if (row->lane != lane || row->phase != phase)
                    continue;
                if (row->what >= GV_ACCOUNTS || gv_account_say(row->what).group != GV_ACCOUNT_ASIDE)
                    phase_ns += row->total_ns;
                if (is_lost(ledger, row))
                    error = add_claim(&forming, row);
                if (row->what == GV_ACCOUNT_KERNEL) {
                    forming.telling.kernels += row->count;
                    forming.telling.kernel_ns += row->total_ns;
                }
            }
            if (!error)
                error = form(&forming, lane, (enum gv_ledger_phase)phase, phase_ns);
        }
    }
    if (!error)
        error = gv_ledger_beside_find(ledger, rows, findings);
    if (!error)
        error = gv_ledger_restarts_find(ledger, findings);
    if (findings->count)
        qsort_r(findings->list, findings->count, sizeof(*findings->list), compare, ledger);
    free(forming.claims);
    free(forming.chains);
    gv_key_map_free(&forming.chain_numbers);
    gv_key_map_free(&forming.function_numbers);
    gv_key_map_free(&forming.group_numbers);
    free(forming.group_ns);
    return error;
}
