/* gpuverify jupyter: the wheel's command hands this to the Python package before it gets here. */
#include "report/commands/commands.h"
#include "report/show/message.h"

#include <string.h>

int gv_command_jupyter(const struct gv_arguments *arguments)
{
    if (strcmp(arguments->operands[0], "install") != 0) {
        gv_message("jupyter: '%s' is not 'install'", arguments->operands[0]);
        return GV_EXIT_USAGE;
    }
    gv_message("jupyter: this needs gpuverify's Python package: install it where ipykernel is, "
               "and run 'python3 -m gpuverify jupyter install'");
    return GV_EXIT_FAILED;
}
