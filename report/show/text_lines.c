#include "report/show/text_lines.h"

#include "trace/text.h"

#include <ctype.h>
#include <stdarg.h>
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

/* Whether a word is gpuverify's name, alone, after a bracket, or at the end of a path. */
static bool text_lines_is_name(const char *word, size_t bytes)
{
    static const char name[] = "gpuverify";
    size_t rest = bytes - (sizeof(name) - 1);

    return bytes >= sizeof(name) - 1 && memcmp(word + rest, name, sizeof(name) - 1) == 0 &&
           (rest == 0 || word[rest - 1] == '/' || (rest == 1 && word[0] == '('));
}

/* Whether a word after a command's is an option, a path, a finding, a stall, a query, or stands for
 * one of them. */
static bool text_lines_is_operand(const char *word, size_t bytes)
{
    char copy[256];

    snprintf(copy, sizeof(copy), "%.*s", (int)bytes, word);
    return strncmp(word, "--", 2) == 0 || *word == '\'' || strstr(copy, ".db") ||
           strchr(copy, '/') || (strchr("fis", word[0]) && isdigit((unsigned char)word[1])) ||
           strcmp(copy, "findings") == 0 || strcmp(copy, "steps") == 0 ||
           (isupper((unsigned char)word[0]) && isupper((unsigned char)word[1]));
}

static bool text_lines_ends_sentence(const char *text, size_t bytes)
{
    bool dots = bytes >= 3 && memcmp(text + bytes - 3, "...", 3) == 0;

    return bytes > 0 && !dots && strchr(".,;:)", text[bytes - 1]);
}

/* The length of a number's first `bytes` with its unit ("100 ms", "(2 s)"), or `bytes`. */
static size_t text_lines_quantity(const char *text, size_t bytes)
{
    static const char *const units[] = {"ns",  "us",  "ms",  "s",   "B",
                                        "KiB", "MiB", "GiB", "TiB", "%"};
    const char *unit = text + bytes + 1;

    if (bytes == 0 || !isdigit((unsigned char)text[*text == '(']) ||
        !isdigit((unsigned char)text[bytes - 1]) || text[bytes] != ' ')
        return bytes;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i]);
        if (strncmp(unit, units[i], length) == 0 && !isalnum((unsigned char)unit[length]))
            return bytes + 1 + text_lines_word(unit);
    }
    return bytes;
}

/* The length of what stays in one line: a word, a number with its unit, a command of gpuverify. */
static size_t text_lines_unit(const char *text)
{
    size_t bytes = text_lines_word(text);
    bool any = true; /* the next word: a command's name, an option's value, or what follows "--" */

    if (!text_lines_is_name(text, bytes))
        return text_lines_quantity(text, bytes);
    while (!text_lines_ends_sentence(text, bytes)) {
        const char *word = text + bytes + strspn(text + bytes, " ");
        size_t length = text_lines_word(word);
        if (length == 0 || (!any && !text_lines_is_operand(word, length)))
            break;
        any = strncmp(word, "--", 2) == 0;
        bytes = (size_t)(word - text) + length;
    }
    return bytes;
}

static void text_lines_break(FILE *out, int indent, int column, const char *text, int columns)
{
    bool begun = false;

    while (*text) {
        size_t bytes = text_lines_unit(text);
        int width = text_lines_width(text, bytes);
        if (width > columns - indent) {
            bytes = text_lines_word(text);
            width = text_lines_width(text, bytes);
        }
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

void gv_text_lines_on(FILE *out, int indent, int column, const char *text, int columns)
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
    gv_text_lines_on(out, indent, column < indent ? indent : column, text, columns);
}

void gv_text_say(FILE *out, int indent, const char *first, int columns, const char *format, ...)
{
    char *text = NULL;
    va_list values;

    va_start(values, format);
    if (vasprintf(&text, format, values) >= 0) {
        gv_text_lines(out, indent, first, text, columns);
        free(text);
    }
    va_end(values);
}
