/* gpuverify report: what a trace holds, in one page. */
#include "report/commands.h"

#include "report/summary.h"
#include "report/trace_view.h"

int gv_command_report(const struct gv_arguments *arguments)
{
    const char *path = arguments->operands[0];
    sqlite3 *trace = NULL;
    int error;

    if (gv_trace_view_open(path, &trace) < 0)
        return GV_EXIT_FAILED;
    error = gv_summary_print(stdout, trace, path);
    sqlite3_close(trace);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
