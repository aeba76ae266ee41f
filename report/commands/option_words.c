#include "report/commands/option_words.h"

#include "report/commands/query/query.h"
#include "report/commands/report/report.h"
#include "report/store/schema_text.h"

#include <string.h>

#define GV_WORDS_NAME 64

static const char gv_words_causes[] = ""
#define GV_CAUSE(name, text, ...) " " text
#include "report/analyse/stalls/causes.def"
    ;

static const char gv_words_areas[] = ""
#define GV_DIFF_AREA(name, title, what, counted, kernels) " " #name
#include "report/commands/diff/areas.def"
    ;

const char *gv_option_words(enum gv_option_id option)
{
    switch (option) {
    case GV_OPTION_report_section:
        return gv_report_section_names();
    case GV_OPTION_diff_section:
        return gv_words_areas;
    case GV_OPTION_stalls_cause:
    case GV_OPTION_check_no_stall:
        return gv_words_causes;
    default:
        return NULL;
    }
}

struct gv_words_view {
    FILE *out;
    char last[GV_WORDS_NAME];
};

static void gv_words_put_view(const struct gv_schema_column *column, void *context)
{
    struct gv_words_view *view = context;

    if (strcmp(view->last, column->object) == 0)
        return;
    fprintf(view->out, "%s%s", view->last[0] ? " " : "", column->object);
    snprintf(view->last, sizeof(view->last), "%s", column->object);
}

void gv_operand_words_print(FILE *out, enum gv_command_id command)
{
    struct gv_words_view view = {.out = out};

    if (command == GV_COMMAND_query)
        for (size_t i = 0; i < gv_queries_count; i++)
            fprintf(out, "%s%s", i ? " " : "", gv_queries[i].name);
    else if (command == GV_COMMAND_schema &&
             gv_schema_describe(NULL, false, gv_words_put_view, &view))
        return;
}
