#include "report/analyse/jobs/clock_fit.h"

#include "report/store/array.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Halvings and thirds of an interval of drifts: far below a nanosecond in a year. */
#define STEPS 200

/* The bounds with times in seconds and differences from a middle: small numbers are exact. */
struct lines {
    const struct gv_clock_bounds *bounds;
    double at, difference; /* what is left out of them, in nanoseconds */
    double loose_ns;       /* by how much all bounds are loosened */
};

/* Whether b is above the line from a to c, or on it. */
static bool is_above(const struct gv_clock_point *a, const struct gv_clock_point *b,
                     const struct gv_clock_point *c)
{
    return ((long double)b->difference_ns - (long double)a->difference_ns) *
               ((long double)c->at_ns - (long double)a->at_ns) >=
           ((long double)c->difference_ns - (long double)a->difference_ns) *
               ((long double)b->at_ns - (long double)a->at_ns);
}

/* Of bounds from below only the corners of their hull can count: sign is 1; from above -1. */
static int add(struct gv_clock_point **points, size_t *count, size_t *room, int sign,
               struct gv_clock_point point)
{
    struct gv_clock_point *p = *points;

    if (*count > 0 && p[*count - 1].at_ns == point.at_ns) { /* only the tighter one counts */
        if (sign * (point.difference_ns - p[*count - 1].difference_ns) <= 0)
            return 0;
        --*count;
    }
    while (*count >= 2 && (sign > 0 ? !is_above(&p[*count - 2], &p[*count - 1], &point)
                                    : is_above(&p[*count - 2], &p[*count - 1], &point)))
        --*count;
    int error = gv_array_room(points, *count, room, sizeof(**points));
    if (!error)
        (*points)[(*count)++] = point;
    return error;
}

int gv_clock_at_least(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns)
{
    return add(&bounds->low, &bounds->low_count, &bounds->low_room, 1,
               (struct gv_clock_point){at_ns, difference_ns});
}

int gv_clock_at_most(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns)
{
    return add(&bounds->high, &bounds->high_count, &bounds->high_room, -1,
               (struct gv_clock_point){at_ns, difference_ns});
}

int gv_clock_ended(struct gv_clock_bounds *bounds, int64_t at_ns, int64_t difference_ns)
{
    int error =
        gv_array_room(&bounds->ends, bounds->ends_count, &bounds->ends_room, sizeof(*bounds->ends));

    if (!error)
        bounds->ends[bounds->ends_count++] = (struct gv_clock_point){at_ns, difference_ns};
    return error;
}

void gv_clock_bounds_free(struct gv_clock_bounds *bounds)
{
    free(bounds->ends);
    free(bounds->low);
    free(bounds->high);
    *bounds = (struct gv_clock_bounds){0};
}

/* The least that a line of this drift must be, and the most that it may be, at the middle time. */
static void limits(const struct lines *lines, double drift, double *least, double *most)
{
    const struct gv_clock_bounds *bounds = lines->bounds;

    *least = -INFINITY;
    *most = INFINITY;
    for (size_t i = 0; i < bounds->low_count; i++)
        *least =
            fmax(*least, (double)bounds->low[i].difference_ns - lines->difference -
                             lines->loose_ns - drift * ((double)bounds->low[i].at_ns - lines->at));
    for (size_t i = 0; i < bounds->high_count; i++)
        *most =
            fmin(*most, (double)bounds->high[i].difference_ns - lines->difference +
                            lines->loose_ns - drift * ((double)bounds->high[i].at_ns - lines->at));
}

/* How much room lines of this drift have; negative: none keeps all bounds. */
static double room(const struct lines *lines, double drift)
{
    double least, most;

    limits(lines, drift, &least, &most);
    return most - least;
}

/* The drift with the most room, which has one peak. */
static double roomiest(const struct lines *lines)
{
    double low = -GV_CLOCK_DRIFT_MOST, high = GV_CLOCK_DRIFT_MOST;

    for (int i = 0; i < STEPS; i++) {
        double one = low + (high - low) / 3, other = high - (high - low) / 3;
        if (room(lines, one) < room(lines, other))
            low = one;
        else
            high = other;
    }
    return (low + high) / 2;
}

/* The drift between `inside`, which has room, and `outside` where room ends. */
static double edge(const struct lines *lines, double inside, double outside)
{
    if (room(lines, outside) >= 0)
        return outside;
    for (int i = 0; i < STEPS; i++) {
        double middle = (inside + outside) / 2;
        if (room(lines, middle) >= 0)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

/* The most that any line which keeps the bounds is at a time; or, with sign -1, the least,
 * negative. */
static double extreme(const struct lines *lines, double low, double high, double at, int sign)
{
    double values[2], least, most;

    for (int i = 0; i < STEPS; i++) {
        const double drifts[2] = {low + (high - low) / 3, high - (high - low) / 3};
        for (int side = 0; side < 2; side++) {
            limits(lines, drifts[side], &least, &most);
            values[side] = sign * ((sign > 0 ? most : least) + drifts[side] * (at - lines->at));
        }
        if (values[0] < values[1])
            low = drifts[0];
        else
            high = drifts[1];
    }
    limits(lines, (low + high) / 2, &least, &most);
    return sign * ((sign > 0 ? most : least) + (low + high) / 2 * (at - lines->at));
}

static int compare_numbers(const void *left, const void *right)
{
    const double *one = left, *other = right;

    return *one < *other ? -1 : *one > *other;
}

/* The median of what the ends differ from a line, from one of them to another. */
static double median_of(const struct lines *lines, double drift, size_t from, size_t to,
                        double *room)
{
    for (size_t i = from; i < to; i++)
        room[i - from] = (double)lines->bounds->ends[i].difference_ns - lines->difference -
                         drift * ((double)lines->bounds->ends[i].at_ns - lines->at);
    qsort(room, to - from, sizeof(*room), compare_numbers);
    return room[(to - from) / 2];
}

/* The line by which things end at the same time, at two times: from the medians of the first and
 * the last third, which a few late ends do not move. */
static int fit_ends(const struct lines *lines, double low, double high, const double ends[2],
                    double middles[2])
{
    const struct gv_clock_bounds *bounds = lines->bounds;
    size_t count = bounds->ends_count, third = count / 3;
    double *room = calloc(count, sizeof(*room));
    /* A few ends, or such that are close together, do not tell it. */
    double drift = ends[1] > ends[0] ? (middles[1] - middles[0]) / (ends[1] - ends[0]) : low;

    if (!room)
        return -ENOMEM;
    if (third > 0) {
        double first = median_of(lines, 0, 0, third, room);
        double last = median_of(lines, 0, count - third, count, room);
        const size_t half = third / 2;
        double apart =
            (double)bounds->ends[count - 1 - half].at_ns - (double)bounds->ends[half].at_ns;
        double told = apart > 0 ? (last - first) / apart : drift;
        drift = told >= low && told <= high ? told : drift;
    }
    double middle = median_of(lines, drift, 0, count, room);
    for (int i = 0; i < 2; i++)
        middles[i] = middle + drift * (ends[i] - lines->at);
    free(room);
    return 0;
}

int gv_clock_fit(const struct gv_clock_bounds *bounds, int64_t from_ns, int64_t until_ns,
                 struct gv_clock_fit *fit)
{
    const double ends[2] = {(double)from_ns, (double)until_ns};
    struct lines lines = {.bounds = bounds};
    double least[2], most[2], middles[2], error = 0;
    int result = 0;

    if (bounds->low_count == 0 || bounds->high_count == 0)
        return -ENODATA;
    const struct gv_clock_point *some = &bounds->low[bounds->low_count / 2];
    lines.at = (double)some->at_ns;
    lines.difference = (double)some->difference_ns;
    double best = roomiest(&lines), spare = room(&lines, best);
    if (spare < 0) /* the clocks did not drift evenly, or a time is wrong */
        lines.loose_ns = -spare / 2 + 1;
    double low = edge(&lines, best, -GV_CLOCK_DRIFT_MOST);
    double high = edge(&lines, best, GV_CLOCK_DRIFT_MOST);
    for (int i = 0; i < 2; i++) {
        most[i] = extreme(&lines, low, high, ends[i], 1);
        least[i] = -extreme(&lines, low, high, ends[i], -1);
        middles[i] = (most[i] + least[i]) / 2;
    }
    if (bounds->ends_count > 0)
        result = fit_ends(&lines, low, high, ends, middles);
    if (result)
        return result;
    for (int i = 0; i < 2; i++) {
        middles[i] = fmax(least[i], fmin(most[i], middles[i]));
        error = fmax(error, fmax(most[i] - middles[i], middles[i] - least[i]));
    }
    fit->drift = until_ns > from_ns ? (middles[1] - middles[0]) / (ends[1] - ends[0]) : best;
    fit->offset_ns = lines.difference + middles[0] - fit->drift * ends[0];
    fit->conflict_ns = (int64_t)ceil(lines.loose_ns);
    fit->error_ns = (int64_t)ceil(error + lines.loose_ns) + 1;
    return 0;
}
