#include "report/show/rows_cells.h"

#include "report/show/rows_fit.h"
#include "report/show/text_lines.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many rows decide how wide the columns are; what comes later has to fit in. */
#define GV_CELLS_NAMES    1000u
#define GV_CELLS_ROWS     1000u
#define GV_CELL_BYTES_MAX (GV_CELL_COLUMNS * 6u + 8u)

struct gv_row_cells {
    char **texts;
    size_t count;
    size_t room;
    struct gv_row_fit *fits; /* NULL until they are decided */
    size_t shown;            /* columns */
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
    free(cells->fits);
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

/* Prints a cell: numbers to the right; of what is too long, the start and the end. */
static void gv_cell_print(const struct gv_rows *rows, size_t column, const char *text)
{
    const struct gv_row_fit *fit = &rows->cells->fits[column];
    bool right = !gv_column_is_text(rows, column), last = column + 1 == rows->cells->shown;
    unsigned int columns = (unsigned int)gv_text_width(text);

    if (columns > fit->width) {
        unsigned int room = fit->width > GV_CELL_CUT_WIDTH ? fit->width - GV_CELL_CUT_WIDTH : 0;
        fwrite(text, 1, gv_cell_prefix(text, fit->head), rows->out);
        fprintf(rows->out, "%.*s", (int)fit->width, GV_CELL_CUT);
        fputs(text + gv_cell_prefix(text, columns - (room - fit->head)), rows->out);
        return;
    }
    if (right)
        fprintf(rows->out, "%*s", (int)(fit->width - columns), "");
    fputs(text, rows->out);
    if (!right && !last)
        fprintf(rows->out, "%*s", (int)(fit->width - columns), "");
}

static void gv_cells_table_line(const struct gv_rows *rows, char *const *texts, bool head)
{
    const struct gv_row_cells *cells = rows->cells;

    if (head && rows->bold)
        fputs("\033[1m", rows->out);
    for (size_t i = 0; i < cells->shown; i++) {
        gv_cell_print(rows, i, head ? rows->columns[i].name : texts[i]);
        if (i + 1 < cells->shown)
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
        fputs(gv_column_is_text(rows, i) ? "| --- " : "| ---: ", rows->out);
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

static int gv_cells_decide(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    cells->fits = calloc(rows->count ? rows->count : 1, sizeof(*cells->fits));
    if (!cells->fits)
        return -ENOMEM;
    for (size_t i = 0; i < rows->count; i++)
        cells->fits[i].width = (unsigned int)gv_text_width(rows->columns[i].name);
    for (size_t i = 0; i < cells->count; i++) {
        unsigned int width = (unsigned int)gv_text_width(cells->texts[i]);
        if (width > cells->fits[i % rows->count].width)
            cells->fits[i % rows->count].width = width;
    }
    for (size_t i = 0; i < rows->count; i++)
        gv_row_fit_halve(&cells->fits[i]);
    cells->shown = rows->count;
    if (rows->width)
        cells->shown = gv_rows_fit(rows, cells->texts, cells->count, cells->fits);
    return 0;
}

/* Writes the whole rows that are kept. */
static int gv_cells_flush(struct gv_rows *rows)
{
    struct gv_row_cells *cells = rows->cells;

    if (!cells->fits) {
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

/* Says which columns a narrow terminal does not show. */
static void gv_cells_left_away(const struct gv_rows *rows)
{
    const struct gv_row_cells *cells = rows->cells;

    char names[GV_CELLS_NAMES] = "";
    size_t length = 0;

    if (cells->shown == rows->count)
        return;
    for (size_t i = cells->shown; i < rows->count && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i == cells->shown ? "" : ", ", rows->columns[i].name);
    gv_text_lines(rows->out, 2, "not shown here: ", names, (int)rows->width);
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
        (cells->fits || cells->count / rows->count >= GV_CELLS_ROWS))
        return gv_cells_flush(rows);
    return 0;
}

void gv_row_cells_end(struct gv_rows *rows)
{
    if (!rows->error)
        rows->error = gv_cells_flush(rows);
    if (!rows->error)
        gv_cells_left_away(rows);
}
