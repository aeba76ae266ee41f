#include "report/show/rows.h"

#include "report/show/format.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum gv_format gv_format_find(const char *text)
{
    if (strcmp(text, "csv") == 0)
        return GV_FORMAT_CSV;
    if (strcmp(text, "json") == 0)
        return GV_FORMAT_JSON;
    return strcmp(text, "markdown") == 0 ? GV_FORMAT_MARKDOWN : GV_FORMAT_TABLE;
}

/* A CSV field, quoted if needed. Control characters, which would reach the terminal, become U+FFFD.
 */
static void rows_csv(struct gv_rows *rows, const char *text, size_t bytes)
{
    bool quoted = bytes == 0;
    size_t from = 0, length;

    for (size_t i = 0; i < bytes; i++)
        quoted |= strchr(",\"\r\n", text[i]) != NULL; /* NUL too */
    if (quoted)
        fputc('"', rows->out);
    for (size_t at = 0; at < bytes; at += length) {
        uint32_t character = gv_text_decode(text + at, bytes - at, &length);
        bool kept = character == '\n' || character == '\t';
        bool replaced =
            character == GV_TEXT_NO_CHARACTER || (!kept && gv_text_is_harmful(character));
        if (character != '"' && !replaced)
            continue;
        fwrite(text + from, 1, at - from, rows->out);
        fputs(replaced ? "\xef\xbf\xbd" : "\"\"", rows->out);
        from = at + length;
    }
    fwrite(text + from, 1, bytes - from, rows->out);
    if (quoted)
        fputc('"', rows->out);
}

static void rows_csv_next(struct gv_rows *rows)
{
    fputc(rows->at == rows->count ? '\n' : ',', rows->out);
}

/* ---- tables and Markdown: cells are stored until the widths of the columns are known ---- */

/* The widest cell, even if the output is wider. */
#define GV_CELL_COLUMNS   120u
#define GV_CELL_BYTES_MAX (GV_CELL_COLUMNS * 6u + 8u)
/* Columns between two of a table. */
#define GV_CELL_GAP 2u
#define GV_CELL_CUT "..."
/* Characters shown before the difference of two texts, if no word starts there. */
#define GV_CELL_BEFORE 10u
/* A shorter text counts as short. */
#define GV_CELL_LONG 24u
/* Before a text on its own line. */
#define GV_CELL_INDENT 4
/* The first rows, which decide the widths of the columns; later ones must fit. */
#define GV_CELLS_ROWS  1000u
#define GV_CELLS_NAMES 1000u

enum gv_cell_place { GV_CELL_IN_ROW, GV_CELL_BELOW, GV_CELL_LEFT_OUT };

struct gv_cell_column {
    unsigned int natural, least, width;
    enum gv_cell_place place;
};

struct gv_row_cells {
    char **texts;
    size_t count;
    size_t room;
    struct gv_cell_column *columns; /* NULL until they are decided */
    size_t last;                    /* column of a row */
};

static enum gv_column_kind column_kind(const struct gv_rows *rows, size_t column)
{
    return GV_COLUMN_KIND(rows->columns[column].kind);
}

static unsigned int column_rank(const struct gv_rows *rows, size_t column)
{
    return GV_COLUMN_RANK(rows->columns[column].kind);
}

static bool column_is_text(const struct gv_rows *rows, size_t column)
{
    return column_kind(rows, column) == GV_COLUMN_TEXT ||
           column_kind(rows, column) == GV_COLUMN_NAME;
}

static void cells_drop(struct gv_row_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        free(cells->texts[i]);
    cells->count = 0;
}

static void cells_free(struct gv_row_cells *cells)
{
    cells_drop(cells);
    free(cells->texts);
    free(cells->columns);
    free(cells);
}

/* ---- what is too wide ---- */

/* The last `columns` of a text. */
static const char *cell_end(const char *text, size_t columns)
{
    return text + gv_format_prefix(text, gv_text_width(text) - columns);
}

/* A text in `width` columns, which the caller frees: without its middle up to byte `from`; if
 * that is 0, a path without its start, and any other text without its end. */
static char *cell_cut(const char *text, unsigned int width, size_t from)
{
    unsigned int room = width > 3 ? width - 3 : 0, head = room / 3;
    size_t kept = gv_format_prefix(text, head);
    const char *rest;
    char *cut = NULL;

    if (gv_text_width(text) <= width)
        return strdup(text);
    if (from > kept) {
        const char *end = cell_end(text, room - head);
        rest = text + from < end ? text + from : end;
        if (asprintf(&cut, "%.*s" GV_CELL_CUT "%.*s", (int)kept, text,
                     (int)gv_format_prefix(rest, room - head), rest) < 0)
            return NULL;
    } else if (memchr(text, '/', gv_format_prefix(text, gv_text_width(text) - room))) {
        if (asprintf(&cut, GV_CELL_CUT "%s", cell_end(text, room)) < 0)
            return NULL;
    } else if (asprintf(&cut, "%.*s%.*s", (int)gv_format_prefix(text, room), text,
                        (int)(width - room), GV_CELL_CUT) < 0) {
        return NULL;
    }
    return cut;
}

/* Where two texts differ, at the start of the word, or a little before. */
static size_t cell_differs(const char *one, const char *other)
{
    size_t at = 0, least;

    while (one[at] && one[at] == other[at])
        at++;
    least = at > GV_CELL_BEFORE ? at - GV_CELL_BEFORE : 0;
    while (at > least && (!strchr("_ <,:/.(", one[at - 1]) || (one[at] & 0xc0) == 0x80))
        at--;
    while ((one[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Where a cut text differs from the most similar one; 0: their starts differ. */
static size_t cells_looks_like(char *const *texts, size_t step, size_t count, size_t own,
                               unsigned int width)
{
    size_t from = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = strcmp(texts[i * step], texts[own * step]) == 0
                        ? 0
                        : cell_differs(texts[own * step], texts[i * step]);
        from = at > from ? at : from;
    }
    return from > width / 2 ? from : 0;
}

/* Cuts a column's texts. Similar names lose what they have in common. */
static void cells_cut_column(const struct gv_rows *rows, size_t column)
{
    struct gv_row_cells *cells = rows->cells;
    unsigned int width = cells->columns[column].width;
    size_t step = rows->count, count = cells->count / step;
    char **texts = cells->texts + column, **cuts = calloc(count + 1, sizeof(*cuts));
    bool names = column_kind(rows, column) == GV_COLUMN_NAME;

    for (size_t i = 0; cuts && i < count; i++)
        if (gv_text_width(texts[i * step]) > width)
            cuts[i] = cell_cut(texts[i * step], width,
                               names ? cells_looks_like(texts, step, count, i, width) : 0);
    for (size_t i = 0; cuts && i < count; i++)
        if (cuts[i]) {
            free(texts[i * step]);
            texts[i * step] = cuts[i];
        }
    free(cuts);
}

/* ---- how a table fits ---- */

static void cells_measure(const struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;
    unsigned int name = rows->width < GV_ROWS_NAME_COLUMNS ? rows->width : GV_ROWS_NAME_COLUMNS;

    for (size_t i = 0; i < rows->count; i++)
        cells->columns[i].natural = (unsigned int)gv_text_width(rows->columns[i].name);
    for (size_t i = 0; i < cells->count; i++) {
        unsigned int width = (unsigned int)gv_text_width(cells->texts[i]);
        if (width > cells->columns[i % rows->count].natural)
            cells->columns[i % rows->count].natural = width;
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct gv_cell_column *column = &cells->columns[i];
        column->width = column->least = column->natural;
        if (column_is_text(rows, i) && column->least > name)
            column->least = name;
    }
}

/* The width of a row's columns, with the gaps. */
static unsigned int cells_total(const struct gv_rows *rows, bool least)
{
    unsigned int total = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct gv_cell_column *column = &rows->cells->columns[i];
        if (column->place == GV_CELL_IN_ROW)
            total += (least ? column->least : column->width) + (total ? GV_CELL_GAP : 0);
    }
    return total;
}

/* Leaves columns out until the rest fits: those that may be dropped, in their order and from the
 * right; `all`: other numbers too. */
static bool cells_give_way(const struct gv_rows *rows, bool all)
{
    unsigned int last = 0;

    for (size_t i = 0; i < rows->count; i++)
        last = column_rank(rows, i) > last ? column_rank(rows, i) : last;
    for (unsigned int rank = 1; rank <= last + (all ? 1 : 0); rank++)
        for (size_t i = rows->count; i-- > 1;) {
            bool gives = rank <= last ? column_rank(rows, i) == rank : !column_is_text(rows, i);
            if (cells_total(rows, true) <= rows->width)
                return true;
            if (gives && rows->cells->columns[i].place == GV_CELL_IN_ROW)
                rows->cells->columns[i].place = GV_CELL_LEFT_OUT;
        }
    return cells_total(rows, true) <= rows->width;
}

/* The text that goes onto its own line: the widest one except the first column's, the last of
 * several; if that is short, the first column's, unless that is short too. rows->count: none. */
static size_t cells_widest(const struct gv_rows *rows)
{
    const struct gv_cell_column *columns = rows->cells->columns;
    size_t widest = rows->count;

    for (size_t i = rows->count; i-- > 1;)
        if (column_is_text(rows, i) && columns[i].place == GV_CELL_IN_ROW &&
            (widest == rows->count || columns[i].natural > columns[widest].natural))
            widest = i;
    if (widest == rows->count || columns[widest].natural >= GV_CELL_LONG)
        return widest;
    return column_is_text(rows, 0) && columns[0].place == GV_CELL_IN_ROW &&
                   columns[0].natural >= GV_CELL_LONG
               ? 0
               : widest;
}

/* Numbers are dropped first; text that still does not fit goes below its row. */
static void cells_choose(const struct gv_rows *rows)
{
    struct gv_cell_column *columns = rows->cells->columns;
    size_t below;

    while (!cells_give_way(rows, false) && (below = cells_widest(rows)) < rows->count) {
        columns[below].place = GV_CELL_BELOW;
        for (size_t i = 0; i < rows->count; i++)
            if (columns[i].place == GV_CELL_LEFT_OUT)
                columns[i].place = GV_CELL_IN_ROW;
    }
    cells_give_way(rows, true);
}

/* Narrows the widest text until the row fits. */
static void cells_shrink(const struct gv_rows *rows)
{
    struct gv_cell_column *columns = rows->cells->columns;

    while (cells_total(rows, false) > rows->width) {
        struct gv_cell_column *widest = NULL;
        for (size_t i = 0; i < rows->count; i++)
            if (columns[i].place == GV_CELL_IN_ROW && columns[i].width > columns[i].least &&
                (!widest || columns[i].width > widest->width))
                widest = &columns[i];
        if (!widest)
            return;
        widest->width--;
    }
}

/* Shortens the names of a column by their meaning. */
static void cells_shorten(const struct gv_rows *rows, size_t column, unsigned int width)
{
    struct gv_row_cells *cells = rows->cells;
    size_t count = cells->count / rows->count;
    char **names = calloc(count + 1, sizeof(*names));

    if (!names)
        return;
    for (size_t i = 0; i < count; i++)
        names[i] = cells->texts[i * rows->count + column];
    rows->fit_names(names, count, width);
    for (size_t i = 0; i < count; i++)
        cells->texts[i * rows->count + column] = names[i];
    free(names);
}

static void cells_fit(const struct gv_rows *rows)
{
    struct gv_cell_column *columns = rows->cells->columns;

    for (size_t i = 0; rows->fit_names && i < rows->count; i++)
        if (column_kind(rows, i) == GV_COLUMN_NAME && cells_total(rows, false) > rows->width) {
            unsigned int others = cells_total(rows, false) - columns[i].natural;
            unsigned int width = rows->width > others ? rows->width - others : 0;
            cells_shorten(rows, i, width > GV_ROWS_NAME_COLUMNS ? width : GV_ROWS_NAME_COLUMNS);
            cells_measure(rows);
        }
    cells_choose(rows);
    cells_shrink(rows);
    for (size_t i = 0; i < rows->count; i++) {
        if (columns[i].place == GV_CELL_BELOW) {
            unsigned int label = GV_CELL_INDENT + (unsigned int)strlen(rows->columns[i].name) + 2;
            columns[i].width = rows->width > label + 12 ? rows->width - label : 12;
        }
        cells_cut_column(rows, i);
    }
}

static int cells_decide(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    cells->columns = calloc(rows->count ? rows->count : 1, sizeof(*cells->columns));
    if (!cells->columns)
        return -ENOMEM;
    cells_measure(rows);
    if (rows->width && cells_total(rows, false) > rows->width)
        cells_fit(rows);
    for (size_t i = 0; i < rows->count; i++)
        if (cells->columns[i].place == GV_CELL_IN_ROW)
            cells->last = i;
    return 0;
}

/* ---- writing ---- */

/* A cell: numbers to the right. */
static void cell_print(const struct gv_rows *rows, size_t column, const char *text)
{
    const struct gv_cell_column *fit = &rows->cells->columns[column];
    bool right = !column_is_text(rows, column);
    char *cut = cell_cut(text, fit->width, 0);
    unsigned int columns = (unsigned int)gv_text_width(cut ? cut : "");

    if (right)
        fprintf(rows->out, "%*s", (int)(fit->width - columns), "");
    fputs(cut ? cut : "", rows->out);
    if (!right && column != rows->cells->last)
        fprintf(rows->out, "%*s", (int)(fit->width - columns), "");
    free(cut);
}

static void cells_table_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    const struct gv_row_cells *cells = rows->cells;

    fputs(head ? gv_colour(rows->out, GV_COLOUR_BOLD) : "", rows->out);
    for (size_t i = 0; i < rows->count; i++) {
        if (cells->columns[i].place != GV_CELL_IN_ROW)
            continue;
        cell_print(rows, i, head ? rows->columns[i].name : texts[i]);
        if (i != cells->last)
            fprintf(rows->out, "%*s", (int)GV_CELL_GAP, "");
    }
    fprintf(rows->out, "%s\n", head ? gv_colour(rows->out, GV_COLOUR_NONE) : "");
    for (size_t i = 0; i < rows->count && !head; i++)
        if (cells->columns[i].place == GV_CELL_BELOW && strcmp(texts[i], "-") != 0)
            fprintf(rows->out, "%*s%s%s:%s %s\n", GV_CELL_INDENT, "",
                    gv_colour(rows->out, GV_COLOUR_DIM), rows->columns[i].name,
                    gv_colour(rows->out, GV_COLOUR_NONE), texts[i]);
}

/* Escapes what Markdown would interpret. */
static void cells_markdown_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_<>[]", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void cells_markdown_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    for (size_t i = 0; i < rows->count; i++) {
        fputs("| ", rows->out);
        cells_markdown_text(rows->out, head ? rows->columns[i].name : texts[i]);
        fputc(' ', rows->out);
    }
    fputs("|\n", rows->out);
    for (size_t i = 0; i < rows->count && head; i++)
        fputs(column_is_text(rows, i) ? "| --- " : "| ---: ", rows->out);
    if (head)
        fputs("|\n", rows->out);
}

static void cells_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    if (rows->format == GV_FORMAT_MARKDOWN)
        cells_markdown_line(rows, texts, head);
    else
        cells_table_line(rows, texts, head);
}

/* Writes the stored whole rows. */
static int cells_flush(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    if (!cells->columns) {
        int error = cells_decide(rows);
        if (error)
            return error;
        cells_line(rows, NULL, true);
    }
    for (size_t i = 0; i + rows->count <= cells->count; i += rows->count)
        cells_line(rows, cells->texts + i, false);
    cells_drop(cells);
    return 0;
}

/* Prints which columns a narrow terminal does not show. */
static void cells_left_out(const struct gv_rows *rows)
{
    char names[GV_CELLS_NAMES] = "";
    size_t length = 0;

    for (size_t i = 0; i < rows->count && length < sizeof(names); i++)
        if (rows->cells->columns[i].place == GV_CELL_LEFT_OUT)
            length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                       length ? ", " : "", rows->columns[i].name);
    if (length > 0)
        gv_text_lines(rows->out, 2, "not shown here: ", names, (int)rows->width);
}

/* An escaped copy, cut to a cell's width. */
static char *cell_text(const char *text, size_t bytes)
{
    char escaped[GV_CELL_BYTES_MAX], part[GV_CELL_BYTES_MAX];
    size_t taken = bytes < sizeof(part) - 1 ? bytes : sizeof(part) - 1;

    for (size_t i = 0; i < taken; i++)
        part[i] = text[i] ? text[i] : ' ';
    part[taken] = '\0';
    gv_text_escape(escaped, sizeof(escaped), part);
    if (gv_text_width(escaped) > GV_CELL_COLUMNS)
        strcpy(escaped + gv_format_prefix(escaped, GV_CELL_COLUMNS - 3), "...");
    return strdup(escaped);
}

/* Stores a cell for the next column; copies and escapes the text. 0 or -errno. */
static int cells_add(struct gv_rows *rows, const char *text, size_t bytes)
{
    struct gv_row_cells *cells = rows->cells;

    if (cells->count == cells->room) {
        size_t room = cells->room ? cells->room * 2 : 256;
        char **grown = realloc(cells->texts, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        cells->texts = grown;
        cells->room = room;
    }
    cells->texts[cells->count] = cell_text(text, bytes);
    if (!cells->texts[cells->count])
        return -ENOMEM;
    cells->count++;
    if (cells->count % rows->count == 0 &&
        (cells->columns || cells->count / rows->count >= GV_CELLS_ROWS))
        return cells_flush(rows);
    return 0;
}

/* ---- rows in any format ---- */

void gv_rows_begin(struct gv_rows *rows, FILE *out, enum gv_format format,
                   const struct gv_column *columns, size_t count, struct gv_json *json)
{
    *rows = (struct gv_rows){
        .out = out, .format = format, .columns = columns, .count = count, .json = json};
    if (format == GV_FORMAT_CSV) {
        while (rows->at < count) {
            rows_csv(rows, columns[rows->at].name, strlen(columns[rows->at].name));
            rows->at++;
            rows_csv_next(rows);
        }
        rows->at = 0;
    } else if (format == GV_FORMAT_JSON) {
        if (!json) {
            gv_json_begin(&rows->own, out, '[');
            rows->json = &rows->own;
        }
    } else {
        rows->width = format == GV_FORMAT_TABLE ? gv_terminal_width(out) : 0;
        rows->cells = calloc(1, sizeof(*rows->cells));
        rows->error = rows->cells ? 0 : -ENOMEM;
    }
}

int gv_rows_end(struct gv_rows *rows)
{
    if (rows->json == &rows->own)
        gv_json_end(rows->json, ']');
    if (rows->cells) {
        if (!rows->error)
            rows->error = cells_flush(rows);
        if (!rows->error)
            cells_left_out(rows);
        cells_free(rows->cells);
        rows->cells = NULL;
    }
    return rows->error;
}

/* The key of the next value. */
static const char *rows_key(struct gv_rows *rows)
{
    if (rows->at == 0)
        gv_json_open(rows->json, NULL, '{');
    return rows->columns[rows->at].name;
}

/* After a value. */
static void rows_next(struct gv_rows *rows)
{
    rows->at++;
    if (rows->format == GV_FORMAT_CSV)
        rows_csv_next(rows);
    if (rows->at < rows->count)
        return;
    if (rows->format == GV_FORMAT_JSON)
        gv_json_close(rows->json, '}');
    rows->at = 0;
}

/* For people, or as CSV. */
static void rows_put(struct gv_rows *rows, const char *text, size_t bytes)
{
    if (rows->format == GV_FORMAT_CSV)
        rows_csv(rows, text, bytes);
    else if (rows->cells && !rows->error)
        rows->error = cells_add(rows, text, bytes);
}

void gv_rows_bytes(struct gv_rows *rows, const char *text, size_t bytes)
{
    if (rows->format == GV_FORMAT_JSON)
        gv_json_bytes(rows->json, rows_key(rows), text, bytes);
    else
        rows_put(rows, text, bytes);
    rows_next(rows);
}

void gv_rows_text(struct gv_rows *rows, const char *text)
{
    char part[GV_ROWS_TEXT_BYTES];

    if (!text) {
        gv_rows_null(rows);
        return;
    }
    gv_format_cut(part, sizeof(part), text);
    gv_rows_bytes(rows, part, strlen(part));
}

static void rows_number_for_people(enum gv_column_kind kind, int64_t number,
                                   char out[GV_FORMAT_BYTES])
{
    switch (kind) {
    case GV_COLUMN_DURATION:
        gv_format_duration(out, number);
        break;
    case GV_COLUMN_MOMENT:
        snprintf(out, GV_FORMAT_BYTES, "%.3f s", (double)number / 1e9);
        break;
    case GV_COLUMN_SIZE:
        gv_format_size(out, number);
        break;
    default:
        snprintf(out, GV_FORMAT_BYTES, "%" PRId64, number);
        break;
    }
}

void gv_rows_number(struct gv_rows *rows, int64_t number)
{
    char text[GV_FORMAT_BYTES];

    if (rows->format == GV_FORMAT_JSON) {
        gv_json_number(rows->json, rows_key(rows), number);
    } else {
        rows_number_for_people(rows->format == GV_FORMAT_CSV ? GV_COLUMN_NUMBER
                                                             : column_kind(rows, rows->at),
                               number, text);
        rows_put(rows, text, strlen(text));
    }
    rows_next(rows);
}

void gv_rows_known(struct gv_rows *rows, int64_t number)
{
    if (number)
        gv_rows_number(rows, number);
    else
        gv_rows_null(rows);
}

void gv_rows_real(struct gv_rows *rows, double real)
{
    char text[GV_FORMAT_BYTES];

    if (rows->format == GV_FORMAT_JSON) {
        gv_json_real(rows->json, rows_key(rows), real);
    } else {
        gv_format_real(text, real);
        if (rows->format != GV_FORMAT_CSV && column_kind(rows, rows->at) == GV_COLUMN_SHARE)
            snprintf(text, sizeof(text), "%.1f %%", real * 100);
        rows_put(rows, text, strlen(text));
    }
    rows_next(rows);
}

void gv_rows_null(struct gv_rows *rows)
{
    if (rows->format == GV_FORMAT_JSON)
        gv_json_null(rows->json, rows_key(rows));
    else if (rows->format != GV_FORMAT_CSV)
        rows_put(rows, "-", 1);
    rows_next(rows);
}
