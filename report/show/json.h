/*
 * Writes JSON, one value at a time. The output is always the beginning of a valid document.
 *
 * `key` is the name of a value in an object, and NULL for a value in an array.
 *
 * Nothing in a text can control a terminal: control characters and those that change the direction
 * of writing are escaped, invalid bytes become U+FFFD.
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
    bool filled[GV_JSON_DEPTH]; /* whether the open object or array at each depth has members */
};

/* Begins a document that is an object '{' or an array '['. */
void gv_json_begin(struct gv_json *json, FILE *out, char bracket);
/* Ends the document with its '}' or ']' and a newline. */
void gv_json_end(struct gv_json *json, char bracket);

void gv_json_open(struct gv_json *json, const char *key, char bracket); /* '{' or '[' */
void gv_json_close(struct gv_json *json, char bracket);                 /* '}' or ']' */

void gv_json_text(struct gv_json *json, const char *key, const char *text); /* NULL is null */
void gv_json_bytes(struct gv_json *json, const char *key, const char *text, size_t bytes);
void gv_json_number(struct gv_json *json, const char *key, int64_t number);
/* A number, or null if it is not known. */
void gv_json_known(struct gv_json *json, const char *key, int64_t number, bool known);
/* The shortest form that reads back as the same number; null if JSON cannot write it. */
void gv_json_real(struct gv_json *json, const char *key, double real);
void gv_json_bool(struct gv_json *json, const char *key, bool value);
void gv_json_null(struct gv_json *json, const char *key);

#endif
