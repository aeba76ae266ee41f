#include "report/show/message.h"

#include "trace/text.h"

#include <stdarg.h>
#include <stdio.h>

#define GV_MESSAGE_BYTES 8192

void gv_message(const char *format, ...)
{
    char said[GV_MESSAGE_BYTES], shown[GV_MESSAGE_BYTES * 2];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
    gv_text_escape(shown, sizeof(shown), said);
    fflush(stdout);
    fprintf(stderr, "gpuverify: %s\n", shown);
}
