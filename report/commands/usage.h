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
/* Prints that there is no such command, and which was probably meant. Returns GV_EXIT_USAGE. */
int gv_command_text_unknown(const char *word);
/* Prints a text of the tables, wrapped to the help's width and indented; keeps paragraphs. */
void gv_command_text_wrap(FILE *out, const char *text, unsigned int indent);

bool gv_command_has_options(const struct gv_command *command);

/* ---- help/: the manual page and the shells' completion ---- */

void gv_man_print(FILE *out);
void gv_completion_print_bash(FILE *out);
void gv_completion_print_zsh(FILE *out);
void gv_completion_print_fish(FILE *out);

#endif
