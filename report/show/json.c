#include "report/show/json.h"

#include "report/show/format.h"
#include "trace/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define GV_JSON_INDENT 2

void gv_json_begin(struct gv_json *json, FILE *out)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
}

void gv_json_end(struct gv_json *json)
{
    fputc('\n', json->out);
}

static void json_line(struct gv_json *json)
{
    fprintf(json->out, "\n%*s", (int)json->depth * GV_JSON_INDENT, "");
}

/* Writes what must come before a value, or before its key. */
static void json_part(struct gv_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->filled[json->depth - 1])
        fputc(',', json->out);
    json->filled[json->depth - 1] = true;
    json_line(json);
}

void gv_json_open(struct gv_json *json, char bracket)
{
    json_part(json);
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

void gv_json_key(struct gv_json *json, const char *key)
{
    json_part(json);
    json_string(json->out, key, strlen(key));
    fputs(": ", json->out);
    json->after_key = true;
}

void gv_json_bytes(struct gv_json *json, const char *text, size_t bytes)
{
    json_part(json);
    json_string(json->out, text, bytes);
}

void gv_json_text(struct gv_json *json, const char *text)
{
    if (text)
        gv_json_bytes(json, text, strlen(text));
    else
        gv_json_null(json);
}

void gv_json_number(struct gv_json *json, int64_t number)
{
    json_part(json);
    fprintf(json->out, "%" PRId64, number);
}

void gv_json_real(struct gv_json *json, double real)
{
    char text[GV_FORMAT_BYTES];

    if (!isfinite(real)) {
        gv_json_null(json);
        return;
    }
    json_part(json);
    fputs(gv_format_real(text, real), json->out);
}

void gv_json_bool(struct gv_json *json, bool value)
{
    json_part(json);
    fputs(value ? "true" : "false", json->out);
}

void gv_json_null(struct gv_json *json)
{
    json_part(json);
    fputs("null", json->out);
}
