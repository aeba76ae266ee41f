/*
 * What the addresses in a mapped file are called: function, source file and line, from its symbols
 * and its debugging information, where it has any.
 *
 * One file is open at a time. Nothing is fetched from a network.
 */
#ifndef GV_COLLECT_OBJECT_NAMES_H
#define GV_COLLECT_OBJECT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct gv_object_names;

struct gv_object_place {
    const char *function; /* as it is linked; NULL: unknown. Lives as long as the file is open. */
    const char *file;     /* NULL: unknown */
    int line;             /* 0: unknown */
};

/* `build_id` in hex, or NULL: a file that has another one now is not the one that was mapped. 0;
 * -ESTALE: it is another file; -ENOSYS: built without elfutils; or -errno. */
int gv_object_names_open(struct gv_object_names **names, const char *path, const char *build_id);
void gv_object_names_close(struct gv_object_names *names);

/* `address` is relative to where the file was mapped. */
void gv_object_names_find(struct gv_object_names *names, uint64_t address,
                          struct gv_object_place *place);

#endif
