/* The usage line and the help of a command, made from the tables in report/commands/options.h. */
#ifndef GV_COMMANDS_USAGE_H
#define GV_COMMANDS_USAGE_H

#include "report/commands/options.h"

#include <stdio.h>

/* "usage: gpuverify stalls FILE [OPTION...]" and a line end. */
void gv_command_text_usage(FILE *out, const struct gv_command *command);
void gv_command_text_help(FILE *out, const struct gv_command *command);
/* A line for each command that is listed. */
void gv_command_text_list(FILE *out);
/* Says that there is no such command, and which was probably meant. Returns GV_EXIT_USAGE. */
int gv_command_text_unknown(const char *word);
/* A text of the tables in lines of the help's width, indented; paragraphs are kept. */
void gv_command_text_wrap(FILE *out, const char *text, unsigned int indent);

bool gv_command_has_options(const struct gv_command *command);

#endif
