#include "report/commands/diff/diff.h"

#include "report/commands_diff_keys.inc"
#include "report/show/format.h"

#include <inttypes.h>
#include <stdio.h>

/* From here on "times" reads better than a percentage. */
#define GV_DIFF_MANY_TIMES 10.0
/* From here on the number is meaningless: there was almost nothing before. */
#define GV_DIFF_FAR_MORE 100.0
/* Larger doubles do not fit into int64_t. */
#define GV_DIFF_WHOLE_MOST 9.2e18

int64_t gv_diff_whole(double value)
{
    if (value >= GV_DIFF_WHOLE_MOST)
        return INT64_MAX;
    if (value <= -GV_DIFF_WHOLE_MOST)
        return INT64_MIN;
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

int gv_diff_each(const struct gv_diff *diff, size_t side, enum gv_diff_which which, int64_t most,
                 gv_database_take *take, void *context)
{
    static const char *const queries[] = {
        [GV_DIFF_KEYS] = sql_keys, [GV_DIFF_FINDINGS] = sql_named, [GV_DIFF_FACTS] = sql_facts};
    const int64_t first = side ? (int64_t)diff->counts[0] : 0;
    const int64_t values[] = {first, first + (int64_t)diff->counts[side], most};

    return gv_database_each(diff->values, queries[which], values, 3, take, context);
}

static const char *diff_say(char out[GV_FORMAT_BYTES], const struct gv_diff_change *change,
                            double value)
{
    switch (change->unit) {
    case GV_DIFF_NS:
        return gv_format_duration(out, gv_diff_whole(value));
    case GV_DIFF_BYTES:
        return gv_format_size(out, gv_diff_whole(value));
    default:
        if (change->times > 0 && value < 100)
            snprintf(out, GV_FORMAT_BYTES, "%.3g", value);
        else
            snprintf(out, GV_FORMAT_BYTES, "%" PRId64, gv_diff_whole(value));
        return out;
    }
}

const char *gv_diff_say_range(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change,
                              size_t side)
{
    const struct gv_diff_range *range = &change->sides[side];
    char least[GV_FORMAT_BYTES], middle[GV_FORMAT_BYTES], most[GV_FORMAT_BYTES];

    diff_say(middle, change, range->middle);
    if (range->least < range->most)
        snprintf(out, GV_DIFF_TEXT_BYTES, "%s (%s to %s)", middle,
                 diff_say(least, change, range->least), diff_say(most, change, range->most));
    else
        snprintf(out, GV_DIFF_TEXT_BYTES, "%s", middle);
    return out;
}

const char *gv_diff_say_change(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change)
{
    double size = change->change < 0 ? -change->change : change->change;
    char text[GV_FORMAT_BYTES];

    snprintf(out, GV_DIFF_TEXT_BYTES, "%s%s", change->change < 0 ? "-" : "+",
             diff_say(text, change, size));
    return out;
}

const char *gv_diff_say_ratio(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change)
{
    double before = change->sides[0].middle, after = change->sides[1].middle;

    if (before == 0)
        snprintf(out, GV_DIFF_TEXT_BYTES, "new");
    else if (after == 0)
        snprintf(out, GV_DIFF_TEXT_BYTES, "gone");
    else if (before < 0 || after < 0)
        snprintf(out, GV_DIFF_TEXT_BYTES, "-");
    else if (after >= before * GV_DIFF_FAR_MORE)
        snprintf(out, GV_DIFF_TEXT_BYTES, "far more");
    else if (after >= before * GV_DIFF_MANY_TIMES)
        snprintf(out, GV_DIFF_TEXT_BYTES, "%.1f times", after / before);
    else
        snprintf(out, GV_DIFF_TEXT_BYTES, "%+.1f %%", (after - before) / before * 100);
    return out;
}

const char *gv_diff_say_noise(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change)
{
    if (change->p >= 0)
        snprintf(out, GV_DIFF_TEXT_BYTES, "%s, p %.2g", change->more ? "yes" : "no", change->p);
    else
        snprintf(out, GV_DIFF_TEXT_BYTES, "%s", change->more ? "perhaps" : "no");
    return out;
}

/* The chance that ranges do not overlap: 2 of all ways to deal the traces. */
static const char *diff_say_chance(char out[GV_FORMAT_BYTES], double chance)
{
    int64_t ways = gv_diff_whole(2 / chance);

    if (ways == 4)
        return "half of the time";
    if (ways % 2 == 0)
        snprintf(out, GV_FORMAT_BYTES, "1 time in %" PRId64, ways / 2);
    else
        snprintf(out, GV_FORMAT_BYTES, "2 times in %" PRId64, ways);
    return out;
}

void gv_diff_say_test(char *out, size_t size, const struct gv_diff *diff)
{
    char chance[GV_FORMAT_BYTES];

    switch (diff->test) {
    case GV_DIFF_TEST_NONE:
        snprintf(out, size,
                 "One trace per side, so run-to-run noise is unknown. Compare several:"
                 " gpuverify diff BEFORE... -- AFTER...");
        break;
    case GV_DIFF_TEST_RANGES:
        snprintf(
            out, size,
            "%zu and %zu traces: values are medians, with their ranges. That is too few to tell"
            " a change from noise: ranges that do not overlap happen by chance %s. 4 and 4 are"
            " enough.",
            diff->counts[0], diff->counts[1], diff_say_chance(chance, diff->chance));
        break;
    default:
        snprintf(
            out, size,
            "%zu and %zu traces: values are medians, with their ranges. More than noise means a"
            " p of 5 %% or less in Mann and Whitney's rank test: of a hundred unchanged things,"
            " five look changed.",
            diff->counts[0], diff->counts[1]);
        break;
    }
}
