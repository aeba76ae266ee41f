#include "preload/base/log.h"

#include "preload/base/own_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 1024

/* stderr at the program's start: 1 open, 2 closed, 0 unknown. */
static _Atomic int stderr_at_start;

void gv_log_look_at_stderr(void)
{
    int saved_errno = errno;

    if (!atomic_load(&stderr_at_start))
        atomic_store(&stderr_at_start, fcntl(STDERR_FILENO, F_GETFD) < 0 ? 2 : 1);
    errno = saved_errno;
}

static bool may_say(enum gv_setting_log level)
{
    if (gv_process.settings.log < (int32_t)level)
        return false;
    gv_log_look_at_stderr();
    return atomic_load(&stderr_at_start) == 1;
}

static void say(const char *format, va_list arguments)
{
    char line[LINE_BYTES];
    int saved_errno = errno;
    int start = snprintf(line, sizeof line, "gpuverify: ");
    int length = vsnprintf(line + start, sizeof line - (size_t)start - 1, format, arguments);
    size_t bytes = (size_t)start + (length > 0 ? (size_t)length : 0);

    if (bytes > sizeof line - 2)
        bytes = sizeof line - 2;
    for (size_t i = 0; i < bytes; i++) /* paths and values may contain anything */
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[bytes++] = '\n';
    if (write(STDERR_FILENO, line, bytes) < 0) {
        /* There is no stderr. */
    }
    errno = saved_errno;
}

void gv_log_error(const char *format, ...)
{
    va_list arguments;

    if (!may_say(GV_LOG_ERROR))
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void gv_log_info(const char *format, ...)
{
    va_list arguments;

    if (!may_say(GV_LOG_INFO))
        return;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}
