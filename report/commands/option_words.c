#include "report/commands/option_words.h"

#include "report/store/schema_text.h"

#include <string.h>

#define GV_WORDS_NAME 64

static const char words_causes[] = ""
#define GV_CAUSE(name, text, ...) " " text
#include "report/analyse/stalls/causes.def"
    ;

static const char words_sections[] = " verdict"
#define GV_SECTION(name, shape, title, ...) " " #name
#include "report/commands/report/sections.def"
    ;

static const char words_queries[] = ""
#define GV_SQL(name, help, text) " " #name
#include "report/commands_query_queries.inc"
    ;

static const char words_areas[] = ""
#define GV_DIFF_AREA(name, title, what, counted, kernels) " " #name
#include "report/commands/diff/areas.def"
    ;

const char *gv_option_words(enum gv_option_id option)
{
    switch (option) {
    case GV_OPTION_report_section:
        return words_sections;
    case GV_OPTION_diff_section:
        return words_areas;
    case GV_OPTION_stalls_cause:
    case GV_OPTION_check_no_stall:
        return words_causes;
    default:
        return NULL;
    }
}

struct gv_words_view {
    FILE *out;
    char last[GV_WORDS_NAME];
};

static void words_put_view(const struct gv_schema_column *column, void *context)
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
        fputs(words_queries + 1, out);
    else if (command == GV_COMMAND_schema && gv_schema_describe(NULL, false, words_put_view, &view))
        return;
}
