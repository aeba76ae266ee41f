#include "report/rows_cells.h"

#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many rows decide how wide the columns are; what comes later has to fit in. */
#define GV_CELLS_ROWS     1000u
#define GV_CELL_LEAST     8u
#define GV_CELL_GAP       2u
#define GV_CELL_BYTES_MAX (GV_CELL_COLUMNS * 6u + 8u)

struct gv_row_cells {
    char **texts;
    size_t count;
    size_t room;
    unsigned int *widths; /* NULL until they are decided */
};

struct gv_row_cells *gv_row_cells_new(void)
{
    return calloc(1, sizeof(struct gv_row_cells));
}

static void gv_cells_drop(struct gv_row_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        free(cells->texts[i]);
    cells->count = 0;
}

void gv_row_cells_free(struct gv_row_cells *cells)
{
    gv_cells_drop(cells);
    free(cells->texts);
    free(cells->widths);
    free(cells);
}

/* Bytes of the first `columns` characters. */
static size_t gv_cell_prefix(const char *text, size_t columns)
{
    size_t at = 0;

    for (; text[at]; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return at;
}

/* Prints a cell in `width` columns: numbers to the right; what is too long ends in "...". */
static void gv_cell_print(const struct gv_rows *rows, const char *text, unsigned int width,
                          bool right, bool last)
{
    unsigned int columns = (unsigned int)gv_text_width(text);

    if (columns > width) {
        fwrite(text, 1, gv_cell_prefix(text, width > 3 ? width - 3 : 0), rows->out);
        fprintf(rows->out, "%.*s", (int)width, "...");
        return;
    }
    if (right)
        fprintf(rows->out, "%*s", (int)(width - columns), "");
    fputs(text, rows->out);
    if (!right && !last)
        fprintf(rows->out, "%*s", (int)(width - columns), "");
}

static bool gv_column_is_right(const struct gv_rows *rows, size_t column)
{
    return rows->columns[column].kind != GV_COLUMN_TEXT;
}

static void gv_cells_table_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    const struct gv_row_cells *cells = rows->cells;

    if (head && rows->bold)
        fputs("\033[1m", rows->out);
    for (size_t i = 0; i < rows->count; i++) {
        bool last = i + 1 == rows->count;
        gv_cell_print(rows, head ? rows->columns[i].name : texts[i], cells->widths[i],
                      gv_column_is_right(rows, i), last);
        if (!last)
            fprintf(rows->out, "%*s", (int)GV_CELL_GAP, "");
    }
    fputs(head && rows->bold ? "\033[0m\n" : "\n", rows->out);
}

/* What markdown would take for something else. */
static void gv_cells_markdown_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_<>[]", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void gv_cells_markdown_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    for (size_t i = 0; i < rows->count; i++) {
        fputs("| ", rows->out);
        gv_cells_markdown_text(rows->out, head ? rows->columns[i].name : texts[i]);
        fputc(' ', rows->out);
    }
    fputs("|\n", rows->out);
    for (size_t i = 0; i < rows->count && head; i++)
        fputs(gv_column_is_right(rows, i) ? "| ---: " : "| --- ", rows->out);
    if (head)
        fputs("|\n", rows->out);
}

static void gv_cells_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    if (rows->format == GV_FORMAT_MARKDOWN)
        gv_cells_markdown_line(rows, texts, head);
    else
        gv_cells_table_line(rows, texts, head);
}

/* Takes columns away from the widest until the table fits, or nothing can be taken. */
static void gv_cells_shrink(const struct gv_rows *rows, unsigned int *widths)
{
    for (;;) {
        size_t widest = rows->count;
        unsigned int total = 0;
        for (size_t i = 0; i < rows->count; i++) {
            total += widths[i] + (i ? GV_CELL_GAP : 0);
            if (!gv_column_is_right(rows, i) && widths[i] > GV_CELL_LEAST &&
                (widest == rows->count || widths[i] > widths[widest]))
                widest = i;
        }
        if (total <= rows->width || widest == rows->count)
            return;
        widths[widest]--;
    }
}

static int gv_cells_decide(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    cells->widths = calloc(rows->count ? rows->count : 1, sizeof(*cells->widths));
    if (!cells->widths)
        return -ENOMEM;
    for (size_t i = 0; i < rows->count; i++)
        cells->widths[i] = (unsigned int)gv_text_width(rows->columns[i].name);
    for (size_t i = 0; i < cells->count; i++) {
        unsigned int width = (unsigned int)gv_text_width(cells->texts[i]);
        if (width > cells->widths[i % rows->count])
            cells->widths[i % rows->count] = width;
    }
    if (rows->width)
        gv_cells_shrink(rows, cells->widths);
    return 0;
}

/* Writes the whole rows that are kept. */
static int gv_cells_flush(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    if (!cells->widths) {
        int error = gv_cells_decide(rows);
        if (error)
            return error;
        gv_cells_line(rows, NULL, true);
    }
    for (size_t i = 0; i + rows->count <= cells->count; i += rows->count)
        gv_cells_line(rows, cells->texts + i, false);
    gv_cells_drop(cells);
    return 0;
}

/* A copy that no terminal obeys, cut to a cell's width. */
static char *gv_cell_text(const char *text, size_t bytes)
{
    char escaped[GV_CELL_BYTES_MAX], part[GV_CELL_BYTES_MAX];
    size_t taken = bytes < sizeof(part) - 1 ? bytes : sizeof(part) - 1;

    for (size_t i = 0; i < taken; i++)
        part[i] = text[i] ? text[i] : ' ';
    part[taken] = '\0';
    gv_text_escape(escaped, sizeof(escaped), part);
    if (gv_text_width(escaped) > GV_CELL_COLUMNS)
        strcpy(escaped + gv_cell_prefix(escaped, GV_CELL_COLUMNS - 3), "...");
    return strdup(escaped);
}

int gv_row_cells_add(struct gv_rows *rows, const char *text, size_t bytes)
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
    cells->texts[cells->count] = gv_cell_text(text, bytes);
    if (!cells->texts[cells->count])
        return -ENOMEM;
    cells->count++;
    if (cells->count % rows->count == 0 &&
        (cells->widths || cells->count / rows->count >= GV_CELLS_ROWS))
        return gv_cells_flush(rows);
    return 0;
}

void gv_row_cells_end(struct gv_rows *rows)
{
    if (!rows->error)
        rows->error = gv_cells_flush(rows);
}
