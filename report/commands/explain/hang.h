/* What is said of a call that waits for a kernel that may never end. */
#ifndef GV_COMMANDS_EXPLAIN_HANG_H
#define GV_COMMANDS_EXPLAIN_HANG_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The process, by its row and by its PID; whether it has ended; and until when the call is known
 * not to have returned. */
struct gv_explain_hang {
    int64_t process, pid, seen_ns;
    bool ended;
};

/* Nothing, if no launch is known to be unfinished, or it had not long to end. 0 or -errno. */
int gv_explain_hang(sqlite3 *trace, const struct gv_explain_hang *hang, FILE *out, int columns);

#endif
