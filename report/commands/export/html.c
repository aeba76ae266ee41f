/*
 * A trace as one page for browsers. The page is report/commands/export/page/, embedded at build
 * time; what is only known here goes into its elements of data, as JSON.
 */
#include "report/store/time_sum.h"
#include "report/commands/export/export.h"
#include "report/commands/export/flame.h"
#include "report/commands/offer.h"
#include "report/commands/report/report.h"
#include "report/commands/statement_rows.h"
#include "report/commands/summary/summary.h"
#include "report/commands_export_html.inc"
#include "report/show/xml.h"
#include "report/store/database.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define GV_HTML_MADE_BY "<meta name=\"generator\" content=\"gpuverify export\">"
/* Rows of each table. */
#define GV_HTML_TOP 1000
/* Of the text for browsers without scripts. */
#define GV_HTML_COLUMNS       100
#define GV_HTML_TABLE_COLUMNS 17
/* Frames of less than this part of all are drawn together. */
#define GV_HTML_FLAME_SMALL 2000

struct html {
    sqlite3 *trace;
    struct gv_report *report;
    const struct gv_summary_ledger *ledger;
    FILE *page;
    FILE *out; /* escaped for where it lands in the page */
    bool is_indent;
};

/* ---- what a data element may hold ---- */

/* JSON has '<' only inside of texts: without it, no text can end its element. A line feed is only
 * between them: neither it nor the blanks after it are needed. */
static ssize_t html_write_json(void *of, const char *bytes, size_t count)
{
    struct html *html = of;
    const char *end = bytes + count, *from = bytes;

    for (const char *at = bytes; at < end; at++) {
        html->is_indent = *at == '\n' || (html->is_indent && *at == ' ');
        if (*at != '<' && !html->is_indent)
            continue;
        fwrite(from, 1, (size_t)(at - from), html->page);
        if (*at == '<')
            fputs("\\u003c", html->page);
        from = at + 1;
    }
    fwrite(from, 1, (size_t)(end - from), html->page);
    return ferror(html->page) ? 0 : (ssize_t)count;
}

/* ---- the data ---- */

/* Prints to a text, which is the caller's. */
static int html_print(struct html *html, int (*print)(struct html *html, FILE *out), char **text)
{
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    int error = out ? print(html, out) : -ENOMEM;

    if (out && fclose(out) != 0 && !error)
        error = -ENOMEM;
    return error;
}

static int html_title(struct html *html)
{
    const char *slash = strrchr(html->report->path, '/');

    gv_xml_text(html->page, slash ? slash + 1 : html->report->path);
    return 0;
}

static int html_text_summary(struct html *html, FILE *out)
{
    struct gv_report *report = html->report;

    memset(report->wanted, 0, sizeof(report->wanted));
    report->wanted[GV_SECTION_findings] = true;
    report->format = GV_FORMAT_TABLE;
    report->out = out;
    return gv_report_write(report);
}

/* For a browser without scripts. It also leaves the facts in the report. */
static int html_summary(struct html *html)
{
    char *text = NULL;
    int error = html_print(html, html_text_summary, &text);

    /* Line by line: a line's end is a control character, which a name must not have. */
    for (char *line, *rest = text; !error && (line = strsep(&rest, "\n")) && (rest || *line);) {
        gv_xml_text(html->page, line);
        fputc('\n', html->page);
    }
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

static struct gv_summary html_subject(struct html *html, FILE *out)
{
    struct gv_summary summary = gv_report_summary(html->report);

    summary.out = out;
    summary.columns = INT_MAX;
    summary.evidence = true;
    return summary;
}

static void html_finding(struct html *html, const struct gv_summary_finding *finding,
                         struct gv_json *json)
{
    const struct gv_summary_ledger *ledger = html->ledger;
    struct gv_summary summary = html_subject(html, NULL);
    char id[32], share[GV_FORMAT_BYTES], fix[GV_SUMMARY_TEXT_BYTES];

    snprintf(id, sizeof(id), "f%" PRId64, finding->id);
    gv_summary_fix(&summary, finding, 0, fix);
    gv_json_open(json, NULL, '{');
    gv_json_text(json, "id", id);
    gv_json_text(json, "name", finding->what);
    gv_json_number(json, "lost_ns", gv_summary_lost_ns(ledger, finding));
    gv_json_text(json, "share", gv_summary_share(finding->lost_ns, ledger->shown_ns, share));
    gv_json_bool(json, "may", !finding->sure);
    gv_json_text(json, "line", finding->place[0] ? finding->place : NULL);
    gv_json_text(json, "text", finding->title);
    gv_json_text(json, "fix", fix[0] ? fix : NULL);
    gv_json_close(json, '}');
}

static void html_fact(const struct gv_fact *fact, const char *path, struct gv_json *json)
{
    char next[GV_OFFER_BYTES];

    gv_json_open(json, NULL, '{');
    gv_json_text(json, "name", fact->text);
    gv_json_text(json, "text", fact->detail);
    gv_json_text(json, "fix", gv_offer_fill(next, sizeof(next), fact->next, path, true));
    gv_json_close(json, '}');
}

static int html_about(struct html *html, FILE *out)
{
    struct gv_summary summary = html_subject(html, out);
    int error = gv_summary_print_head(&summary, html->ledger);

    return error ? error : gv_summary_print_rest(&summary, html->ledger);
}

/* The first fact or finding, in a sentence. */
static void html_headline(const struct html *html, const struct gv_summary *summary, bool worked,
                          char out[GV_SUMMARY_TEXT_BYTES])
{
    const struct gv_summary_ledger *ledger = html->ledger;
    const struct gv_summary_finding *first = &ledger->findings[0];
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    const struct gv_fact *fact = html->report->list.facts;
    const bool by_step = ledger->stepped && !first->seldom;
    char lost[GV_FORMAT_BYTES], all[GV_FORMAT_BYTES];

    if (html->report->list.count > 0 && fact->name != GV_FACT_ACCELERATED)
        snprintf(out, GV_SUMMARY_TEXT_BYTES, "%s", fact->detail);
    else if (!worked || (ledger->told == 0 && time.busy_ns == 0))
        gv_facts_say_headline(summary->facts, out);
    else if (ledger->told == 0)
        gv_summary_say_none(ledger, out);
    else if (first->lost_ns <= 0 || first->saves_ns < 0)
        snprintf(out, GV_SUMMARY_TEXT_BYTES, "%s: %s", first->place[0] ? first->place : first->what,
                 first->title);
    else
        snprintf(out, GV_SUMMARY_TEXT_BYTES, "%s%s%s of %s %s %s: %s", first->place,
                 !first->place[0] ? ""
                 : first->sure    ? " costs "
                                  : " may cost ",
                 gv_format_duration(lost, gv_summary_lost_ns(ledger, first)),
                 by_step ? "each" : "the",
                 gv_format_duration(all, by_step ? gv_summary_each_ns(ledger, ledger->shown_ns)
                                                 : ledger->shown_ns),
                 by_step           ? "step"
                 : ledger->stepped ? "of all steps"
                                   : "run",
                 first->title);
}

static void html_part(struct html *html, const char *kind, const char *name, int64_t ns,
                      struct gv_json *json)
{
    ns = gv_summary_each_ns(html->ledger, ns);
    if (ns <= 0)
        return;
    gv_json_open(json, NULL, '{');
    gv_json_text(json, "kind", kind);
    gv_json_text(json, "name", name);
    gv_json_number(json, "ns", ns);
    gv_json_close(json, '}');
}

/* What a step, or the run, is made of: each part once. */
static void html_budget(struct html *html, struct gv_json *json)
{
    const struct gv_summary_ledger *ledger = html->ledger;
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    char id[32];

    html_part(html, "busy",
              ledger->lanes[0].device < 0 ? "GPU busy at least"
              : time.lost_busy_ns > 0     ? "useful GPU work"
                                          : "GPU busy",
              time.busy_ns - time.lost_busy_ns, json);
    for (size_t i = 0; i < ledger->told; i++) {
        const struct gv_summary_finding *finding = &ledger->findings[i];
        if (finding->saves_ns < 0)
            continue; /* other findings have this time */
        snprintf(id, sizeof(id), "f%" PRId64, finding->id);
        html_part(html, id, finding->what, finding->lost_ns, json);
    }
    html_part(html, "rest", "the rest", gv_summary_rest_ns(ledger), json);
    html_part(html, "aside", "not known", time.unknown_ns, json);
    html_part(html, "aside", "without a request", time.no_request_ns, json);
    html_part(html, "aside", "not seen", time.not_seen_ns, json);
}

static int html_say(struct html *html, const char *text, struct gv_json *json)
{
    const struct gv_summary_ledger *ledger = html->ledger;
    struct gv_summary summary = html_subject(html, NULL);
    const struct gv_summary_time all = gv_summary_time_of(&ledger->lanes[0], false);
    const int64_t lane[] = {ledger->lanes[0].process, ledger->lanes[0].device};
    char headline[GV_SUMMARY_TEXT_BYTES], busy[GV_SUMMARY_TEXT_BYTES];
    int64_t run_ns = ledger->lanes_told && lane[1] >= 0 ? gv_summary_time_sum(&all) : 0;
    bool worked = gv_summary_worked(ledger);
    int error = gv_summary_say_busy(&summary, ledger, busy);

    html_headline(html, &summary, worked, headline);
    gv_json_text(json, "version", GV_VERSION);
    gv_json_text(json, "headline", headline);
    gv_json_text(json, "of", ledger->stepped ? "a step" : "the run");
    gv_json_text(json, "busy", busy[0] ? busy : NULL);
    gv_json_open(json, "budget", '[');
    if (ledger->lanes_told > 0)
        html_budget(html, json);
    gv_json_close(json, ']');
    gv_json_open(json, "accounts", '[');
    if (!error)
        error = gv_database_each(html->trace, sql_accounts, lane, 2, gv_statement_rows_array, json);
    gv_json_close(json, ']');
    if (run_ns > 0)
        gv_json_real(json, "busy_share", (double)all.busy_ns / (double)run_ns);
    else
        gv_json_null(json, "busy_share");
    gv_json_text(json, "about", text);
    return error;
}

/* What is above the tables: the summary's lines, and the findings. */
static int html_findings(struct html *html)
{
    struct gv_summary summary = html_subject(html, NULL);
    struct gv_summary_ledger *ledger = calloc(1, sizeof(*ledger));
    char *text = NULL;
    struct gv_json json;
    int error = ledger ? gv_summary_ledger_read(&summary, ledger) : -ENOMEM;

    html->ledger = ledger;
    if (!error)
        error = html_print(html, html_about, &text);
    gv_json_begin(&json, html->out, '{');
    if (!error)
        error = html_say(html, text, &json);
    gv_json_open(&json, "facts", '[');
    for (size_t i = 0; !error && i < html->report->list.count; i++)
        html_fact(&html->report->list.facts[i], html->report->path, &json);
    gv_json_close(&json, ']');
    gv_json_open(&json, "findings", '[');
    for (size_t i = 0; !error && i < ledger->told; i++)
        html_finding(html, &ledger->findings[i], &json);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    html->ledger = NULL;
    free(ledger);
    free(text);
    return error;
}

/* How the rows of the report are shown. */
static int html_tables(struct html *html)
{
    static const char *const kinds[] = {
        [GV_COLUMN_TEXT] = "text",     [GV_COLUMN_NAME] = "name",
        [GV_COLUMN_NUMBER] = "number", [GV_COLUMN_DURATION] = "duration",
        [GV_COLUMN_MOMENT] = "moment", [GV_COLUMN_SIZE] = "size",
        [GV_COLUMN_SHARE] = "share",
    };
    static const struct {
        const char *name, *title;
        struct gv_column columns[GV_HTML_TABLE_COLUMNS]; /* ended by one without a name */
    } tables[] = {
#define GV_SECTION(name, shape, title, ...) {#name, title, {__VA_ARGS__}},
#include "report/commands/report/sections.def"
    };
    struct gv_json json;

    gv_json_begin(&json, html->out, '{');
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        gv_json_open(&json, tables[i].name, '{');
        gv_json_text(&json, "title", tables[i].title);
        gv_json_open(&json, "columns", '[');
        for (const struct gv_column *column = tables[i].columns; column->name; column++) {
            gv_json_open(&json, NULL, '[');
            gv_json_text(&json, NULL, column->name);
            gv_json_text(&json, NULL, kinds[GV_COLUMN_KIND(column->kind)]);
            gv_json_close(&json, ']');
        }
        gv_json_close(&json, ']');
        gv_json_close(&json, '}');
    }
    gv_json_end(&json, '}');
    return 0;
}

static int html_stories(struct html *html)
{
    struct gv_json json;
    int error;

    gv_json_begin(&json, html->out, '[');
    error = gv_stories_write(html->trace, html->report->path, &json);
    gv_json_end(&json, ']');
    return error;
}

/* A frame and those below it, in the order of the tree: [depth, kind, ns, samples, name]. */
static void html_flame(struct html *html, const struct gv_flame *frame, int depth, int64_t least_ns)
{
    struct gv_json name = {.out = html->out}; /* no array: a frame takes one line */
    int64_t small_ns = 0;

    fprintf(html->out, "%s\n[%d,%d,%" PRId64 ",%" PRId64 ",", depth ? "," : "", depth,
            (int)frame->kind, frame->ns, frame->samples);
    gv_json_text(&name, NULL, frame->name);
    fputc(']', html->out);
    for (size_t i = 0; i < frame->count; i++)
        if (frame->children[i]->ns >= least_ns)
            html_flame(html, frame->children[i], depth + 1, least_ns);
        else
            small_ns = gv_time_sum(small_ns, frame->children[i]->ns);
    if (small_ns >= least_ns && small_ns > 0)
        fprintf(html->out, ",\n[%d,%d,%" PRId64 ",0,\"smaller ones\"]", depth + 1,
                (int)GV_FLAME_NATIVE, small_ns);
}

static int html_flames(struct html *html)
{
    int error = 0;

    fputc('[', html->out);
    for (size_t i = 0; i < GV_WEIGHED_COUNT && !error; i++) {
        struct gv_flame *root = NULL;
        fprintf(html->out, "%s{\"title\": \"%s\", \"leaf\": \"%s\", \"frames\": [", i ? ", " : "",
                gv_weighed[i].title, gv_weighed[i].leaf);
        error = gv_flame_read(html->trace, &gv_weighed[i], &root);
        if (!error)
            html_flame(html, root, 0, root->ns / GV_HTML_FLAME_SMALL);
        error = error == -ENODATA ? 0 : error;
        gv_flame_free(root);
        fputs("]}", html->out);
    }
    fputs("]\n", html->out);
    return error;
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

    gv_offer_called(NULL); /* the page may be read elsewhere */
    html.out = fopencookie(&html, "w", (cookie_io_functions_t){.write = html_write_json});
    if (!html.out)
        error = -ENOMEM;
    if (!error) {
        report->trace = trace;
        report->path = what->path;
        report->columns = GV_HTML_COLUMNS;
        report->top = GV_HTML_TOP;
        report->part = GV_TOTALS_ALL;
        report->evidence = true;
    }
    for (size_t i = 0; !error && i < sizeof(html_parts) / sizeof(html_parts[0]); i++) {
        if (html_parts[i].text)
            fputs(html_parts[i].text, out);
        else
            error = html_parts[i].write(&html);
        if (!error && fflush(html.out) != 0)
            error = GV_EXPORT_STOPPED;
    }
    if (html.out && fclose(html.out) != 0 && !error)
        error = GV_EXPORT_STOPPED;
    free(report);
    return ferror(out) ? 0 : error;
}

bool gv_export_is_html(const char *head)
{
    return strncmp(head, "<!doctype html>", 15) == 0 && strstr(head, GV_HTML_MADE_BY) != NULL;
}
