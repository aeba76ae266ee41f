/* The commands of gpuverify, and what they share: exit codes. */
#ifndef GV_COMMANDS_COMMANDS_H
#define GV_COMMANDS_COMMANDS_H

#include "report/commands/arguments.h"

#include <stdio.h>

enum gv_exit {
    GV_EXIT_FINE = 0,
    GV_EXIT_FINDING = 1, /* fine, and there is something to look at */
    GV_EXIT_USAGE = 2,
    GV_EXIT_FAILED = 3, /* something could not be read or written */
};

/* What every help says about them. */
#define GV_EXIT_TEXT                                                                               \
    "0 fine, 1 there is something to look at, 2 wrong use, 3 something could not be read or "      \
    "written."

#define GV_COMMAND(name, function, operands, fewest, most, placing, summary, listed)               \
    int function(const struct gv_arguments *arguments);
#include "report/commands/commands.def"

#endif
