/*
 * Rows of values, written as a table for people, as CSV, as JSON or as markdown.
 *
 * begin, then for every row as many values as there are columns, then end. Nothing can fail before
 * the end, which tells of everything. Text may come from anywhere: it is made harmless.
 */
#ifndef GV_SHOW_ROWS_H
#define GV_SHOW_ROWS_H

#include "report/show/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text is cut to so many bytes, ending in "...": more than anything of ours takes, and little
 * enough that a trace with long names does not become many times as long a document. */
#define GV_ROWS_TEXT_BYTES 8192u

#define GV_ROWS_NAME_COLUMNS 40u

enum gv_format {
    GV_FORMAT_TABLE,
    GV_FORMAT_CSV,  /* RFC 4180, but lines end in LF; NULL is nothing, an empty text is "" */
    GV_FORMAT_JSON, /* one object for each row, in an array */
    GV_FORMAT_MARKDOWN,
};

/* How people read the values of a column. CSV and JSON have them as they are. */
enum gv_column_kind {
    GV_COLUMN_TEXT,
    GV_COLUMN_NAME, /* text: a kernel's name, see gv_rows_fit_names */
    GV_COLUMN_NUMBER,
    GV_COLUMN_DURATION, /* nanoseconds, as 1.23 ms */
    GV_COLUMN_MOMENT,   /* nanoseconds since the start, as 1.234 s */
    GV_COLUMN_SIZE,     /* bytes, as 4.0 KiB */
    GV_COLUMN_SHARE,    /* 0 to 1, as 12.3 % */
};

/* Of a column's kind: where a table has no room for all, 1 gives way first, then 2, ...; others
 * only when nothing else is left. */
#define GV_GIVES_WAY(rank, kind) ((enum gv_column_kind)((kind) | (rank) << 4))
#define GV_COLUMN_KIND(kind)     ((enum gv_column_kind)((kind)&0xfu))
#define GV_COLUMN_RANK(kind)     ((unsigned int)(kind) >> 4)

struct gv_column {
    const char *name;
    enum gv_column_kind kind;
};

/* Shortens different names to about `width` columns so that they stay different. Each is the
 * caller's, from malloc. */
typedef void gv_rows_fit_names(char **names, size_t count, unsigned int width);

struct gv_rows {
    FILE *out;
    enum gv_format format;
    const struct gv_column *columns;
    size_t count;
    size_t at;                    /* the next value's column */
    unsigned int width;           /* of a table, in columns of the terminal; 0: no limit */
    gv_rows_fit_names *fit_names; /* may be set after gv_rows_begin() */
    struct gv_json own;
    struct gv_json *json; /* may be another's, which the rows become a value of */
    struct gv_row_cells *cells;
    int error;
};

/* The format of an option's text: table or text, csv, json, markdown. */
enum gv_format gv_format_find(const char *text);

/* `columns` stays the caller's and has to outlive the rows. A table is as wide as the terminal that
 * `out` is, if it is one: then columns give way, names and other text narrow to no less than
 * GV_ROWS_NAME_COLUMNS, and text for which there is no room has a line of its own under its row.
 * `json` NULL: the rows are a document of their own. */
void gv_rows_begin(struct gv_rows *rows, FILE *out, enum gv_format format,
                   const struct gv_column *columns, size_t count, struct gv_json *json);
/* 0 or -errno. */
int gv_rows_end(struct gv_rows *rows);

void gv_rows_text(struct gv_rows *rows, const char *text); /* NULL is NULL */
/* Whole, however long. */
void gv_rows_bytes(struct gv_rows *rows, const char *text, size_t bytes);
void gv_rows_number(struct gv_rows *rows, int64_t number);
/* A number that is 0 when it could not be known. */
void gv_rows_known(struct gv_rows *rows, int64_t number);
void gv_rows_real(struct gv_rows *rows, double real);
void gv_rows_null(struct gv_rows *rows);

#endif
