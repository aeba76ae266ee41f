#include "preload/base/log.h"

#include "preload/base/own_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
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

void gv_log(enum gv_setting_log level, const char *format, ...)
{
    char line[LINE_BYTES] = "gpuverify: ";
    size_t start = strlen(line), most = sizeof line - 2, bytes;
    int saved_errno = errno;
    va_list arguments;
    int length;

    if (gv_process.settings.log < (int64_t)level)
        return;
    gv_log_look_at_stderr();
    if (atomic_load(&stderr_at_start) != 1)
        return;
    va_start(arguments, format);
    length = vsnprintf(line + start, most - start, format, arguments);
    va_end(arguments);
    bytes = start + (length > 0 ? (size_t)length : 0);
    if (bytes > most)
        bytes = most;
    for (size_t i = 0; i < bytes; i++) /* paths and values may contain anything */
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[bytes++] = '\n';
    if (write(STDERR_FILENO, line, bytes) < 0) {
        /* There is no stderr. */
    }
    errno = saved_errno;
}
