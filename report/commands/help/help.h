/* The manual page and the shells' completion, made from the tables in report/commands/options.h. */
#ifndef GV_COMMANDS_HELP_HELP_H
#define GV_COMMANDS_HELP_HELP_H

#include <stdio.h>

void gv_man_print(FILE *out);
void gv_completion_print_bash(FILE *out);
void gv_completion_print_zsh(FILE *out);

#endif
