/* Messages of gpuverify to its user. */
#ifndef GV_SHOW_MESSAGE_H
#define GV_SHOW_MESSAGE_H

#include <stdarg.h>

/* Prints "gpuverify: ..." and a newline on stderr, with control characters escaped. */
void gv_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, after "gpuverify COMMAND: "; NULL: after "gpuverify: ". */
void gv_message_of(const char *command, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));

/* Prints what a command did, and a newline, on stdout, with control characters escaped. */
void gv_message_result(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
