/* What `gpuverify metrics` is made of. */
#ifndef GV_COMMANDS_METRICS_METRICS_H
#define GV_COMMANDS_METRICS_METRICS_H

#include "report/collect/live_page.h"

#include <stddef.h>
#include <stdio.h>

/*
 * openmetrics.c: metrics of a run in OpenMetrics' text format, for Prometheus and others.
 * metrics.def names them; their values are rows of a session's page, or the same of a finished
 * trace. Labels are untrusted texts, and are escaped.
 */
/* Sorts the rows, and writes them. */
void gv_openmetrics_write(struct gv_live_row *rows, size_t count, FILE *out);

/*
 * http.c: answers GET /metrics with a text, for a few clients at once. One thread. A client that is
 * slow, or sends anything else, holds nobody up: each has ten seconds, and if there are too many,
 * the oldest one has to go.
 */
struct gv_http;

/* A string, for messages. Neither that of NVIDIA's dcgm-exporter (9400) nor of Prometheus. */
#define GV_HTTP_PORT "19400"

/* Listens at "[::1]:19400" or "127.0.0.1:19400"; port 0: any; NULL: at this port of both, as far as
 * the machine has them. 0; -EINVAL: not an address with a port; or -errno. */
int gv_http_open(const char *address, struct gv_http **http);
void gv_http_close(struct gv_http *http);

/* Its own address, with the port. */
void gv_http_address(const struct gv_http *http, char *out, size_t size);

/* The text of answers from now on; it is copied. 0 or -ENOMEM. */
int gv_http_set(struct gv_http *http, const char *text, size_t bytes);

/* Answers for this long, or until a signal. */
void gv_http_serve(struct gv_http *http, int milliseconds);

#endif
