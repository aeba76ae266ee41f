#include "report/commands/range_view.h"

#include "report/analyse/ranges/range_name.h"
#include "report/analyse/stalls/analysis.h"
#include "report/commands/exit.h"
#include "report/commands/progress.h"
#include "report/commands_range_view.inc"
#include "report/store/database.h"
#include "trace/word_distance.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/text_lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAMES 8 /* that a message lists */

struct known_names {
    const char *wanted;
    size_t least, count;
    char near[GV_RANGE_NAME_BYTES];
    char list[NAMES][GV_RANGE_NAME_BYTES]; /* the most frequent ones */
};

static int take_name(void *context, sqlite3_stmt *row)
{
    struct known_names *known = context;
    const char *domain = (const char *)sqlite3_column_text(row, 0);
    const char *message = (const char *)sqlite3_column_text(row, 1);
    char said[GV_RANGE_NAME_BYTES], name[GV_RANGE_NAME_BYTES];
    size_t at = 0;

    gv_range_name_say(domain, message, said, sizeof(said));
    gv_range_name_fold(said, name, sizeof(name));
    if (gv_word_is_nearer(known->wanted, said, &known->least) ||
        (message && gv_word_is_nearer(known->wanted, message, &known->least)))
        memcpy(known->near, said, sizeof(said));
    while (at < known->count && strcmp(known->list[at], name) != 0)
        at++;
    if (at == known->count && at < NAMES)
        memcpy(known->list[known->count++], name, sizeof(name));
    return 0;
}

int gv_range_missing_say(sqlite3 *trace, const char *name, bool marks, char *out, size_t size)
{
    struct known_names known = {.wanted = name, .least = GV_WORD_TYPO};
    const char *what = marks ? "mark or range" : "range";
    const int64_t with_marks = marks;
    char list[NAMES * 64] = "";
    int error = gv_database_each(trace, sql_names, &with_marks, 1, take_name, &known);

    for (size_t i = 0; i < known.count; i++)
        gv_format_add(list, sizeof(list), "%s%.60s", i ? ", " : "", known.list[i]);
    if (known.near[0])
        snprintf(out, size, "this trace has no %s '%.300s'; did you mean '%.300s'?", what, name,
                 known.near);
    else if (known.count)
        snprintf(out, size, "this trace has no %s '%.300s'; it has: %s", what, name, list);
    else
        snprintf(out, size, "this trace has no %ss", marks ? "marks or range" : "range");
    return error;
}

/* Names the nearest range, or the most frequent ones. */
static int refuse(sqlite3 *trace, const char *name)
{
    char why[GV_RANGE_MISSING_BYTES];
    int error = gv_range_missing_say(trace, name, false, why, sizeof(why));

    if (error)
        return error;
    gv_message("%s", why);
    return GV_EXIT_USAGE;
}

int gv_range_view_open(sqlite3 *trace, const struct gv_arguments *arguments,
                       enum gv_option_id option, struct gv_range_choice **choice)
{
    const char *name = gv_arguments_text(arguments, option, NULL);
    int error;

    *choice = NULL;
    if (!name)
        return 0;
    gv_progress_begin(trace, "gpuverify: choosing calls");
    error = gv_range_choice_open(choice, trace, name);
    if (!error)
        error = gv_range_choice_install(*choice, trace);
    if (!error)
        error = gv_stalls_of_ranges(trace);
    gv_progress_end(trace);
    return error == -ENOENT ? refuse(trace, name) : error;
}

void gv_range_view_print(const struct gv_range_choice *choice, FILE *out, int columns)
{
    char said[GV_RANGE_NAME_BYTES + 64];

    if (!choice)
        return;
    gv_range_choice_say(choice, said, sizeof(said));
    gv_text_say(out, 0, "", columns, "Only in %s.", said);
}
