/* The names of the ledger's accounts, and of the causes of stalls, as words that a user types. */
#ifndef GV_COMMANDS_ACCOUNT_WORDS_H
#define GV_COMMANDS_ACCOUNT_WORDS_H

#include <stdbool.h>

/* Causes, " a b c". */
extern const char gv_cause_words[];

/* What time can be lost to, " a b c": accounts, "waits", and causes of stalls. */
extern const char gv_account_words[];

/* The accounts and phases that a word stands for, " a b "; NULL: it is none. Words of version 0.1
 * are known. `room` holds a single one. */
#define GV_ACCOUNT_WORDS_BYTES 72
const char *gv_account_words_of(const char *word, char room[GV_ACCOUNT_WORDS_BYTES]);

/* Whether the ledger or its findings have this word. */
bool gv_account_is_word(const char *word);

#endif
