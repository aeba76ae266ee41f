/* Parses values that users write: numbers, durations, sizes, percentages. */
#ifndef GV_SHOW_VALUE_TEXT_H
#define GV_SHOW_VALUE_TEXT_H

#include <stdint.h>
#include <time.h>

/* A moment of a run: a time since its start, or of the local clock. */
struct gv_moment {
    enum { GV_MOMENT_SINCE, GV_MOMENT_TIME, GV_MOMENT_DAY } kind; /* TIME: of any day */
    int64_t since_ns;
    struct tm local;
};

/* Each returns 0, -EINVAL for an invalid value, or -ERANGE for one that is too large. */

/* "12" */
int gv_value_number(const char *text, int64_t *number);
/* "500ns", "10us", "1.5 ms", "2s", "0" */
int gv_value_duration(const char *text, int64_t *ns);
/* "2s", or "03:00", "03:00:30", "2026-11-22", "2026-11-22 03:00": local time, since 1970 */
int gv_value_moment(const char *text, struct gv_moment *moment);
/* "60GB", "500 MB", "2GiB", "4096": bytes */
int gv_value_size(const char *text, int64_t *bytes);
/* "50%" or "0.5", both 0.5. */
int gv_value_ratio(const char *text, double *ratio);

#endif
