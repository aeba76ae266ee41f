#include "report/show/text_lines.h"

#include "trace/text.h"

#include <stdbool.h>

#include <stdlib.h>
#include <string.h>

/* The columns of the first `bytes`. */
static int text_lines_width(const char *text, size_t bytes)
{
    int columns = 0;

    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Up to the next space. Text quoted for a shell (trace/shell_word.h) is one word. */
static size_t text_lines_word(const char *text)
{
    const char *end = *text == '\'' ? strchr(text + 1, '\'') : NULL;

    while (end && strncmp(end, "'\\''", 4) == 0)
        end = strchr(end + 4, '\'');
    return end ? (size_t)(end - text) + strcspn(end, " ") : strcspn(text, " ");
}

static void text_lines_break(FILE *out, int indent, int column, const char *text, int columns)
{
    bool begun = false;

    while (*text) {
        size_t bytes = text_lines_word(text);
        int width = text_lines_width(text, bytes);
        if (begun && column + 1 + width > columns) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            begun = false;
        }
        if (begun) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, bytes, out);
        column += width;
        begun = true;
        text += bytes;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void text_lines_escaped(FILE *out, int indent, int column, const char *text, int columns)
{
    size_t room = strlen(text) * 6 + 1;
    char *escaped = malloc(room);

    if (!escaped)
        return;
    gv_text_escape(escaped, room, text);
    text_lines_break(out, indent, column, escaped, columns);
    free(escaped);
}

void gv_text_lines(FILE *out, int indent, const char *first, const char *text, int columns)
{
    int column = text_lines_width(first, strlen(first));

    fprintf(out, "%s%*s", first, column < indent ? indent - column : 0, "");
    text_lines_escaped(out, indent, column < indent ? indent : column, text, columns);
}

void gv_text_lines_on(FILE *out, int indent, int column, const char *text, int columns)
{
    text_lines_escaped(out, indent, column, text, columns);
}
