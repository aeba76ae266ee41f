/* --explain-verdict: the two tables of the verdict, in words. */
#include "report/analyse/verdict/verdict.h"

#include "report/show/format.h"
#include "report/show/text_lines.h"

#include <inttypes.h>

enum gv_limit_unit { GV_LIMIT_COUNT, GV_LIMIT_NS, GV_LIMIT_SHARE };

static const struct gv_limit_row {
    enum gv_verdict_class class;
    int64_t value;
    enum gv_limit_unit unit;
    const char *before, *after;
} gv_limit_rows[] = {
#define GV_VERDICT_LIMIT(class, name, value, unit, before, after)                                  \
    {GV_VERDICT_##class, value, GV_LIMIT_##unit, before, after},
#include "report/analyse/verdict/limits.def"
};

static void explain_limit(FILE *out, const struct gv_limit_row *row, int columns)
{
    char value[GV_FORMAT_BYTES], text[GV_VERDICT_TEXT_BYTES];

    if (row->unit == GV_LIMIT_NS)
        gv_format_duration(value, row->value);
    else if (row->unit == GV_LIMIT_SHARE)
        snprintf(value, sizeof(value), "%g %%", (double)row->value / 10);
    else
        snprintf(value, sizeof(value), "%" PRId64, row->value);
    snprintf(text, sizeof(text), "%s%s%s", row->before, value, row->after);
    gv_text_lines(out, 10, "  and     ", text, columns);
}

void gv_verdict_explain(FILE *out, int columns)
{
    char text[GV_VERDICT_TEXT_BYTES];

    for (size_t i = 0; i < GV_VERDICT_CLASSES; i++) {
        enum gv_verdict_class class = (enum gv_verdict_class)i;
        double threshold = gv_verdict_threshold(class);
        fprintf(out, "%s\n", gv_verdict_name(class));
        gv_text_lines(out, 2, "", gv_verdict_meaning(class), columns);
        if (threshold > 0) {
            snprintf(text, sizeof(text), class == GV_VERDICT_TRANSFER ? "%.1f: %s" : "%.0f %%: %s",
                     class == GV_VERDICT_TRANSFER ? threshold : threshold * 100,
                     gv_verdict_of(class));
            gv_text_lines(out, 10, "  from    ", text, columns);
        }
        for (size_t j = 0; j < sizeof(gv_limit_rows) / sizeof(gv_limit_rows[0]); j++)
            if (gv_limit_rows[j].class == class)
                explain_limit(out, &gv_limit_rows[j], columns);
        gv_text_lines(out, 10, "  next    ", gv_verdict_next(class), columns);
    }
    fprintf(out, "\nThe %u findings that concern most of the run's time are shown.\n",
            GV_VERDICT_TOLD);
}
