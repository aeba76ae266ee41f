#include "report/analyse/ledger/accounts.h"

#include "report/analyse/stalls/causes.h"

#include <string.h>

static const struct gv_account_words accounts[] = {
#define GV_ACCOUNT(id, name, group, meaning, advice) {name, GV_ACCOUNT_##group, meaning, advice},
#include "report/analyse/ledger/accounts.def"
};

struct gv_account_words gv_account_say(unsigned what)
{
    if (what < GV_ACCOUNTS)
        return accounts[what];
    if (what - GV_ACCOUNTS >= GV_CAUSE_COUNT)
        return accounts[GV_ACCOUNT_UNKNOWN];
    enum gv_cause cause = (enum gv_cause)(what - GV_ACCOUNTS);
    return (struct gv_account_words){gv_cause_name(cause), GV_ACCOUNT_LOST, gv_cause_why(cause),
                                     ""};
}

unsigned gv_account_of_cause(const char *name)
{
    enum gv_cause cause = name ? gv_cause_find(name) : GV_CAUSE_COUNT;

    if (cause == GV_CAUSE_DESCHEDULED) /* the same in a call */
        return GV_ACCOUNT_NO_CPU;
    return cause < GV_CAUSE_COUNT ? GV_ACCOUNTS + cause : GV_ACCOUNT_UNKNOWN;
}

unsigned gv_account_of_class(enum gv_api_class class)
{
    static const unsigned of_class[GV_CLASS_COUNT] = {
        [GV_CLASS_COPY] = GV_ACCOUNT_COPYING,     [GV_CLASS_ALLOC] = GV_ACCOUNT_ALLOCATING,
        [GV_CLASS_FREE] = GV_ACCOUNT_FREEING,     [GV_CLASS_LOAD] = GV_ACCOUNT_LOADING,
        [GV_CLASS_UNLOAD] = GV_ACCOUNT_LOADING,   [GV_CLASS_GRAPH] = GV_ACCOUNT_INSTANTIATING,
        [GV_CLASS_CONTEXT] = GV_ACCOUNT_STARTING, [GV_CLASS_INIT] = GV_ACCOUNT_STARTING,
        [GV_CLASS_SYNC] = GV_ACCOUNT_ROUND_TRIP,
    };

    return class < GV_CLASS_COUNT && of_class[class] ? of_class[class] : GV_ACCOUNT_LAUNCHING;
}

unsigned gv_account_find(const char *name)
{
    for (unsigned what = 0; name && what < GV_ACCOUNTS; what++)
        if (strcmp(accounts[what].name, name) == 0)
            return what;
    return gv_account_of_cause(name);
}
