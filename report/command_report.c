/* gpuverify report: whether the GPU did the work, what held it back, and what a trace holds. */
#include "report/commands.h"

#include "report/summary.h"
#include "report/trace_view.h"
#include "report/verdict.h"

int gv_command_report(const struct gv_arguments *arguments)
{
    const char *path = arguments->operands[0];
    sqlite3 *trace = NULL;
    int error;

    if (gv_arguments_has(arguments, GV_OPTION_report_explain_verdict)) {
        gv_verdict_explain(stdout, gv_summary_columns(stdout));
        return GV_EXIT_FINE;
    }
    if (!path)
        return gv_arguments_refuse(arguments->command, "FILE is missing");
    if (gv_trace_view_open(path, &trace) < 0)
        return GV_EXIT_FAILED;
    error = gv_summary_print(stdout, trace, path);
    sqlite3_close(trace);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
