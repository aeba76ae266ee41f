/* gpuverify stalls [FILE]: lists the stalls, longest first. */
#include "report/analyse/stalls/causes.h"
#include "report/commands/commands.h"
#include "report/commands/offer.h"
#include "report/commands/stalls/output.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"

#include <string.h>

#define GV_STALLS_TOP 20

/* Programs want all of them. */
static int64_t gv_stalls_limit(enum gv_format format)
{
    return format == GV_FORMAT_TABLE ? GV_STALLS_TOP : 0;
}

int gv_command_stalls(const struct gv_arguments *arguments)
{
    const char *path;
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_stalls_format, "table"));
    struct gv_stall_filter filter = {
        .cause = gv_arguments_text(arguments, GV_OPTION_stalls_cause, NULL),
        .least_ns = gv_arguments_number(arguments, GV_OPTION_stalls_min, 0),
        .limit = gv_arguments_number(arguments, GV_OPTION_stalls_top, gv_stalls_limit(format)),
        .expected = gv_arguments_has(arguments, GV_OPTION_stalls_all),
    };
    sqlite3 *trace = NULL;
    int code = GV_EXIT_FAILED;

    if (filter.cause && gv_cause_find(filter.cause) == GV_CAUSE_COUNT)
        return gv_arguments_refuse_word(arguments->command, GV_OPTION_stalls_cause, "cause",
                                        filter.cause);
    /* A user who names an expected cause wants to see it. */
    filter.expected |= filter.cause != NULL;
    path = gv_offer_choose(arguments->command, arguments->operands[0], &code);
    if (!path || gv_trace_view_open(path, &trace))
        return code;
    int error = gv_stall_output_print(trace, path, &filter, format);
    if (error)
        gv_message("cannot read %s: %s", path, gv_trace_view_why(trace, error));
    sqlite3_close(trace);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
