/*
 * The ranges of a name, and the calls in them: what `--range NAME` chooses.
 *
 * It takes one pass over the calls. Memory: a bit for each call and each range, and 24 bytes for
 * each chosen range. One thread.
 */
#ifndef GV_ANALYSE_RANGES_CHOICE_H
#define GV_ANALYSE_RANGES_CHOICE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_range_choice;

/* `name` is a pattern of gv_range_name_matches(). 0; -ENOENT: it means no range, or only marks;
 * -errno. Close it in any case. */
int gv_range_choice_open(struct gv_range_choice **made, sqlite3 *trace, const char *name);
void gv_range_choice_close(struct gv_range_choice *choice);

/* Whether a call is in a chosen range. If `choice` is NULL, all are; otherwise call 0, an unknown
 * one, is not. */
bool gv_range_choice_has(const struct gv_range_choice *choice, int64_t call);

/* Makes the function gv_in_ranges(call) of a connection say the same, until another choice is
 * installed; nobody may ask it after this one is closed. No statement may run. 0 or -errno. */
int gv_range_choice_install(const struct gv_range_choice *choice, sqlite3 *trace);

/* Cuts [*from_ns, *to_ns) to the first part in which the process is in a chosen range. False: it
 * is in none. */
bool gv_range_choice_cut(const struct gv_range_choice *choice, int64_t process, int64_t *from_ns,
                         int64_t *to_ns);
/* For how long any process is. */
int64_t gv_range_choice_own_ns(const struct gv_range_choice *choice);
/* "3 ranges 'forward', which took 8.00 ms". The name is the user's: escape it for printing. */
void gv_range_choice_say(const struct gv_range_choice *choice, char *out, size_t size);

#endif
