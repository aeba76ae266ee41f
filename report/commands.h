/* The commands of gpuverify, and what they share: exit codes and messages. */
#ifndef GV_REPORT_COMMANDS_H
#define GV_REPORT_COMMANDS_H

#include <stdio.h>

enum gv_exit {
    GV_EXIT_FINE = 0,
    GV_EXIT_FINDING = 1, /* fine, and there is something to look at */
    GV_EXIT_USAGE = 2,
    GV_EXIT_FAILED = 3, /* something could not be read or written */
};

#define GV_COMMAND(name, function, arguments, summary, listed) int function(int argc, char **argv);
#include "report/commands.def"

/* "gpuverify: ..." and a line end, on stderr. */
void gv_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says how a command is used, on stderr. Returns GV_EXIT_USAGE. */
int gv_command_usage(const char *name);

void gv_command_list(FILE *out);

#endif
