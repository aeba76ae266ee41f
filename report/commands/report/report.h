/*
 * Reports on a trace: the summary, and sections (report/commands/report/sections.def), as text,
 * JSON, CSV or Markdown.
 */
#ifndef GV_COMMANDS_REPORT_REPORT_H
#define GV_COMMANDS_REPORT_REPORT_H

#include "report/commands/arguments.h"
#include "report/analyse/totals/part.h"
#include "report/commands/summary/summary.h"
#include "report/show/json.h"
#include "report/show/rows.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

enum gv_section_id {
    GV_SECTION_findings,
    GV_SECTION_verdict, /* an older name of it */
#define GV_SECTION(name, shape, title, ...) GV_SECTION_##name,
#include "report/commands/report/sections.def"
    GV_SECTIONS_COUNT
};

struct gv_report {
    sqlite3 *trace;
    const char *path;
    FILE *out;
    enum gv_format format;
    int columns; /* of text */
    int64_t top; /* rows per section; -1: all */
    struct gv_totals_part part;
    struct gv_ended ended; /* of a process, if known */
    bool wanted[GV_SECTIONS_COUNT];
    bool evidence; /* below each finding */
    bool picked;   /* only named sections, even if empty */
    bool minutes;  /* their tables are made */
    struct gv_run_facts facts;
    struct gv_fact_list list;
    struct gv_json json;
};

/* The sections' names, " a b c". */
extern const char gv_report_section_words[];

/* Writes it. 0 or -errno. */
int gv_report_write(struct gv_report *report);

/* What its summary is about. */
struct gv_summary gv_report_summary(const struct gv_report *report);

/* The parameters of a section's query: :process, :thread, :device, :from, :to, :top. */
void gv_report_bind(const struct gv_report *report, sqlite3_stmt *rows);

/* report/commands/report/section_lines.c: sections that are pictures for people. 0 or -errno. */
int gv_section_timeline(struct gv_report *report);
int gv_section_samples(struct gv_report *report);

/* Sets the part's times. 0; GV_EXIT_...: a message was printed; or -errno. */
int gv_report_moments_read(sqlite3 *trace, const struct gv_arguments *arguments,
                           struct gv_totals_part *part);

#endif
