#include "report/show/message.h"

#include "trace/text.h"

#include <stdio.h>

#define GV_MESSAGE_BYTES 8192

void gv_message_of(const char *command, const char *format, va_list values)
{
    char said[GV_MESSAGE_BYTES], shown[GV_MESSAGE_BYTES * 2];

    vsnprintf(said, sizeof(said), format, values);
    gv_text_escape(shown, sizeof(shown), said);
    fflush(stdout);
    fprintf(stderr, "gpuverify%s%s: %s\n", command ? " " : "", command ? command : "", shown);
}

void gv_message(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    gv_message_of(NULL, format, values);
    va_end(values);
}

void gv_message_result(const char *format, ...)
{
    char said[GV_MESSAGE_BYTES], shown[GV_MESSAGE_BYTES * 2];
    va_list values;

    va_start(values, format);
    vsnprintf(said, sizeof(said), format, values);
    va_end(values);
    gv_text_escape(shown, sizeof(shown), said);
    puts(shown);
}
