#include "report/commands/explain/explain.h"

#include "trace/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GV_EXPLAIN_LEAST_COLUMNS 40

/* The next piece of `text` that fits: bytes to print; *skip: bytes to leave out after them. */
static size_t explain_piece(const char *text, size_t room, size_t *skip)
{
    size_t at = 0, columns = 0, space = 0;

    for (; text[at] && columns <= room; at++) {
        if (text[at] == ' ')
            space = at;
        if (((unsigned char)text[at] & 0xc0) != 0x80)
            columns++;
    }
    *skip = 0;
    if (!text[at] && columns <= room)
        return at;
    if (space > 0) {
        *skip = 1;
        return space;
    }
    at--;
    while (at > 1 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void explain_paragraph(FILE *out, const char *title, const char *text, size_t room)
{
    do {
        size_t skip, length = explain_piece(text, room, &skip);

        fprintf(out, "  %-*s%.*s\n", GV_EXPLAIN_INDENT - 2, title, (int)length, text);
        title = "";
        text += length + skip;
    } while (*text);
}

void gv_explain_lines(const struct gv_explain_out *to, const char *title, const char *text)
{
    int columns = to->columns > GV_EXPLAIN_LEAST_COLUMNS ? to->columns : GV_EXPLAIN_LEAST_COLUMNS;
    char *copy, *escaped, *rest, *line;

    if (to->json) {
        gv_json_key(to->json, title);
        gv_json_text(to->json, text);
        return;
    }
    copy = rest = strdup(text);
    escaped = malloc(strlen(text) * 6 + 1);
    while (copy && escaped && (line = strsep(&rest, "\n"))) {
        gv_text_escape(escaped, strlen(text) * 6 + 1, line);
        explain_paragraph(to->out, title, escaped, (size_t)columns - GV_EXPLAIN_INDENT);
        title = "";
    }
    free(copy);
    free(escaped);
}

FILE *gv_explain_paragraph_begin(struct gv_explain_paragraph *paragraph)
{
    *paragraph = (struct gv_explain_paragraph){0};
    paragraph->stream = open_memstream(&paragraph->text, &paragraph->size);
    return paragraph->stream;
}

int gv_explain_paragraph_end(struct gv_explain_paragraph *paragraph,
                             const struct gv_explain_out *to, const char *title)
{
    bool whole = fclose(paragraph->stream) == 0;

    if (whole && paragraph->size > 0)
        gv_explain_lines(to, title, paragraph->text);
    free(paragraph->text);
    return whole ? 0 : -ENOMEM;
}
