/* What the looks at threads say, in the order of time. */
#include "report/analyse/ledger/run.h"

#include "report/analyse/idle/looks.h"
#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct taking {
    struct gv_ledger *ledger;
    int64_t taken;
};

static int verdict_of(struct gv_ledger *ledger, const struct gv_idle_look *look)
{
    struct gv_ledger_verdict *verdict;

    while (ledger->verdict_count <= look->verdict) {
        int error = gv_array_room(&ledger->verdicts, ledger->verdict_count, &ledger->verdict_room,
                                  sizeof(*ledger->verdicts));
        if (error)
            return error;
        ledger->verdicts[ledger->verdict_count++] =
            (struct gv_ledger_verdict){.what = GV_ACCOUNT_UNKNOWN};
    }
    verdict = &ledger->verdicts[look->verdict];
    verdict->what = look->what;
    verdict->beside = look->beside;
    verdict->times = look->times;
    verdict->threads = look->threads;
    verdict->lock = look->lock;
    verdict->cpus = look->cpus;
    if (!look->detail || (verdict->detail && strcmp(verdict->detail, look->detail) == 0))
        return 0;
    free(verdict->detail);
    verdict->detail = strdup(look->detail);
    return verdict->detail ? 0 : -ENOMEM;
}

static int take_look(void *context, const struct gv_idle_look *look)
{
    struct taking *taking = context;
    const struct gv_ledger_look known = {
        .key = {look->at_ns, taking->taken++, look->at_ns},
        .thread =
            look->thread > 0 && look->thread < UINT32_MAX ? (uint32_t)look->thread : UINT32_MAX,
        .stack = look->stack > 0 && look->stack <= UINT32_MAX ? (uint32_t)look->stack : 0,
        .verdict = look->verdict,
    };
    int error = verdict_of(taking->ledger, look);

    return error ? error : gv_pass_sorted_add(taking->ledger->looks, &known);
}

int gv_ledger_looks_read(struct gv_ledger *ledger)
{
    struct taking taking = {.ledger = ledger};
    struct gv_idle_looks *looks;
    int64_t until = 0;
    int error = gv_idle_looks_open(ledger->trace, &looks);

    if (!error)
        error = gv_pass_sorted_open(&ledger->looks, sizeof(struct gv_ledger_look));
    if (!error)
        error = gv_database_number(ledger->trace, sql_looks_end, &until, 1, &until);
    for (int64_t after = 0; after < until && !error;) {
        error = gv_idle_looks_read(looks, after, until, take_look, &taking);
        after = until;
        if (!error)
            error = gv_database_number(ledger->trace, sql_looks_end, &after, 1, &until);
    }
    gv_idle_looks_close(looks);
    return error;
}

/* Loading code, allocating and launching are a part of these, and so is waiting for them. */
static bool is_purpose(uint32_t what)
{
    return what == GV_ACCOUNT_COMPILE || what == GV_ACCOUNT_BENCHMARK ||
           what == GV_ACCOUNT_IMPORT || what == GV_ACCOUNT_INSTANTIATING ||
           what == GV_ACCOUNT_NAN_CHECK;
}

static int take_check(void *context, sqlite3_stmt *row)
{
    if (sqlite3_column_int(row, 0))
        *(unsigned *)context = GV_ACCOUNT_NAN_CHECK;
    return 0;
}

int gv_ledger_purpose(struct gv_ledger *ledger, uint32_t stack, uint32_t *what)
{
    const struct gv_key key = {{stack, 0, 0}};
    int64_t known = stack ? gv_key_map_find(&ledger->stack_reasons, &key) : 1 + GV_ACCOUNTS;
    unsigned reason = (unsigned)(known - 1);
    const int64_t id = stack;
    int error = 0;

    if (!known && !ledger->frames)
        error = gv_idle_frames_prepare(ledger->trace, &ledger->frames);
    if (!known && !error && !ledger->checks_gradient)
        error = gv_database_compile(ledger->trace, sql_checks_gradient, &ledger->checks_gradient);
    if (!known && !error) {
        error = gv_idle_stack_account(ledger->frames, stack, &reason);
        if (!error)
            error = gv_database_rows(ledger->checks_gradient, &id, 1, take_check, &reason);
        if (!error)
            error = gv_key_map_add(&ledger->stack_reasons, &key, reason + 1);
    }
    if (!error && is_purpose(reason))
        *what = reason;
    return error;
}
