/*
 * Python's code objects: the names and the line table of each, which its process recorded when it
 * saw it for the first time. They are in the trace until their process is finished, so that a
 * collector that replaces a killed one has them too.
 *
 * Inside a transaction of the caller. After a rollback, close it. 0 or -errno.
 */
#ifndef GV_COLLECT_PYTHON_CODE_H
#define GV_COLLECT_PYTHON_CODE_H

#include "report/store/database.h"
#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Those of a process. Set the first two fields, and the rest to 0. */
struct gv_python_codes {
    struct gv_database *database;
    int64_t process;               /* row */
    struct gv_python_code *recent; /* in memory; NULL: none */
};

/* Stores a record with the `bytes` of its text that there are. A text with a gap is not stored: its
 * process writes it again. */
int gv_python_code_store(struct gv_python_codes *codes, const struct gv_record_python_code *record,
                         const char *text, size_t bytes);

struct gv_python_place {
    const char *file; /* "": unknown */
    const char *function;
    int32_t line;   /* 0: it has none */
    bool is_hidden; /* the interpreter's own code, which Python does not show either */
};

/* Names a position. The texts are valid until the next call. -ENOENT: the code object's record has
 * not come, or there is none. */
int gv_python_code_find(struct gv_python_codes *codes, uint32_t number, uint32_t instruction,
                        struct gv_python_place *place);

/* The process is finished. */
int gv_python_code_end(struct gv_python_codes *codes);
void gv_python_code_close(struct gv_python_codes *codes);

#endif
