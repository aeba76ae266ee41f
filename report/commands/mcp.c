/* gpuverify mcp: the commands as tools for agents, which the Python package serves. */
#include "report/commands/commands.h"
#include "report/commands/fleet/python.h"

int gv_command_mcp(const struct gv_arguments *arguments)
{
    return gv_python_become("gpuverify.mcp", arguments);
}
