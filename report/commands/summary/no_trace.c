#include "report/commands/summary/no_trace.h"

#include "report/commands/doctor/driver_file.h"
#include "report/commands/offer.h"
#include "report/commands/summary/subject.h"
#include "report/show/format.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <string.h>

static const struct {
    const char *meaning, *next;
} words[] = {
#define GV_NO_TRACE(name, meaning, next) {meaning, next},
#include "report/commands/summary/no_trace.def"
};

void gv_no_trace_print(FILE *out, const char *name, const char *program, enum gv_no_trace why,
                       int columns)
{
    char said[GV_SUMMARY_TEXT_BYTES], offered[GV_OFFER_BYTES], lacks[256];
    const char *next = words[why].next, *place = strstr(next, "PROGRAM");
    bool missing = why == GV_NO_TRACE_NOT_STARTED && !gv_driver_file_loads(lacks, sizeof(lacks));

    fprintf(out, "%sgpuverify: ", gv_colour(out, GV_COLOUR_BOLD));
    gv_format_text(out, name, GV_SUMMARY_NAME, 0);
    fprintf(out, "%s %s\n", gv_colour(out, GV_COLOUR_NONE),
            why == GV_NO_TRACE_NOT_RECORDED ? "left no trace" : "made no CUDA call: no trace");
    gv_text_say(out, 2, "", columns, "%s%s", words[why].meaning,
                missing ? " NVIDIA's driver, libcuda.so.1, is not on this machine." : "");
    if (place)
        snprintf(said, sizeof(said), "Next: %.*s%.200s%s", (int)(place - next), next, program,
                 place + strlen("PROGRAM"));
    else
        snprintf(said, sizeof(said), "Next: %s", next);
    gv_text_lines(out, 2, "", gv_offer_fill(offered, sizeof(offered), said, "", true), columns);
}
