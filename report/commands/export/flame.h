/*
 * Weighed stacks of a trace, merged into a tree: the root is all, its children are outermost
 * frames, the leaves what the time was spent on.
 */
#ifndef GV_COMMANDS_EXPORT_FLAME_H
#define GV_COMMANDS_EXPORT_FLAME_H

#include "report/commands/export/export.h"

#include <stdint.h>

/* Room for a frame's name. */
#define GV_FLAME_NAME_BYTES 1536

/* flame.sql has the numbers. */
enum gv_flame_kind {
    GV_FLAME_OWN,     /* the program's own line */
    GV_FLAME_PACKAGE, /* Python of an installed package, or of Python itself */
    GV_FLAME_NATIVE,  /* native code without source lines, or of a package */
    GV_FLAME_LEAF,
    GV_FLAME_KINDS
};

struct gv_flame {
    struct gv_flame *parent; /* NULL: the root */
    char *name; /* valid UTF-8 without control characters; of the root: the program's */
    enum gv_flame_kind kind;
    int64_t ns;                 /* with its children */
    int64_t samples;            /* stacks that were taken; 0: not known */
    struct gv_flame **children; /* the longest first */
    size_t count, room;
};

/* Reads a trace into *root, to be freed in any case. 0; -ENODATA: there is nothing; -errno. */
int gv_flame_read(sqlite3 *trace, const struct gv_weighed *what, struct gv_flame **root);
void gv_flame_free(struct gv_flame *root);

#endif
