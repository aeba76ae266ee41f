/*
 * Metrics of a run in OpenMetrics' text format, for Prometheus and others. metrics.def names them;
 * their values are the rows of a table metric_sum (sums.sql). Labels are untrusted texts, and are
 * escaped.
 */
#ifndef GV_COMMANDS_METRICS_OPENMETRICS_H
#define GV_COMMANDS_METRICS_OPENMETRICS_H

#include <sqlite3.h>
#include <stdio.h>

/* Adds to a connection gv_label(text): escaped, at most 200 bytes; and what else sums.sql needs. 0
 * or -errno. */
int gv_openmetrics_register(sqlite3 *database);

/* Writes what the connection's table metric_sum has. 0 or -errno. */
int gv_openmetrics_write(sqlite3 *database, FILE *out);

#endif
