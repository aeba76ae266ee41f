/* The words that an option or operand of type TEXT may be, for the shells' completion. */
#ifndef GV_COMMANDS_OPTION_WORDS_H
#define GV_COMMANDS_OPTION_WORDS_H

#include "report/commands/options.h"

#include <stdio.h>

/* " a b c"; NULL: it is free text. */
const char *gv_option_words(enum gv_option_id option);
/* Prints the words that an operand of the command may be, "a b c"; nothing where it is none. */
void gv_operand_words_print(FILE *out, enum gv_command_id command);

#endif
