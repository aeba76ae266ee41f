/* What the host does again in each step, by its stack or its call: again.def. */
#include "report/analyse/ledger/findings.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/store/database.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum { FRAME, CALL, KIND, MANY } by;
    const char *pattern, *does, *advice;
} works[] = {
#define GV_AGAIN(by, pattern, does, advice) {by, pattern, does, advice},
#include "report/analyse/ledger/again.def"
};
#define MANY_LEAST   10 /* a step */
#define PIECES_LEAST 20 /* of lost time, without steps: of what a library does again */
#define TENTHS_LEAST 4  /* of the main phase: what begins a loop is not what it does again */
#define WORKS        (sizeof(works) / sizeof(works[0]))

struct search {
    size_t found; /* the first that applies; WORKS: none */
    int64_t calls;
    char call[64];
};

/* Of the call: its kind; and of each frame: its function. */
static int take_word(void *context, sqlite3_stmt *row)
{
    struct search *search = context;
    const char *word = (const char *)sqlite3_column_text(row, 0);
    const char *call = (const char *)sqlite3_column_text(row, 2);

    for (size_t i = 0; i < search->found && word; i++) {
        bool is_of_call = works[i].by != FRAME;
        const char *of = works[i].by == CALL ? call : word;
        if (is_of_call == (call != NULL) && fnmatch(works[i].pattern, of, 0) == 0)
            search->found = i;
    }
    if (call) {
        search->calls = sqlite3_column_int64(row, 1);
        snprintf(search->call, sizeof(search->call), "%s", call);
    }
    return 0;
}

/* Time in a call, not before it. */
static bool is_in_call(uint32_t what)
{
    return what >= GV_ACCOUNTS || what == GV_ACCOUNT_ALLOCATING || what == GV_ACCOUNT_FREEING ||
           what == GV_ACCOUNT_LOADING || what == GV_ACCOUNT_INSTANTIATING ||
           what == GV_ACCOUNT_STARTING || what == GV_ACCOUNT_LAUNCHING ||
           what == GV_ACCOUNT_COPYING;
}

int gv_ledger_again_say(struct gv_ledger *ledger, struct gv_ledger_finding *finding, int64_t api,
                        int64_t stack)
{
    const int64_t values[] = {api, stack}, steps = ledger->lanes[finding->lane].steps;
    struct search search = {.found = WORKS};
    int error = 0;

    /* Of several lanes, it is not known whose calls they were. */
    if (!api || ledger->lane_count > 1 || finding->phase != GV_LEDGER_MAIN ||
        !is_in_call(finding->what))
        return 0;
    error = gv_database_each(ledger->trace, sql_again, values, 2, take_word, &search);
    if (error || search.found == WORKS || 2 * search.calls < steps ||
        gv_ledger_api(ledger, (uint32_t)api, 8) <
            (steps && steps < TENTHS_LEAST ? steps : TENTHS_LEAST) ||
        (!steps && (works[search.found].by != FRAME || finding->count < PIECES_LEAST)) ||
        (works[search.found].by == MANY &&
         (search.calls < MANY_LEAST * steps || finding->count < MANY_LEAST * steps)))
        return error;
    if (steps)
        snprintf(finding->title, sizeof(finding->title), "%s: %.*f %s a step",
                 works[search.found].does, search.calls < 10 * steps ? 1 : 0,
                 (double)search.calls / (double)steps, search.call);
    else
        snprintf(finding->title, sizeof(finding->title), "%s and again", works[search.found].does);
    snprintf(finding->fix, sizeof(finding->fix), "%s", works[search.found].advice);
    finding->keeps_fix = true;
    finding->library_work = works[search.found].by == FRAME ? works[search.found].does : NULL;
    return 0;
}
