/* gpuverify report: what a trace holds, in one page. */
#include "report/commands.h"

#include "report/summary.h"
#include "report/trace_view.h"

int gv_command_report(int argc, char **argv)
{
    sqlite3 *trace = NULL;
    int error;

    if (argc != 2 || argv[1][0] == '-')
        return gv_command_usage("report");
    if (gv_trace_view_open(argv[1], &trace) < 0)
        return GV_EXIT_FAILED;
    error = gv_summary_print(stdout, trace, argv[1]);
    sqlite3_close(trace);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
