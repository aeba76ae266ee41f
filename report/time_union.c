#include "report/time_union.h"

#include "report/time_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int gv_time_union_by_start(const void *left, const void *right)
{
    const struct gv_time_stretch *one = left, *other = right;

    return one->start_ns < other->start_ns ? -1 : one->start_ns > other->start_ns;
}

static int gv_time_union_by_length(const void *left, const void *right)
{
    const struct gv_time_stretch *one = left, *other = right;
    int64_t one_ns = gv_time_difference(one->end_ns, one->start_ns);
    int64_t other_ns = gv_time_difference(other->end_ns, other->start_ns);

    return one_ns > other_ns ? -1 : one_ns < other_ns;
}

/* Afterwards they are in order, and none touches another. */
static void gv_time_union_merge(struct gv_time_union *all)
{
    size_t kept = 0;

    if (all->count == 0)
        return;
    qsort(all->stretches, all->count, sizeof(*all->stretches), gv_time_union_by_start);
    for (size_t i = 1; i < all->count; i++) {
        struct gv_time_stretch *last = &all->stretches[kept];
        const struct gv_time_stretch *next = &all->stretches[i];
        if (next->start_ns > last->end_ns)
            all->stretches[++kept] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    all->count = kept + 1;
}

static int gv_time_union_make_room(struct gv_time_union *all)
{
    size_t room = all->room ? 2 * all->room : 64;

    if (all->room == GV_TIME_UNION_MOST) {
        gv_time_union_merge(all);
        if (all->count <= GV_TIME_UNION_MOST / 2)
            return 0;
        qsort(all->stretches, all->count, sizeof(*all->stretches), gv_time_union_by_length);
        all->count = GV_TIME_UNION_MOST / 2;
        return 0;
    }
    struct gv_time_stretch *stretches = realloc(all->stretches, room * sizeof(*stretches));
    if (!stretches)
        return -ENOMEM;
    all->stretches = stretches;
    all->room = room;
    return 0;
}

int gv_time_union_add(struct gv_time_union *all, int64_t start_ns, int64_t end_ns)
{
    int error = 0;

    if (end_ns <= start_ns)
        return 0;
    if (all->count == all->room)
        error = gv_time_union_make_room(all);
    if (!error)
        all->stretches[all->count++] = (struct gv_time_stretch){start_ns, end_ns};
    return error;
}

int gv_time_union_add_all(struct gv_time_union *all, const struct gv_time_union *other)
{
    int error = 0;

    for (size_t i = 0; i < other->count && !error; i++)
        error = gv_time_union_add(all, other->stretches[i].start_ns, other->stretches[i].end_ns);
    return error;
}

int64_t gv_time_union_ns(struct gv_time_union *all)
{
    int64_t sum_ns = 0;

    gv_time_union_merge(all);
    for (size_t i = 0; i < all->count; i++)
        sum_ns = gv_time_sum(
            sum_ns, gv_time_difference(all->stretches[i].end_ns, all->stretches[i].start_ns));
    return sum_ns;
}

void gv_time_union_free(struct gv_time_union *all)
{
    free(all->stretches);
    memset(all, 0, sizeof(*all));
}
