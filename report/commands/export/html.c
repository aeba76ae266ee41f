/*
 * A trace as one page for browsers. The page is report/commands/export/page/, embedded at build
 * time; what is only known here goes into its elements of data, as JSON.
 */
#include "report/commands/export/export.h"
#include "report/commands/export/timeline.h"
#include "report/commands/report/report.h"
#include "report/show/xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_HTML_MADE_BY "<meta name=\"generator\" content=\"gpuverify export\">"
/* Rows of each table. */
#define GV_HTML_TOP 1000
/* Wide enough that no text of the summary is broken. */
#define GV_HTML_COLUMNS 100

struct html {
    sqlite3 *trace;
    struct gv_report *report;
    FILE *page;
    FILE *out; /* escaped for where it lands in the page */
};

/* ---- what a data element may hold ---- */

/* JSON has this only inside of texts. Without it, no text can end its element. */
static ssize_t html_write_json(void *page, const char *bytes, size_t count)
{
    const char *end = bytes + count, *from = bytes;

    for (const char *at = bytes; at < end; at++)
        if (*at == '<') {
            fwrite(from, 1, (size_t)(at - from), page);
            fputs("\\u003c", page);
            from = at + 1;
        }
    fwrite(from, 1, (size_t)(end - from), page);
    return ferror((FILE *)page) ? -1 : (ssize_t)count;
}

/* ---- the data ---- */

static int html_title(struct html *html)
{
    fputs("gpuverify: ", html->page);
    gv_xml_text(html->page, html->report->path);
    return 0;
}

/* For a browser without scripts. */
static int html_summary(struct html *html)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gv_report *report = html->report;
    int error;

    memset(report->wanted, 0, sizeof(report->wanted));
    report->wanted[GV_SECTION_verdict] = true;
    report->format = GV_FORMAT_TABLE;
    report->out = open_memstream(&text, &bytes);
    if (!report->out)
        return -ENOMEM;
    error = gv_report_write(report);
    if (fclose(report->out) != 0 && !error)
        error = -ENOMEM;
    if (!error)
        gv_xml_text(html->page, text);
    free(text);
    return error;
}

static int html_report(struct html *html)
{
    struct gv_report *report = html->report;

    for (size_t i = 0; i < GV_SECTIONS_COUNT; i++)
        report->wanted[i] = true;
    report->format = GV_FORMAT_JSON;
    report->out = html->out;
    return gv_report_write(report);
}

static int html_timeline(struct html *html)
{
    return gv_timeline_write(html->trace, html->out);
}

/* ---- the page ---- */

static const struct {
    const char *text;
    int (*write)(struct html *html);
} html_parts[] = {
#define GV_PAGE_TEXT(text) {text, NULL},
#define GV_PAGE_DATA(name) {NULL, html_##name},
#include "report/commands_export_page.inc"
};

int gv_export_html(sqlite3 *trace, const struct gv_weighed *what, FILE *out)
{
    struct gv_report *report = calloc(1, sizeof(*report));
    struct html html = {.trace = trace, .report = report, .page = out};
    int error = report ? 0 : -ENOMEM;

    html.out = fopencookie(out, "w", (cookie_io_functions_t){.write = html_write_json});
    if (!html.out)
        error = -ENOMEM;
    if (!error) {
        report->trace = trace;
        report->path = what->path;
        report->columns = GV_HTML_COLUMNS;
        report->top = GV_HTML_TOP;
        report->part = GV_TOTALS_ALL;
    }
    for (size_t i = 0; !error && i < sizeof(html_parts) / sizeof(html_parts[0]); i++) {
        if (html_parts[i].text)
            fputs(html_parts[i].text, out);
        else
            error = html_parts[i].write(&html);
        if (!error && fflush(html.out) != 0)
            error = -errno;
    }
    if (html.out && fclose(html.out) != 0 && !error)
        error = -errno;
    free(report);
    return error;
}

bool gv_export_is_html(const char *head)
{
    return strncmp(head, "<!doctype html>", 15) == 0 && strstr(head, GV_HTML_MADE_BY) != NULL;
}
