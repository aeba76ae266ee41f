/* gpuverify fleet DIR [QUESTION]: answers a question about exported traces, with DuckDB. */
#include "report/commands/commands.h"
#include "report/commands/fleet/python.h"

int gv_command_fleet(const struct gv_arguments *arguments)
{
    return gv_python_become("gpuverify.fleet.ask", arguments);
}
