#include "report/commands/account_words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAME_BUSY(name)
#define NAME_LOST(name) " " name
#define NAME_ASIDE(name)
#define NAME_FOUND(name)

const char gv_cause_words[] = ""
#define GV_CAUSE(name, text, ...) " " text
#include "report/analyse/stalls/causes.def"
    ;

const char gv_account_words[] = ""
#define GV_ACCOUNT(id, name, group, meaning, advice) NAME_##group(name)
#include "report/analyse/ledger/accounts.def"
                                " waits"
#define GV_CAUSE(name, text, ...) " " text
#include "report/analyse/stalls/causes.def"
    ;

static const struct {
    const char *word, *now;
} old_words[] = {
    {"lock", " thread-lock lock "}, /* a cause of stalls too */
    {"descheduled", " no-cpu descheduled "},
    {"cuda", " queued between-kernels round-trip allocating freeing copying loading instantiating "
             "starting-cuda other-device launching "},
    {"start", " start "},
    {"end", " end "},
};

/* Whether the words, " a b c", have this one. */
static bool has(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; length && (at = strstr(at, word)) != NULL; at += length)
        if (at > words && at[-1] == ' ' && (at[length] == ' ' || !at[length]))
            return !strchr(word, ' ');
    return false;
}

const char *gv_account_words_of(const char *word, char room[GV_ACCOUNT_WORDS_BYTES])
{
    for (size_t i = 0; i < sizeof(old_words) / sizeof(old_words[0]); i++)
        if (strcmp(word, old_words[i].word) == 0)
            return old_words[i].now;
    if (!has(gv_account_words, word))
        return NULL;
    snprintf(room, GV_ACCOUNT_WORDS_BYTES, " %s ", word);
    return room;
}

bool gv_account_is_word(const char *word)
{
    static const char others[] = ""
#define GV_ACCOUNT(id, name, group, meaning, advice) " " name
#include "report/analyse/ledger/accounts.def"
        ;

    return has(gv_account_words, word) || has(others, word);
}
