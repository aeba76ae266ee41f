/* The names of the causes of stalls as words to choose from. */
#ifndef GV_COMMANDS_CAUSE_WORDS_H
#define GV_COMMANDS_CAUSE_WORDS_H

/* " a b c" */
extern const char gv_cause_words[];

#endif
