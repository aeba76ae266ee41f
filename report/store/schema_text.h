/* Describes the trace's views and tables, from the comments in the schema's own SQL
 * (report/store/views.sql). */
#ifndef GV_STORE_SCHEMA_TEXT_H
#define GV_STORE_SCHEMA_TEXT_H

#include <stdbool.h>

struct gv_schema_column {
    const char *object; /* the view or table */
    bool view;
    const char *row; /* the meaning of a row; "" for a table */
    const char *name;
    const char *type; /* "": none */
    const char *help; /* "": none */
};

/* Calls `column` for each column, in the order of the schema. `only` NULL: for all views, and
 * tables if asked for. The texts live during the call. 0; -ENOENT: no such object; or -errno. */
typedef void gv_schema_take(const struct gv_schema_column *column, void *context);
int gv_schema_describe(const char *only, bool tables, gv_schema_take *take, void *context);

#endif
