/*
 * Things of a process that are known by numbers or handles, and the rows that they have. Some
 * programs have ever more of them: GV_KNOWN_MOST are in memory, the others in a temporary table of
 * the trace's connection, which goes to a file when it grows.
 *
 * Starts from all zeros, and is forgotten with its database. One thread of the process uses all of
 * them. 0 or -errno.
 */
#ifndef GV_COLLECT_KNOWN_H
#define GV_COLLECT_KNOWN_H

#include "report/store/database.h"
#include "report/store/key_map.h"

#include <stdint.h>

#define GV_KNOWN_MOST 8192u

struct gv_known {
    struct gv_key_map recent; /* added or asked for */
    int64_t number;           /* of its rows in the table; 0: none are there */
};

/* *value is 0 if the key is not known. */
int gv_known_find(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                  int64_t *value);
/* Adds a key that is not there yet; value must not be 0. */
int gv_known_add(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                 int64_t value);
/* `database` may be closed by now. */
void gv_known_free(struct gv_known *known, struct gv_database *database);

#endif
