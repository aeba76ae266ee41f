#include "report/show/json.h"

#include "report/show/format.h"
#include "trace/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define GV_JSON_INDENT 2

static void json_line(struct gv_json *json)
{
    fprintf(json->out, "\n%*s", (int)json->depth * GV_JSON_INDENT, "");
}

static void json_character(FILE *out, uint32_t character, const char *text, size_t length)
{
    if (character == GV_TEXT_NO_CHARACTER)
        fputs("\xef\xbf\xbd", out);
    else if (character == '"' || character == '\\')
        fprintf(out, "\\%c", (char)character);
    else if (character == '\n')
        fputs("\\n", out);
    else if (character == '\t')
        fputs("\\t", out);
    else if (gv_text_is_harmful(character))
        fprintf(out, "\\u%04x", character);
    else
        fwrite(text, 1, length, out);
}

static void json_string(FILE *out, const char *text, size_t bytes)
{
    size_t length;

    fputc('"', out);
    for (size_t at = 0; at < bytes; at += length) {
        uint32_t character = gv_text_decode(text + at, bytes - at, &length);
        json_character(out, character, text + at, length);
    }
    fputc('"', out);
}

/* Writes what comes before a value: a comma, a new line, its key. */
static void json_value(struct gv_json *json, const char *key)
{
    if (json->depth > 0) {
        if (json->filled[json->depth - 1])
            fputc(',', json->out);
        json->filled[json->depth - 1] = true;
        json_line(json);
    }
    if (key) {
        json_string(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

void gv_json_begin(struct gv_json *json, FILE *out, char bracket)
{
    *json = (struct gv_json){.out = out};
    gv_json_open(json, NULL, bracket);
}

void gv_json_end(struct gv_json *json, char bracket)
{
    gv_json_close(json, bracket);
    fputc('\n', json->out);
}

void gv_json_open(struct gv_json *json, const char *key, char bracket)
{
    json_value(json, key);
    fputc(bracket, json->out);
    if (json->depth < GV_JSON_DEPTH)
        json->filled[json->depth++] = false;
}

void gv_json_close(struct gv_json *json, char bracket)
{
    if (json->depth == 0)
        return;
    json->depth--;
    if (json->filled[json->depth])
        json_line(json);
    fputc(bracket, json->out);
}

void gv_json_bytes(struct gv_json *json, const char *key, const char *text, size_t bytes)
{
    json_value(json, key);
    json_string(json->out, text, bytes);
}

void gv_json_text(struct gv_json *json, const char *key, const char *text)
{
    if (text)
        gv_json_bytes(json, key, text, strlen(text));
    else
        gv_json_null(json, key);
}

void gv_json_number(struct gv_json *json, const char *key, int64_t number)
{
    json_value(json, key);
    fprintf(json->out, "%" PRId64, number);
}

void gv_json_known(struct gv_json *json, const char *key, int64_t number, bool known)
{
    if (known)
        gv_json_number(json, key, number);
    else
        gv_json_null(json, key);
}

void gv_json_real(struct gv_json *json, const char *key, double real)
{
    char text[GV_FORMAT_BYTES];

    json_value(json, key);
    fputs(isfinite(real) ? gv_format_real(text, real) : "null", json->out);
}

void gv_json_bool(struct gv_json *json, const char *key, bool value)
{
    json_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void gv_json_null(struct gv_json *json, const char *key)
{
    json_value(json, key);
    fputs("null", json->out);
}
