/*
 * Metrics of a run in OpenMetrics' text format, for Prometheus and others. metrics.def names them;
 * their values are rows of a session's page, or the same of a finished trace. Labels are untrusted
 * texts, and are escaped.
 */
#ifndef GV_COMMANDS_METRICS_OPENMETRICS_H
#define GV_COMMANDS_METRICS_OPENMETRICS_H

#include "report/collect/live_page.h"

#include <stddef.h>
#include <stdio.h>

/* Sorts the rows, and writes them. */
void gv_openmetrics_write(struct gv_live_row *rows, size_t count, FILE *out);

#endif
