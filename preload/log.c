#include "preload/log.h"

#include "preload/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 1024

static void say(const char *format, va_list arguments)
{
    char line[LINE_BYTES];
    int saved_errno = errno;
    int start = snprintf(line, sizeof line, "gpuverify: ");
    int length = vsnprintf(line + start, sizeof line - (size_t)start - 1, format, arguments);
    size_t bytes = (size_t)start + (length > 0 ? (size_t)length : 0);

    if (bytes > sizeof line - 2)
        bytes = sizeof line - 2;
    for (size_t i = 0; i < bytes; i++) /* paths and values come from anywhere */
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[bytes++] = '\n';
    if (write(STDERR_FILENO, line, bytes) < 0) {
        /* Nobody to tell. */
    }
    errno = saved_errno;
}

void gv_log_error(const char *format, ...)
{
    va_list arguments;

    if (gv_process.settings.log < GV_LOG_ERROR)
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void gv_log_info(const char *format, ...)
{
    va_list arguments;

    if (gv_process.settings.log < GV_LOG_INFO)
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}
