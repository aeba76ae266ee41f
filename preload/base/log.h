/*
 * What the library says about itself, on stderr, if GPUVERIFY_LOG lets it: one write() of one line,
 * so that it does not mix with the program's own output. Never from the hot path.
 */
#ifndef GV_BASE_LOG_H
#define GV_BASE_LOG_H

/* From the constructor: without a stderr, descriptor 2 may become a file of the program's, and
 * nothing is ever said. */
void gv_log_look_at_stderr(void);

void gv_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gv_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
