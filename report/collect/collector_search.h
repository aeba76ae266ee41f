/* Finding a session by its collector, which was told where the session's files are. */
#ifndef GV_COLLECT_COLLECTOR_SEARCH_H
#define GV_COLLECT_COLLECTOR_SEARCH_H

#include <stddef.h>

/* The spool directory of a session whose collector runs. 0; -ENOENT: none does; or -errno. Reads
 * the command line of every process: nothing to be done often. */
int gv_collector_search(const char *session, char *directory, size_t size);

#endif
