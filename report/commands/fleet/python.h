/* Commands that the Python package does: it has Arrow and the engines. */
#ifndef GV_COMMANDS_FLEET_PYTHON_H
#define GV_COMMANDS_FLEET_PYTHON_H

#include "report/commands/arguments.h"

/* Becomes Python, which runs main() of a module of the package with the options and operands that
 * were given, as NAME=VALUE or NAME and as they are, with "--" in between. Returns only an exit
 * code, after a message. */
int gv_python_become(const char *module, const struct gv_arguments *arguments);

#endif
