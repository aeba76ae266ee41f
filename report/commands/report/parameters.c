#include "report/commands/report/report.h"

void gv_report_bind(const struct gv_report *report, sqlite3_stmt *rows)
{
    const struct {
        const char *name;
        int64_t value;
    } parameters[] = {
        {":process", report->part.process}, {":thread", report->part.thread},
        {":device", report->part.device},   {":from", report->part.from_ns},
        {":to", report->part.to_ns},        {":top", report->top},
    };

    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
        int index = sqlite3_bind_parameter_index(rows, parameters[i].name);
        if (index > 0)
            sqlite3_bind_int64(rows, index, parameters[i].value);
    }
}
