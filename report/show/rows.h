/*
 * Writes rows of values as a table for people, as CSV, JSON or Markdown.
 *
 * Call begin, then for every row as many values as there are columns, then end. Only end reports
 * errors. Text may come from anywhere: it is escaped.
 */
#ifndef GV_SHOW_ROWS_H
#define GV_SHOW_ROWS_H

#include "report/show/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Texts are cut to this many bytes, ending in "...": longer than any of ours, and short enough
 * that a trace with long names does not make a document many times as long. */
#define GV_ROWS_TEXT_BYTES 8192u

#define GV_ROWS_NAME_COLUMNS 40u

enum gv_format {
    GV_FORMAT_TABLE,
    GV_FORMAT_CSV,  /* RFC 4180, but lines end in LF; NULL is an empty field, an empty text is "" */
    GV_FORMAT_JSON, /* one object for each row, in an array */
    GV_FORMAT_MARKDOWN,
};

/* The format of a column's values for people. CSV and JSON have the plain values. */
enum gv_column_kind {
    GV_COLUMN_TEXT,
    GV_COLUMN_NAME, /* text: a kernel's name, see gv_rows_fit_names */
    GV_COLUMN_NUMBER,
    GV_COLUMN_DURATION, /* nanoseconds, as 1.23 ms */
    GV_COLUMN_MOMENT,   /* nanoseconds since the start, as 1.234 s */
    GV_COLUMN_SIZE,     /* bytes, as 4.0 KiB */
    GV_COLUMN_SHARE,    /* 0 to 1, as 12.3 % */
};

/* Added to a column's kind: if a table is too wide, 1 is dropped first, then 2, ...; others only
 * if nothing else is left. */
#define GV_GIVES_WAY(rank, kind) ((enum gv_column_kind)((kind) | (rank) << 4))
#define GV_COLUMN_KIND(kind)     ((enum gv_column_kind)((kind)&0xfu))
#define GV_COLUMN_RANK(kind)     ((unsigned int)(kind) >> 4)

struct gv_column {
    const char *name;
    enum gv_column_kind kind;
};

/* Shortens names to about `width` columns and keeps different ones different. The caller frees
 * each. */
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
    struct gv_json *json; /* with an open array, to which the rows are added */
    struct gv_row_cells *cells;
    int error;
};

/* The format named by an option: table or text, csv, json, markdown. */
enum gv_format gv_format_find(const char *text);

/* `columns` belongs to the caller and must outlive the rows. A table is as wide as the terminal
 * that `out` is, if any: columns are dropped, names and other text are narrowed to no less than
 * GV_ROWS_NAME_COLUMNS, and text without room gets its own line below its row. `json`, if
 * not NULL, has an open array for them; else they are a document of their own. */
void gv_rows_begin(struct gv_rows *rows, FILE *out, enum gv_format format,
                   const struct gv_column *columns, size_t count, struct gv_json *json);
/* 0 or -errno. */
int gv_rows_end(struct gv_rows *rows);

void gv_rows_text(struct gv_rows *rows, const char *text); /* NULL is NULL */
/* Whole, however long. */
void gv_rows_bytes(struct gv_rows *rows, const char *text, size_t bytes);
void gv_rows_number(struct gv_rows *rows, int64_t number);
/* A number that is 0 if it is unknown. */
void gv_rows_known(struct gv_rows *rows, int64_t number);
void gv_rows_real(struct gv_rows *rows, double real);
void gv_rows_null(struct gv_rows *rows);

#endif
