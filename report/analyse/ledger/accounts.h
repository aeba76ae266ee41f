/* The words of the ledger: report/analyse/ledger/accounts.def, and behind them the causes of
 * stalls. */
#ifndef GV_LEDGER_ACCOUNTS_H
#define GV_LEDGER_ACCOUNTS_H

#include "trace/call_table.h"

#include <stdbool.h>

enum gv_account {
#define GV_ACCOUNT(id, name, group, meaning, advice) GV_ACCOUNT_##id,
#include "report/analyse/ledger/accounts.def"
    GV_ACCOUNTS /* + enum gv_cause: time that a stall of this cause lost */
};

enum gv_account_group { GV_ACCOUNT_BUSY, GV_ACCOUNT_LOST, GV_ACCOUNT_ASIDE, GV_ACCOUNT_FOUND };

/* Whether the device worked, for the program or not. */
static inline bool gv_account_is_work(unsigned what)
{
    return what <= GV_ACCOUNT_NAN_KERNEL;
}

struct gv_account_words {
    const char *name; /* in the trace */
    enum gv_account_group group;
    const char *meaning, *advice;
};

/* `what`: an account, or a cause. */
struct gv_account_words gv_account_say(unsigned what);

/* GV_ACCOUNTS + the cause of this name; GV_ACCOUNT_UNKNOWN: there is none. */
unsigned gv_account_of_cause(const char *cause);
/* What time in a call of this class is. */
unsigned gv_account_of_class(enum gv_api_class class);
/* The account or cause of this name; GV_ACCOUNT_UNKNOWN: there is none. */
unsigned gv_account_find(const char *name);

#endif
