#include "report/commands/export/timeline.h"

int gv_timeline_write(sqlite3 *trace, FILE *out)
{
    (void)trace;
    fputs("null", out);
    return 0;
}
