#include "report/correlate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gv_correlate_call {
    int64_t call; /* 0: the place is empty */
    uint32_t correlation;
};

void gv_correlate_free(struct gv_correlate *correlate)
{
    free(correlate->calls);
    free(correlate->list);
    gv_key_map_free(&correlate->waiting);
    memset(correlate, 0, sizeof(*correlate));
}

static int gv_correlate_tell(struct gv_correlate *correlate, struct gv_database *database,
                             uint32_t correlation, int64_t call)
{
    struct gv_key key = {.part = {correlation}};
    int error = 0;

    for (int64_t at = gv_key_map_find(&correlate->waiting, &key); at > 0 && !error;) {
        struct gv_correlate_waiting *waiting = &correlate->list[at];

        if (waiting->row) {
            error = gv_database_run(database, waiting->statement, "ii", waiting->row, call);
            correlate->outstanding--;
        }
        waiting->row = 0;
        at = waiting->next;
    }
    /* Nobody waits: the list and its map begin anew, rather than grow with the program. */
    if (correlate->outstanding == 0) {
        gv_key_map_free(&correlate->waiting);
        correlate->used = 0;
    }
    return error;
}

int gv_correlate_add(struct gv_correlate *correlate, struct gv_database *database,
                     uint32_t correlation, int64_t call)
{
    struct gv_correlate_call *place;

    if (!correlate->calls)
        correlate->calls = calloc(GV_CORRELATE_CALLS, sizeof(*correlate->calls));
    if (!correlate->calls)
        return -ENOMEM;
    place = &correlate->calls[correlation % GV_CORRELATE_CALLS];
    place->correlation = correlation;
    place->call = call;
    return correlate->used > 0 ? gv_correlate_tell(correlate, database, correlation, call) : 0;
}

int64_t gv_correlate_find(const struct gv_correlate *correlate, uint32_t correlation)
{
    const struct gv_correlate_call *place;

    if (!correlate->calls || !correlation)
        return 0;
    place = &correlate->calls[correlation % GV_CORRELATE_CALLS];
    return place->correlation == correlation ? place->call : 0;
}

int gv_correlate_wait(struct gv_correlate *correlate, uint32_t correlation,
                      enum gv_statement statement, int64_t row)
{
    struct gv_key key = {.part = {correlation}};
    int64_t first;

    if (correlate->used + 1 >= correlate->room) {
        int64_t room = correlate->room ? correlate->room * 2 : 64;
        void *larger = realloc(correlate->list, (size_t)room * sizeof(*correlate->list));
        if (!larger)
            return -ENOMEM;
        correlate->list = larger;
        correlate->room = room;
    }
    first = gv_key_map_find(&correlate->waiting, &key);
    correlate->used++;
    correlate->outstanding++;
    correlate->list[correlate->used] =
        (struct gv_correlate_waiting){.statement = statement, .row = row};
    if (!first)
        return gv_key_map_add(&correlate->waiting, &key, correlate->used);
    /* Behind the first one, whose place the map knows. */
    correlate->list[correlate->used].next = correlate->list[first].next;
    correlate->list[first].next = correlate->used;
    return 0;
}
