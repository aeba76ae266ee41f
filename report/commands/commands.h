/* The commands of gpuverify: one function each. */
#ifndef GV_COMMANDS_COMMANDS_H
#define GV_COMMANDS_COMMANDS_H

#include "report/commands/arguments.h"
#include "report/commands/exit.h"

#include <stdio.h>

#define GV_COMMAND(name, function, operands, fewest, most, placing, summary, listed)               \
    int function(const struct gv_arguments *arguments);
#include "report/commands/commands.def"

#endif
