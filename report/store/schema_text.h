/* The trace's views and tables as text: what each column holds, from the comments in the schema's
 * own SQL (report/store/views.sql). */
#ifndef GV_STORE_SCHEMA_TEXT_H
#define GV_STORE_SCHEMA_TEXT_H

#include <stdbool.h>

struct gv_schema_column {
    const char *object; /* the view or table */
    bool view;
    const char *row; /* what a row of it is; "" for a table */
    const char *name;
    const char *type; /* "" where it has none */
    const char *help; /* "" where nothing is said */
};

/* Calls `column` for each, in the order of the schema; `only` NULL: of all views and, if asked for,
 * tables. The texts live as long as the call. 0; -ENOENT: there is no such object; or -errno. */
typedef void gv_schema_take(const struct gv_schema_column *column, void *context);
int gv_schema_describe(const char *only, bool tables, gv_schema_take *take, void *context);

#endif
