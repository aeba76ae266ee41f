/*
 * How long at least one of many stretches of time went on: those that overlap count once. The
 * memory is bounded: of more than fit, the shortest are forgotten.
 */
#ifndef GV_REPORT_TIME_UNION_H
#define GV_REPORT_TIME_UNION_H

#include <stddef.h>
#include <stdint.h>

#define GV_TIME_UNION_MOST 65536u

struct gv_time_stretch {
    int64_t start_ns, end_ns;
};

/* All zero: empty. */
struct gv_time_union {
    struct gv_time_stretch *stretches;
    size_t count, room;
};

/* 0 or -ENOMEM. */
int gv_time_union_add(struct gv_time_union *all, int64_t start_ns, int64_t end_ns);
/* Adds those of another. */
int gv_time_union_add_all(struct gv_time_union *all, const struct gv_time_union *other);
int64_t gv_time_union_ns(struct gv_time_union *all);
void gv_time_union_free(struct gv_time_union *all);

#endif
