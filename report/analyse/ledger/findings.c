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
#define CALLEES_LEAST     3u
#define CHAIN_MOST        24u
#define THEN_LEAST        25 /* the step without less of it looks the same */
#define HERE_LEAST        50 /* with less of the launches, it is blamed for those of another thread */
#define LOCKED_LEAST      10 /* the lock may be for what takes less */
#define FORWARD_LEAST     4 /* a backward pass launches two or three times as much as the forward */
#define COMPUTING_WEIGHT  7 /* what loses a seventh is worth more than what the GPU computes */
#define WAITS_LEAST       10 /* a line that waits for each so many launches is slow for that */

/* A row as findings see it: claimed time is the wait's. */
struct claim {
    const struct gv_ledger_row *row;
    uint32_t what, stack;
    int64_t place, ns;
    uint32_t chain; /* number of one */
    uint32_t group; /* the same for all that are the same in the same innermost function */
    bool taken;
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
    int64_t kernels, kernel_ns; /* of the lane and phase: how many took how long */
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

static bool has_function(const struct forming *forming, const struct claim *claim,
                         uint32_t function)
{
    const struct chain *chain = &forming->chains[claim->chain];

    for (size_t i = 0; i < chain->count; i++)
        if (chain->functions[i] == function)
            return true;
    return false;
}

static uint32_t innermost(const struct forming *forming, const struct claim *claim)
{
    return forming->chains[claim->chain].functions[0];
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
        error = chain_of(forming, claim.stack, claim.place, &claim.chain);
    if (!error)
        error = group_of(forming, &claim, &claim.group);
    if (!error)
        forming->claims[forming->claim_count++] = claim;
    return error;
}

static bool is_lost(const struct gv_ledger_row *row)
{
    return row->what == GV_ACCOUNT_COPY_PAGEABLE ||
           gv_account_say(row->what).group == GV_ACCOUNT_LOST;
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
           what == GV_ACCOUNT_NO_CPU;
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

static void take(struct gv_ledger_finding *finding, struct claim *claim)
{
    claim->taken = true;
    finding->lost_ns += claim->ns;
    finding->count += claim->row->count;
    finding->variance += claim->row->variance;
    finding->sampled |= claim->row->sampled;
}

static void say_lane(const struct gv_ledger_lane *lane, int64_t ns, enum gv_ledger_phase phase,
                     char *out, size_t size)
{
    double steps = phase == GV_LEDGER_MAIN && lane->steps ? (double)lane->steps : 1;
    double ms = (double)ns / 1e6 / steps;

    snprintf(out, size,
             ms >= 10000  ? "%.0f s"
             : ms >= 1000 ? "%.1f s"
             : ms >= 10   ? "%.0f ms"
             : ms >= 1    ? "%.1f ms"
                          : "%.0f us",
             ms >= 1000 ? ms / 1000
             : ms >= 1  ? ms
                        : ms * 1000);
}

struct name {
    char text[128];
};

static int take_name(void *context, sqlite3_stmt *row)
{
    struct name *name = context;
    const char *text = (const char *)sqlite3_column_text(row, 0);

    snprintf(name->text, sizeof(name->text), "%s", text ? text : "");
    return 0;
}

/* A line that launches, by what is known of its calls: if it waits again and again, the GPU has
 * nothing queued, and no graph can take all of it. */
static int say_launching(struct forming *forming, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &forming->ledger->lanes[finding->lane];
    struct gv_ledger_calls calls;
    struct name where = {""};
    char *text = finding->title;
    size_t size = sizeof(finding->title);
    int error;

    if (forming->kernels > 0)
        gv_format_add(text, size, "; kernels take %.1f us on average",
                      (double)forming->kernel_ns / 1e3 / (double)forming->kernels);
    if (!finding->place)
        return 0;
    error =
        gv_ledger_calls_at(forming->ledger, forming->rows, lane->process, finding->place, &calls);
    if (error || calls.launches_here <= calls.launches / HERE_LEAST)
        return error;
    gv_format_add(text, size, ", and about %.0f %% of the launches are here",
                  100 * calls.launches_here / calls.launches);
    if (calls.waits_here <= calls.launches_here / WAITS_LEAST)
        return 0;
    gv_format_add(text, size, ", with a wait for the GPU for each %.1f of them",
                  calls.launches_here / calls.waits_here);
    if (calls.wait_place != finding->place)
        error = gv_database_each(forming->ledger->trace, sql_place_words, &calls.wait_place, 1,
                                 take_name, &where);
    if (*where.text)
        gv_format_add(text, size, " (%s)", where.text);
    snprintf(finding->fix, sizeof(finding->fix),
             "Wait for the GPU less often %s (.item(), .cpu(), a copy, synchronize()): leave "
             "the values on the GPU and read them together. Then launch less: merge operations, "
             "or use larger batches or fused kernels.",
             *where.text ? "there" : "here");
    return error;
}

/* What runs on the host at the program's line may be a library's. */
static int say_callee(struct forming *forming, struct gv_ledger_finding *finding, int64_t stack)
{
    struct name name = {""};
    int error = 0;

    switch (finding->what) {
    case GV_ACCOUNT_PYTHON:
    case GV_ACCOUNT_NATIVE:
    case GV_ACCOUNT_HOST_CODE:
    case GV_ACCOUNT_LAUNCHING:
    case GV_ACCOUNT_THREAD_LOCK:
    case GV_ACCOUNT_NETWORK:
    case GV_ACCOUNT_IO:
        error = gv_database_each(forming->ledger->trace, sql_callee, &stack, 1, take_name, &name);
        if (*name.text)
            gv_format_add(finding->title, sizeof(finding->title), ", mostly %s", name.text);
        return error;
    default:
        return 0;
    }
}

static int is_backward(const struct forming *forming, int64_t stack, bool *is)
{
    int64_t found = 0;
    int error = gv_database_number(forming->ledger->trace, sql_is_backward, &stack, 1, &found);

    *is = found != 0;
    return error;
}

/* A backward pass has no lines of its own: what it goes back through is what is launched elsewhere.
 */
static int say_backward(struct forming *forming, size_t first)
{
    struct gv_ledger_finding *list = forming->findings->list, *forward = NULL;
    struct name where = {""};
    int error = 0;

    for (size_t i = first; i < forming->findings->count; i++)
        if (list[i].what == GV_ACCOUNT_LAUNCHING && !list[i].is_backward && list[i].place &&
            (!forward || list[i].lost_ns > forward->lost_ns))
            forward = &list[i];
    for (size_t i = first; i < forming->findings->count && forward && !error; i++) {
        if (!list[i].is_backward || forward->lost_ns < list[i].lost_ns / FORWARD_LEAST)
            continue;
        error = gv_database_each(forming->ledger->trace, sql_place_words, &forward->place, 1,
                                 take_name, &where);
        gv_format_add(list[i].title, sizeof(list[i].title),
                      "; it is mostly the backward pass of %s", where.text);
    }
    return error;
}

/* The kernels of two processes take turns. */
static int say_sharing(struct forming *forming, struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &forming->ledger->lanes[finding->lane];
    const int64_t borders[] = {lane->begin_ns, lane->main_ns, lane->main_end_ns, lane->end_ns};
    const int64_t values[] = {lane->process, lane->device, borders[finding->phase],
                              borders[finding->phase + 1]};
    struct name other = {""};
    int error = gv_database_each(forming->ledger->trace, sql_sharing, values, 4, take_name, &other);

    if (error || !*other.text)
        return error;
    snprintf(finding->title, sizeof(finding->title),
             "work that was queued waited, and another process used the GPU, too: %s", other.text);
    snprintf(finding->fix, sizeof(finding->fix),
             "Kernels of two processes take turns: let it run alone on the GPU, and look again.");
    return 0;
}

/* Work on the CPU that a thread does while it has a lock, and others wait for that. */
static int say_lock(struct forming *forming, struct gv_ledger_finding *finding, uint32_t stack)
{
    const struct gv_ledger *ledger = forming->ledger;
    const struct gv_ledger_process *process =
        &ledger->processes[ledger->lanes[finding->lane].process];
    struct name where = {""};
    int error = 0;

    for (size_t i = 0; i < GV_LEDGER_WAITED_AT && !error; i++) {
        const struct gv_ledger_waited_at *at = &process->locked_at[i];
        const int64_t stacks[] = {at->stack, stack};
        if (!at->looks || at->looks < process->rounds)
            continue;
        error = gv_database_each(ledger->trace, sql_lock_around, stacks, 2, take_name, &where);
        if (error || !*where.text)
            continue;
        gv_format_add(finding->title, sizeof(finding->title),
                      ", while %.1f threads wait for a lock that this one has (%s)",
                      (double)at->looks / process->rounds, where.text);
        snprintf(finding->fix, sizeof(finding->fix),
                 "Do it without the lock, so that threads do it at the same time: hold the lock "
                 "only for what needs it.");
        break;
    }
    return error;
}

/* What it was, of the parts that one line claims. */
static int say(struct forming *forming, struct gv_ledger_finding *finding, const struct claim *most)
{
    const struct gv_ledger_lane *lane = &forming->ledger->lanes[finding->lane];
    const struct gv_account_words words = gv_account_say(finding->what);
    const struct gv_ledger_verdict *verdict =
        finding->verdict ? &forming->ledger->verdicts[finding->verdict - 1] : NULL;
    const char *detail = verdict ? verdict->detail : NULL;
    char time[64], now[64];
    int64_t api = most->row->api, main_ns = lane->main_end_ns - lane->main_ns;
    struct name name = {""};
    int error = api ? gv_database_each(forming->ledger->trace, "SELECT name FROM api WHERE id = ?",
                                       &api, 1, take_name, &name)
                    : 0;

    /* At the end of a program, its collector frees what is left. */
    snprintf(finding->fix, sizeof(finding->fix), "%s",
             finding->what == GV_ACCOUNT_GC && finding->phase == GV_LEDGER_END ? ""
             : verdict && verdict->beside < GV_ACCOUNTS ? gv_account_say(verdict->beside).advice
                                                        : words.advice);
    if (finding->what == GV_ACCOUNT_WAITS)
        snprintf(finding->title, sizeof(finding->title),
                 "%s%swaits for the GPU, then the GPU for the host: %s", name.text,
                 *name.text ? " " : "", gv_account_say(most->row->what).meaning);
    else if (detail || (*name.text && finding->what >= GV_ACCOUNTS))
        snprintf(finding->title, sizeof(finding->title), "%s%s%s", words.meaning,
                 detail ? ": " : ", in ", detail ? detail : name.text);
    else
        snprintf(finding->title, sizeof(finding->title), "%s%s", words.meaning,
                 finding->phase == GV_LEDGER_END ? ", at the program's end" : "");
    if (!error && !detail)
        error = say_callee(forming, finding, most->row->stack);
    if (!error && finding->what == GV_ACCOUNT_LAUNCHING)
        error = say_launching(forming, finding);
    if (!error && finding->what == GV_ACCOUNT_LAUNCHING)
        error = is_backward(forming, most->row->stack, &finding->is_backward);
    if (!error && finding->what == GV_ACCOUNT_QUEUED)
        error = say_sharing(forming, finding);
    if (!error && finding->what == GV_ACCOUNT_NATIVE &&
        finding->lost_ns >= finding->phase_ns / LOCKED_LEAST)
        error = say_lock(forming, finding, most->row->stack);
    if (!error)
        error = gv_ledger_again_say(forming->ledger, finding, api, most->stack);
    if (finding->saves_ns > main_ns / THEN_LEAST && finding->phase == GV_LEDGER_MAIN &&
        lane->steps) {
        say_lane(lane, main_ns - finding->saves_ns, finding->phase, time, sizeof(time));
        say_lane(lane, main_ns, finding->phase, now, sizeof(now));
        snprintf(finding->then, sizeof(finding->then), "at best %s a step instead of %s", time,
                 now);
    }
    return error;
}

static int form(struct forming *forming, uint32_t lane, enum gv_ledger_phase phase,
                int64_t phase_ns)
{
    struct gv_ledger_findings *findings = forming->findings;
    const struct gv_ledger_lane *of = &forming->ledger->lanes[lane];
    int64_t run_ns = of->end_ns - of->begin_ns;
    size_t first = findings->count;
    int error = 0;

    for (size_t made = 0; made < FINDINGS_OF_PHASE && !error; made++) {
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
                take(&finding, &forming->claims[i]);
        for (size_t i = 0; i < forming->claim_count && most->what == GV_ACCOUNT_FREEING; i++)
            if (!forming->claims[i].taken && (forming->claims[i].what == GV_ACCOUNT_FREEING ||
                                              forming->claims[i].what == GV_ACCOUNT_ALLOCATING))
                take(&finding, &forming->claims[i]);
        for (size_t i = 0; i < forming->claim_count && most->place; i++)
            if (!forming->claims[i].taken && forming->claims[i].place == most->place &&
                (most->row->borrowed || !forming->claims[i].row->borrowed))
                take(&finding, &forming->claims[i]);
        if (finding.lost_ns < phase_ns / LEAST_SHARE || finding.lost_ns < run_ns / LEAST_OF_RUN)
            break;
        finding.saves_ns =
            finding.what == GV_ACCOUNT_COPY_PAGEABLE ? finding.lost_ns / 3 * 2 : finding.lost_ns;
        error = gv_array_room(&findings->list, findings->count, &findings->room,
                              sizeof(*findings->list));
        if (!error)
            error = say(forming, &finding, most);
        if (!error)
            findings->list[findings->count++] = finding;
    }
    return error ? error : say_backward(forming, first);
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

    if (!has_loop)
        return 0;
    return finding->phase == GV_LEDGER_MAIN ? 0 : is_of_start(finding) ? 2 : 1;
}

/* By what is lost, as a line may save more than what is known of it: copies that nobody needs. What
 * no line changes much counts half; what may have cost the GPU nothing does not count. That the GPU
 * computes is more than what loses a seventh. */
static int64_t weight_of(const struct gv_ledger_finding *finding)
{
    switch (finding->what) {
    case GV_ACCOUNT_LATE_START:
    case GV_ACCOUNT_SLOW_STEPS:
    case GV_ACCOUNT_UNEXPECTED_WAITS:
        return 0;
    case GV_ACCOUNT_COMPUTING:
        return finding->phase_ns / COMPUTING_WEIGHT;
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
            forming.kernels = forming.kernel_ns = 0;
            for (size_t i = 0; i < rows->count && !error; i++) {
                const struct gv_ledger_row *row = &rows->rows[i];
                if (row->lane != lane || row->phase != phase)
                    continue;
                if (row->what >= GV_ACCOUNTS || gv_account_say(row->what).group != GV_ACCOUNT_ASIDE)
                    phase_ns += row->total_ns;
                if (is_lost(row))
                    error = add_claim(&forming, row);
                if (row->what == GV_ACCOUNT_KERNEL) {
                    forming.kernels += row->count;
                    forming.kernel_ns += row->total_ns;
                }
            }
            if (!error)
                error = form(&forming, lane, (enum gv_ledger_phase)phase, phase_ns);
        }
    }
    if (!error)
        error = gv_ledger_beside_find(ledger, rows, findings);
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
