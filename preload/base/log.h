/*
 * Writes the library's own messages to stderr, as GPUVERIFY_LOG allows: one write() per line, so
 * that it does not mix with the program's output. Never from the hot path.
 */
#ifndef GV_BASE_LOG_H
#define GV_BASE_LOG_H

#include "trace/settings.h"

/* From the constructor. If there is no stderr, descriptor 2 may become a file of the program, so
 * nothing is ever written. */
void gv_log_look_at_stderr(void);

#define gv_log_error(...) gv_log(GV_LOG_ERROR, __VA_ARGS__)
#define gv_log_info(...)  gv_log(GV_LOG_INFO, __VA_ARGS__)
void gv_log(enum gv_setting_log level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
