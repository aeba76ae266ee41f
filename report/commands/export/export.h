/* The formats that `gpuverify export` writes. */
#ifndef GV_COMMANDS_EXPORT_EXPORT_H
#define GV_COMMANDS_EXPORT_EXPORT_H

#include "report/store/database.h"
#include "report/show/json.h"
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

enum gv_weighed_id {
#define GV_WEIGHED(name, title, leaf) GV_WEIGHED_##name,
#include "report/commands/export/weighed.def"
    GV_WEIGHED_COUNT
};

/* A row of weighed.def. */
struct gv_weighed {
    const char *title;
    const char *leaf;
    const char *sql;
    const char *range; /* of what; NULL: all */
    const char *path;  /* of the trace */
};

extern const struct gv_weighed gv_weighed[GV_WEIGHED_COUNT];

/* Writes the format. 0; -ENODATA: the trace has none of it, and nothing was written; -errno. */
typedef int gv_export_write(sqlite3 *trace, const struct gv_weighed *what, FILE *out);
/* What the writer of a walk over a trace returns when nothing more can be written; the export then
 * returns 0, because closing the output says why. */
#define GV_EXPORT_STOPPED 1
/* Whether a file that begins with `head`, which a NUL ends, is of the format: such a file may be
 * overwritten. */
typedef bool gv_export_is_own(const char *head);
/* Writes a format's files into a folder, which is made if it does not exist. Overwrites only its
 * own files, unless `force`. 0; -EEXIST: after a message, there is another file with that name;
 * -errno. */
typedef int gv_export_write_folder(sqlite3 *trace, const char *path, bool force);

#define GV_EXPORT_STACKS(name, lines, write, is_own)                                               \
    gv_export_write write;                                                                         \
    gv_export_is_own is_own;
#define GV_EXPORT_TRACE               GV_EXPORT_STACKS
#define GV_EXPORT_FOLDER(name, write) gv_export_write_folder write;
#define GV_EXPORT_FLEET(name)
#include "report/commands/export/formats.def"

/* Writes the page of an open trace into a file, for another command. The exit code, after a
 * message, or -errno. */
int gv_export_page(sqlite3 *trace, const char *trace_path, const char *path);

/* Writes an array of objects: an explanation as `gpuverify explain --format json` has it, with its
 * "kind" (stall, idle), all "frames" of its stack, and the calls of its thread "before" and "after"
 * it. The longest of each kind. 0 or -errno. */
int gv_stories_write(sqlite3 *trace, const char *path, struct gv_json *json);

/* Writes it as JSON, null if nothing was recorded, of 18 MB at most, with 300 MB of memory at most.
 * 0 or -errno. */
int gv_timeline_write(sqlite3 *trace, FILE *out);

/* Copies an open trace (gv_trace_view_open) into a new one, which the caller closes: in the empty
 * file at `path`, or, if that is "", in a temporary one that SQLite removes. 0; -EINPROGRESS: the
 * trace is not complete; -errno, and there is nothing to close. */
int gv_anonymise(sqlite3 *trace, const char *path, struct gv_database *copy);

/* ---- public_names.c: which names of a stack everybody knows: those of public_names.def say
 * nothing of the program, so an anonymised trace keeps them ---- */

/* The part of a library's path that everybody knows, without the folders before it: "/libc.so.6",
 * "/site-packages/torch/lib/libtorch.so". Points into `path`; NULL: it is not public, or NULL. */
const char *gv_public_library(const char *path);
/* The same of a source file of Python: "/site-packages/torch/nn/modules/module.py",
 * "<frozen importlib._bootstrap>". */
const char *gv_public_file(const char *path);
/* What a path of no public file keeps, so that readers still know it as an installed package's or
 * Python's own: "/site-packages/"; "": nothing. */
const char *gv_public_folder(const char *path);
/* Names that any program has, such as main. */
bool gv_public_function(const char *name);

#endif
