/*
 * Writes JSON, a value at a time. What was written so far is always the beginning of a valid
 * document; keys and values have to come in an order that makes sense.
 *
 * Text is written so that nothing in it reaches a terminal: control characters and those that turn
 * the direction of writing are escaped, bytes that are no UTF-8 become U+FFFD.
 */
#ifndef GV_SHOW_JSON_H
#define GV_SHOW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GV_JSON_DEPTH 16u

struct gv_json {
    FILE *out;
    unsigned int depth;
    bool filled[GV_JSON_DEPTH]; /* what is open at each depth has something in it */
    bool after_key;
};

void gv_json_begin(struct gv_json *json, FILE *out);
/* Ends the document with a line end. */
void gv_json_end(struct gv_json *json);

void gv_json_open(struct gv_json *json, char bracket);  /* '{' or '[' */
void gv_json_close(struct gv_json *json, char bracket); /* '}' or ']' */
void gv_json_key(struct gv_json *json, const char *key);

void gv_json_text(struct gv_json *json, const char *text); /* NULL is null */
void gv_json_bytes(struct gv_json *json, const char *text, size_t bytes);
void gv_json_number(struct gv_json *json, int64_t number);
/* The shortest form that reads back as the same number; null for what JSON has no word for. */
void gv_json_real(struct gv_json *json, double real);
void gv_json_bool(struct gv_json *json, bool value);
void gv_json_null(struct gv_json *json);

#endif
