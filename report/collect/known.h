/*
 * Things of a process that have numbers or handles, and their rows. Some programs have ever more of
 * them: GV_KNOWN_MOST are in memory, the others in a temporary table of the trace's connection,
 * which goes to a file when it grows.
 *
 * Starts as all zeros, and ends with its database. One thread uses all of a process. 0 or -errno.
 */
#ifndef GV_COLLECT_KNOWN_H
#define GV_COLLECT_KNOWN_H

#include "report/store/database.h"
#include "report/store/key_map.h"

#include <stdint.h>

#define GV_KNOWN_MOST 8192u

struct gv_known {
    struct gv_key_map recent; /* added or asked for */
    int64_t number;           /* of its rows in the table; 0: none */
};

/* *value is 0 if the key is unknown. */
int gv_known_find(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                  int64_t *value);
/* Adds a new key; value must not be 0. */
int gv_known_add(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                 int64_t value);
/* `database` may already be closed. */
void gv_known_free(struct gv_known *known, struct gv_database *database);

#endif
