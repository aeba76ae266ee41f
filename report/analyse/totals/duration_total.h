/*
 * Count, sum, minimum, maximum and median of many durations, in constant memory. The median is
 * exact below a microsecond and right to a thousandth above. Reading the durations a second time
 * makes it exact.
 */
#ifndef GV_ANALYSE_TOTALS_DURATION_TOTAL_H
#define GV_ANALYSE_TOTALS_DURATION_TOTAL_H

#include <stddef.h>
#include <stdint.h>

#define GV_DURATION_OCTAVES 54u

struct gv_duration_total {
    int64_t count;
    int64_t total_ns;
    int64_t min_ns;
    int64_t max_ns;
    /* Counts by length, in blocks of neighbours, allocated when needed: there may be many
     * totals, most of them with few different lengths. */
    uint64_t **octaves[GV_DURATION_OCTAVES];
    /* The second time: the durations around the median, sorted, and the median's rank among
     * them. */
    struct gv_duration_count {
        int64_t duration_ns, count;
    } * near;
    size_t near_count, near_room;
    int64_t near_from_ns, near_to_ns, near_rank;
};

/* Adds a duration `count` times. Starts from all zeros. A negative duration counts as 0. 0 or
 * -ENOMEM. */
int gv_duration_total_add(struct gv_duration_total *total, int64_t duration_ns, int64_t count);
/* The lower one of an even count; 0 if empty. */
int64_t gv_duration_total_median_ns(const struct gv_duration_total *total);
/* Call it after the last one was added, then pass all durations again. 0 or -ENOMEM. */
void gv_duration_total_reread(struct gv_duration_total *total);
int gv_duration_total_again(struct gv_duration_total *total, int64_t duration_ns, int64_t count);
void gv_duration_total_free(struct gv_duration_total *total);

#endif
