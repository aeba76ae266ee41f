/*
 * Writes the library's own messages to stderr, as GPUVERIFY_LOG allows: one write() per line, so
 * that it does not mix with the program's output. Never from the hot path.
 */
#ifndef GV_BASE_LOG_H
#define GV_BASE_LOG_H

/* From the constructor. If there is no stderr, descriptor 2 may become a file of the program, so
 * nothing is ever written. */
void gv_log_look_at_stderr(void);

void gv_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gv_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
