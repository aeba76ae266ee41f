#include "report/collect/correlate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gv_correlate_call {
    uint32_t correlation; /* 0: the slot is empty */
    uint32_t call;        /* the lower half of its id, which differs for all remembered calls */
};

struct gv_correlate_waiting {
    int64_t row;   /* 0: its call is known */
    uint64_t next; /* number of an operation that has waited longer, in the same chain; 0: none */
    uint32_t correlation;
    uint32_t statement; /* writes the call into the row */
};

void gv_correlate_free(struct gv_correlate *correlate)
{
    free(correlate->calls);
    free(correlate->waiting);
    free(correlate->chains);
    memset(correlate, 0, sizeof(*correlate));
}

/* A chain is sorted by number: after an abandoned one, all are abandoned. */
static bool correlate_waits(const struct gv_correlate *correlate, uint64_t number)
{
    return number != 0 && correlate->waited - number < GV_CORRELATE_WAITING;
}

static int correlate_tell(struct gv_correlate *correlate, struct gv_database *database,
                          uint32_t correlation, int64_t call)
{
    uint64_t *link = &correlate->chains[correlation % GV_CORRELATE_WAITING];
    int error = 0;

    while (!error && correlate_waits(correlate, *link)) {
        struct gv_correlate_waiting *waiting = &correlate->waiting[*link % GV_CORRELATE_WAITING];

        if (waiting->correlation != correlation) {
            link = &waiting->next;
            continue;
        }
        error = gv_database_run(database, (enum gv_statement)waiting->statement, "ii", waiting->row,
                                call);
        waiting->row = 0;
        *link = waiting->next;
        correlate->outstanding--;
    }
    return error;
}

int gv_correlate_add(struct gv_correlate *correlate, struct gv_database *database,
                     uint32_t correlation, int64_t call)
{
    if (!correlate->calls)
        correlate->calls = calloc(GV_CORRELATE_CALLS, sizeof(*correlate->calls));
    if (!correlate->calls)
        return -ENOMEM;
    correlate->calls[correlation % GV_CORRELATE_CALLS] =
        (struct gv_correlate_call){.correlation = correlation, .call = (uint32_t)call};
    correlate->newest_call = call;
    return correlate->outstanding > 0 ? correlate_tell(correlate, database, correlation, call) : 0;
}

int64_t gv_correlate_find(const struct gv_correlate *correlate, uint32_t correlation)
{
    const struct gv_correlate_call *place;

    if (!correlate->calls || !correlation)
        return 0;
    place = &correlate->calls[correlation % GV_CORRELATE_CALLS];
    if (place->correlation != correlation)
        return 0;
    return correlate->newest_call - (uint32_t)((uint32_t)correlate->newest_call - place->call);
}

/* A later call has the slot: its own call came before, or is not read yet, or lost. */
static bool correlate_is_late(const struct gv_correlate *correlate, uint32_t correlation)
{
    uint32_t other =
        correlate->calls ? correlate->calls[correlation % GV_CORRELATE_CALLS].correlation : 0;

    return other != 0 && (int32_t)(other - correlation) > 0;
}

int gv_correlate_wait(struct gv_correlate *correlate, uint32_t correlation,
                      enum gv_statement statement, int64_t row)
{
    struct gv_correlate_waiting *waiting;
    uint64_t *chain;

    if (correlate_is_late(correlate, correlation)) {
        correlate->given_up = true;
        return 0;
    }
    if (!correlate->waiting)
        correlate->waiting = calloc(GV_CORRELATE_WAITING, sizeof(*correlate->waiting));
    if (!correlate->chains)
        correlate->chains = calloc(GV_CORRELATE_WAITING, sizeof(*correlate->chains));
    if (!correlate->waiting || !correlate->chains)
        return -ENOMEM;
    correlate->waited++;
    waiting = &correlate->waiting[correlate->waited % GV_CORRELATE_WAITING];
    chain = &correlate->chains[correlation % GV_CORRELATE_WAITING];
    if (waiting->row) {
        correlate->given_up = true;
        correlate->outstanding--;
    }
    correlate->outstanding++;
    *waiting = (struct gv_correlate_waiting){
        .row = row, .next = *chain, .correlation = correlation, .statement = (uint32_t)statement};
    *chain = correlate->waited;
    return 0;
}
