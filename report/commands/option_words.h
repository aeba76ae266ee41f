/* The words that an option or operand of type TEXT may be, for completion. */
#ifndef GV_COMMANDS_OPTION_WORDS_H
#define GV_COMMANDS_OPTION_WORDS_H

#include "report/commands/options.h"

#include <stdio.h>

/* " a b c"; NULL: free text. */
const char *gv_option_words(enum gv_option_id option);
/* Prints the words that a command's operand may be, "a b c"; nothing for other commands. */
void gv_operand_words_print(FILE *out, enum gv_command_id command);

#endif
