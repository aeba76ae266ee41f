#include "report/commands/range_view.h"

#include "report/analyse/ranges/range_name.h"
#include "report/analyse/stalls/analysis.h"
#include "report/commands/exit.h"
#include "report/commands/progress.h"
#include "report/commands/range_missing.h"
#include "report/show/message.h"
#include "report/show/text_lines.h"

#include <errno.h>
#include <stdio.h>

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
