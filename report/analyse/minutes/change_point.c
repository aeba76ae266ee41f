#include "report/analyse/minutes/change_point.h"

#include <math.h>

/* That chance does it must be this unlikely. */
#define GV_CHANGE_POINT_CHANCE 0.01
/* A value counts at most as so many times the higher level. */
#define GV_CHANGE_POINT_OUTLIER 4

size_t gv_change_point_place(const double *values, size_t count, double before, double after)
{
    double middle = (before + after) / 2, most = GV_CHANGE_POINT_OUTLIER * fmax(before, after);
    double sum = 0, least = 0;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        double above = fmin(values[i], most) - middle;
        sum += after > before ? above : -above;
        if (sum < least) {
            least = sum;
            at = i + 1;
        }
    }
    return at;
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

size_t gv_change_point_find(const double *values, size_t count)
{
    double sum = 0, most = 0;
    size_t at = 0;

    if (count > GV_CHANGE_POINT_MOST)
        return 0;
    for (size_t i = 1; i < count;
         i++) { /* sum: pairs over the split that rise, less those that fall */
        for (size_t j = 0; j < count; j++)
            sum += (values[j] > values[i - 1]) - (values[j] < values[i - 1]);
        double weight = sum * sum / (double)(i * (count - i)); /* its variance is in proportion */
        if (weight > most) {
            most = weight;
            at = i;
        }
    }
    if (at == 0)
        return 0;
    double chance = gv_rank_test(values, at, values + at, count - at);
    if (chance * (double)(count - 1) >= GV_CHANGE_POINT_CHANCE)
        return 0;
    /* Of ranks alone, the highest of the lower values may be on the wrong side. */
    size_t place =
        gv_change_point_place(values, count, mean_of(values, at), mean_of(values + at, count - at));
    return place > 0 && place < count ? place : at;
}
