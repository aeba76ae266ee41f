/*
 * How far one clock is from another, from moments of which it is known that they came in some
 * order.
 *
 * What the other clock shows at t is t + offset_ns + t * drift on the reference clock. Each bound
 * says that the difference between the two is at least, or at most, so much at a time of the other
 * clock. Any straight line within all bounds is possible. Of these, the fit is the one by
 * which a collective ends at the same time on both sides, as it nearly does; without ends, the
 * middle one. The error is how far the others are from it at most: it contains the truth, if the
 * clocks drift evenly and the bounds are true.
 */
#ifndef GV_ANALYSE_JOBS_CLOCK_FIT_H
#define GV_ANALYSE_JOBS_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

/* Clocks of machines drift less; the Linux kernel corrects them by at most so much. */
#define GV_CLOCK_DRIFT_MOST 500e-6

struct gv_clock_point {
    int64_t at_ns; /* on the other clock */
    int64_t difference_ns;
};

/* The bounds, of which only those that can count are kept. Zeroed at first. */
struct gv_clock_bounds {
    struct gv_clock_point *low, *high;
    struct gv_clock_point *ends;
    size_t low_count, low_room, high_count, high_room, ends_count, ends_room;
};

struct gv_clock_fit {
    double offset_ns, drift;
    int64_t error_ns;    /* between the two times for which it was asked */
    int64_t conflict_ns; /* by how much bounds had to be loosened, because they contradict; in the
                            error */
};

/* The difference is at least, at most, so much. In the order of time, each. 0 or -ENOMEM. */
int gv_clock_at_least(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns);
int gv_clock_at_most(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns);
/* Something ended on both sides at about the same time. In the order of time. 0 or -ENOMEM. */
int gv_clock_ended(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns);
void gv_clock_bounds_free(struct gv_clock_bounds *bounds);

/* For times of the other clock from from_ns to until_ns. 0; -ENODATA: one of both kinds is missing.
 */
int gv_clock_fit(const struct gv_clock_bounds *bounds, int64_t from_ns, int64_t until_ns,
                 struct gv_clock_fit *fit);

#endif
