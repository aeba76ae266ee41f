/*
 * The table of calls as numbers: GV_ID_cuInit and so on, driver calls first, and what each one is.
 */
#ifndef GV_TRACE_CALL_TABLE_H
#define GV_TRACE_CALL_TABLE_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stdint.h>

enum gv_api_class {
#define GV_API_CLASS(name, text, room, recorded) GV_CLASS_##name,
#include "trace/call_classes.def"
    GV_CLASS_COUNT
};

enum gv_api_id {
#define GV_API(symbol, class, type, parameters, arguments, facts) GV_ID_##symbol,
#define GV_API_NO_RUNTIME
#include "trace/calls.def"
#undef GV_API_NO_RUNTIME
    GV_DRIVER_COUNT,
    GV_ID_BEFORE_RUNTIME = GV_DRIVER_COUNT - 1, /* the next row gets GV_DRIVER_COUNT */
#define GV_API(symbol, class, type, parameters, arguments, facts) GV_ID_##symbol,
#define GV_API_NO_DRIVER
#include "trace/calls.def"
#undef GV_API_NO_DRIVER
    GV_API_COUNT
};

#define GV_RUNTIME_COUNT (GV_API_COUNT - GV_DRIVER_COUNT)
#define GV_API_UNKNOWN   (-1)

struct gv_api_row {
    const char *name;
    enum gv_api_class class;
};

struct gv_api_class_row {
    const char *name;
    enum gv_spool_room room;
    bool recorded; /* makes rows */
};

extern const struct gv_api_row gv_api_rows[GV_API_COUNT];
extern const struct gv_api_class_row gv_api_class_rows[GV_CLASS_COUNT];

/* The number of an exact name, or GV_API_UNKNOWN. Any thread, allocates nothing, takes no lock. */
int gv_api_find(const char *name);

#endif
