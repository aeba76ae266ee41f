#include "report/show/rows.h"

#include "report/show/format.h"
#include "report/show/rows_cells.h"
#include "report/show/terminal.h"
#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum gv_format gv_format_find(const char *text)
{
    if (strcmp(text, "csv") == 0)
        return GV_FORMAT_CSV;
    if (strcmp(text, "json") == 0)
        return GV_FORMAT_JSON;
    return strcmp(text, "markdown") == 0 ? GV_FORMAT_MARKDOWN : GV_FORMAT_TABLE;
}

/* A field of CSV, in quotes if it has to be. Control characters would reach the terminal. */
static void gv_rows_csv(struct gv_rows *rows, const char *text, size_t bytes)
{
    bool quoted = bytes == 0;
    size_t length;

    for (size_t i = 0; i < bytes; i++)
        quoted |= strchr(",\"\r\n", text[i]) != NULL; /* NUL too */
    if (quoted)
        fputc('"', rows->out);
    for (size_t at = 0; at < bytes; at += length) {
        uint32_t character = gv_text_decode(text + at, bytes - at, &length);
        bool kept = character == '\n' || character == '\r' || character == '\t';
        if (character == '"')
            fputs("\"\"", rows->out);
        else if (character == GV_TEXT_NO_CHARACTER || (!kept && gv_text_is_harmful(character)))
            fputs("\xef\xbf\xbd", rows->out);
        else
            fwrite(text + at, 1, length, rows->out);
    }
    if (quoted)
        fputc('"', rows->out);
}

static void gv_rows_csv_next(struct gv_rows *rows)
{
    fputc(rows->at == rows->count ? '\n' : ',', rows->out);
}

void gv_rows_begin(struct gv_rows *rows, FILE *out, enum gv_format format,
                   const struct gv_column *columns, size_t count, struct gv_json *json)
{
    *rows = (struct gv_rows){
        .out = out, .format = format, .columns = columns, .count = count, .json = json};
    if (format == GV_FORMAT_CSV) {
        while (rows->at < count) {
            gv_rows_csv(rows, columns[rows->at].name, strlen(columns[rows->at].name));
            rows->at++;
            gv_rows_csv_next(rows);
        }
        rows->at = 0;
    } else if (format == GV_FORMAT_JSON) {
        if (!json) {
            gv_json_begin(&rows->own, out);
            rows->json = &rows->own;
        }
        gv_json_open(rows->json, '[');
    } else {
        rows->width = format == GV_FORMAT_TABLE ? gv_terminal_width(out) : 0;
        rows->bold = gv_terminal_has_colours(out);
        rows->cells = gv_row_cells_new();
        rows->error = rows->cells ? 0 : -ENOMEM;
    }
}

int gv_rows_end(struct gv_rows *rows)
{
    if (rows->format == GV_FORMAT_JSON) {
        gv_json_close(rows->json, ']');
        if (rows->json == &rows->own)
            gv_json_end(rows->json);
    }
    if (rows->cells) {
        gv_row_cells_end(rows);
        gv_row_cells_free(rows->cells);
        rows->cells = NULL;
    }
    return rows->error;
}

/* Before a value of JSON. */
static struct gv_json *gv_rows_json(struct gv_rows *rows)
{
    if (rows->at == 0)
        gv_json_open(rows->json, '{');
    gv_json_key(rows->json, rows->columns[rows->at].name);
    return rows->json;
}

/* After a value. */
static void gv_rows_next(struct gv_rows *rows)
{
    rows->at++;
    if (rows->format == GV_FORMAT_CSV)
        gv_rows_csv_next(rows);
    if (rows->at < rows->count)
        return;
    if (rows->format == GV_FORMAT_JSON)
        gv_json_close(rows->json, '}');
    rows->at = 0;
}

/* For people, or as CSV. */
static void gv_rows_put(struct gv_rows *rows, const char *text, size_t bytes)
{
    if (rows->format == GV_FORMAT_CSV)
        gv_rows_csv(rows, text, bytes);
    else if (rows->cells && !rows->error)
        rows->error = gv_row_cells_add(rows, text, bytes);
    gv_rows_next(rows);
}

void gv_rows_bytes(struct gv_rows *rows, const char *text, size_t bytes)
{
    if (rows->format != GV_FORMAT_JSON) {
        gv_rows_put(rows, text, bytes);
        return;
    }
    gv_json_bytes(gv_rows_json(rows), text, bytes);
    gv_rows_next(rows);
}

void gv_rows_text(struct gv_rows *rows, const char *text)
{
    static const char cut[] = "...";
    char part[GV_ROWS_TEXT_BYTES];
    size_t bytes, kept = sizeof(part) - sizeof(cut);

    if (!text) {
        gv_rows_null(rows);
        return;
    }
    bytes = strnlen(text, GV_ROWS_TEXT_BYTES);
    if (bytes == GV_ROWS_TEXT_BYTES) {
        while (((unsigned char)text[kept] & 0xc0) == 0x80 && kept > 0) /* inside a character */
            kept--;
        memcpy(part, text, kept);
        memcpy(part + kept, cut, sizeof(cut));
        text = part;
        bytes = kept + sizeof(cut) - 1;
    }
    gv_rows_bytes(rows, text, bytes);
}

static void gv_rows_number_for_people(enum gv_column_kind kind, int64_t number,
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
        gv_json_number(gv_rows_json(rows), number);
        gv_rows_next(rows);
        return;
    }
    gv_rows_number_for_people(rows->format == GV_FORMAT_CSV ? GV_COLUMN_NUMBER
                                                            : rows->columns[rows->at].kind,
                              number, text);
    gv_rows_put(rows, text, strlen(text));
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
        gv_json_real(gv_rows_json(rows), real);
        gv_rows_next(rows);
        return;
    }
    if (rows->format != GV_FORMAT_CSV && rows->columns[rows->at].kind == GV_COLUMN_SHARE)
        snprintf(text, sizeof(text), "%.1f %%", real * 100);
    else
        gv_format_real(text, real);
    gv_rows_put(rows, text, strlen(text));
}

void gv_rows_null(struct gv_rows *rows)
{
    switch (rows->format) {
    case GV_FORMAT_JSON:
        gv_json_null(gv_rows_json(rows));
        gv_rows_next(rows);
        break;
    case GV_FORMAT_CSV:
        gv_rows_next(rows);
        break;
    default:
        gv_rows_put(rows, "-", 1);
        break;
    }
}
