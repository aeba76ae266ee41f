#include "report/commands.h"

#include <stdarg.h>

void gv_message(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs("gpuverify: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}
